// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import Synchronization
import TLSModel
import TLSProbe
import TestSupport
import Testing
import Vocabulary

@testable import ATSDiagnostics
@testable import TLSProbe

/// Whatever stays silent below a target, the target ends when its time is over.
@Suite("Silence below a target", .serialized) struct SilentServersTests {
    static func configuration(
        seconds: Double
    ) throws
        -> (configuration: CheckSession.Configuration, folder: TemporaryDirectory)
    {
        let folder = try TemporaryDirectory()
        try HostileIdentity.shared.rootPEM.write(toFile: folder.path("root.pem"), atomically: true, encoding: .utf8)
        var configuration = CheckSession.Configuration()
        configuration.installedRoots = [folder.path("root.pem")]
        configuration.connectTimeout = .seconds(seconds)
        configuration.targetTimeout = .seconds(seconds)
        configuration.allowsPrivateRedirects = true
        return (configuration, folder)
    }

    /// A leaf under an unknown intermediate that names these places for it.
    static func leaf(_ addresses: [String]) -> [UInt8] {
        HostileIdentity.shared.certificate(
            subject: DER.name("leaf"), issuer: DER.name("Nobody"),
            extensions: HostileIdentity.names(["*." + HostileIdentity.domain]) + HostileIdentity.issuers(addresses))
    }

    static func elapsed(_ rows: [TLSMisbehaviour], seconds: Double) async throws -> (Duration, TargetReport) {
        let server = try HostileServer(rows)
        let made = try Self.configuration(seconds: seconds)
        defer { withExtendedLifetime(made.folder) {} }
        var configuration = made.configuration
        configuration.overrides = [AddressOverride(host: "*", port: server.port, address: "127.0.0.1")]
        let session = try CheckSession(configuration)
        let start = ContinuousClock.now
        let report = await session.check(try CheckTarget("\(HostileServer.host(0)):\(server.port)"))
        return (.now - start, report)
    }

    @Test("Issuers that accept the fetch and say nothing, one after another", arguments: [1, 8])
    func issuers(count: Int) async throws {
        // Nothing is ever accepted from this socket: the system completes the connection, and that is all.
        let silent = try HostileServer([TLSMisbehaviour("silent", .timeout, modern: false) { _ in [.stall] }])
        let addresses = (0..<count).map { "http://127.0.0.1:\(silent.port)/\($0)" }
        let chain = [Self.leaf(addresses)]
        let row = TLSMisbehaviour("leaf", .negotiated) { [.send($0.begin() + $0.honestRest(chain: chain)), .stall] }
        let (elapsed, report) = try await Self.elapsed([row], seconds: 1.5)
        #expect(Measuring.isOff || elapsed < .seconds(8), "\(elapsed)")
        #expect(report.decisive?.because.first?.code == "ats.trust.missing-intermediate")
    }

    @Test("A server that begins a record and says nothing more")
    func halfRecord() async throws {
        let (elapsed, _) = try await Self.elapsed(
            [TLSMisbehaviour("drip", .timeout, modern: false) { _ in [.send([22]), .stall] }], seconds: 1)
        #expect(Measuring.isOff || elapsed < .seconds(8), "\(elapsed)")
    }

    @Test("Addresses that all stay silent share the time of the target")
    func deadAddresses() async throws {
        let silent = try HostileServer([TLSMisbehaviour("silent", .timeout, modern: false) { _ in [.stall] }])
        let made = try Self.configuration(seconds: 1)
        defer { withExtendedLifetime(made.folder) {} }
        var configuration = made.configuration
        // One after another, each would have the whole time for itself.
        let text = "*:\(silent.port):" + [String](repeating: "127.0.0.1", count: 16).joined(separator: ",")
        configuration.overrides = [try AddressOverride(text)]
        let session = try CheckSession(configuration)
        let start = ContinuousClock.now
        let report = await session.check(try CheckTarget("\(HostileServer.host(0)):\(silent.port)"))
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(8))
        #expect(report.decisive?.result == .undetermined)
    }

    /// Counts look-ups, and holds them until the test is over.
    private final class LookUps: Sendable {
        private let begun = Mutex(0)
        private let end = DispatchSemaphore(value: 0)

        var count: Int { begun.withLock { $0 } }

        func wait() {
            begun.withLock { $0 += 1 }
            end.wait()
            end.signal()
        }

        func release() { end.signal() }
    }

    /// A session with so many seconds for each target, 20 for each connection, and name servers that say nothing; `body` gets what counts look-ups.
    private static func withSilentNames(
        seconds: Double = 1, _ body: (CheckSession, LookUps) async throws -> Void
    ) async throws {
        var made = try Self.configuration(seconds: seconds)
        defer { withExtendedLifetime(made.folder) {} }
        made.configuration.connectTimeout = .seconds(20)
        made.configuration.allowsPrivateRedirects = false
        let lookUps = LookUps()
        let resolver = NameResolver(threads: LookUpThreads(most: 64)) { _, _ in
            lookUps.wait()
            return .failed(.timeout)
        }
        defer { lookUps.release() }
        try await body(try CheckSession(made.configuration, resolver: resolver), lookUps)
    }

    @Test("Name servers that say nothing take no more than the target's time, for TLS and for cleartext")
    func silentNames() async throws {
        try await Self.withSilentNames { session, _ in
            for text in ["https://a.example", "http://a.example"] {
                let start = ContinuousClock.now
                let target = try CheckTarget(text)
                let report = await session.check(target)
                #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(8), "\(text)")
                // Cleartext is blocked, whatever answers.
                #expect(report.decisive?.result == (target.url.isSecure ? .undetermined : .fail), "\(text)")
                // Who asks when the time is over gets an answer at once.
                let late = ContinuousClock.now
                _ = await TargetDeadline.within(.zero) { await session.check(target) }
                #expect(Measuring.isOff || ContinuousClock.now - late < .seconds(5), "\(text)")
            }
        }
    }

    @Test("The look-up for the limits of an address, and those for all addresses, are within the target's time")
    func silentNamesBeforeTheCheck() async throws {
        try await Self.withSilentNames(seconds: Measuring.isOff ? 1 : 4) { session, _ in
            var list = TargetList()
            for number in 0..<8 { try list.append("h\(number).example") }
            var start = ContinuousClock.now
            let gate = PoliteGate(.init(address: 16, network: 32))
            var reports: [TargetReport] = []
            try await session.run(list, places: Array(0..<8), concurrency: 8, gate: gate, atMost: 8) { batch in
                reports += batch.map(\.report)
            }
            // Each by itself would take eight.
            #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(7.5))
            #expect(reports.count == 8 && reports.allSatisfy { $0.decisive?.result == .undetermined })
            start = .now
            let expanded = try await list.expanded(concurrency: 8, session.addresses)
            #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(12))
            #expect(try expanded.all() == list.all())
        }
    }

    @Test(
        "Servers that an enrollment names are looked up side by side, and none is asked whose address is not known in time"
    )
    func silentNamesOfAnEnrollment() async throws {
        try await Self.withSilentNames { session, lookUps in
            let servers = try (0..<16).map { try CheckTarget("h\($0).example") }
            let start = ContinuousClock.now
            let fault = await TargetDeadline.within(.seconds(2)) {
                await session.objection(to: servers, within: .publicAddresses)
            }
            #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(10))
            #expect(fault?.reason == "the answer names h0.example, which was not found in time")
            #expect(fault?.isUndetermined == true)
            #expect(lookUps.count == servers.count)
            // Literals need no look-up and no time.
            let literals = [try CheckTarget("93.184.215.14"), try CheckTarget("10.0.0.1")]
            let late = await TargetDeadline.within(.zero) {
                await session.objection(to: literals, within: .publicAddresses)
            }
            #expect(late?.reason.hasPrefix("the answer names 10.0.0.1, which is at a private address") == true)
            #expect(await TargetDeadline.within(.zero) { await session.privateAddresses(of: servers[0]) } == nil)
        }
    }

    @Test("A target's time ends every wait below it, and an inner one never prolongs it")
    func deadlines() async {
        #expect(TargetDeadline.remaining(atMost: .seconds(7)) == .seconds(7))
        await TargetDeadline.within(.seconds(2)) {
            await TargetDeadline.within(.seconds(100)) {
                #expect(TargetDeadline.remaining(atMost: .seconds(50)) <= .seconds(2))
                #expect(TargetDeadline.remaining(atMost: .milliseconds(1)) == .milliseconds(1))
            }
            await TargetDeadline.within(.zero) {
                #expect(TargetDeadline.remaining(atMost: .seconds(50)) == .zero)
            }
        }
    }

    @Test("Targets are read by bytes: no mark behind a delimiter hides it, and a long line is refused at once")
    func targets() throws {
        #expect(try CheckTarget("a.example:8443").url.effectivePort == 8443)
        #expect(try CheckTarget("::1").url.host == "::1")
        #expect(try CheckTarget(nscurl: "http://a.example/\u{301}").displayURL == "https://a.example/\u{301}")
        let start = ContinuousClock.now
        for text in [TLSMisbehaviour.marks(1 << 20), "a:\u{301}" + TLSMisbehaviour.marks(8000), "https:\u{301}//x"] {
            #expect(throws: MalformedInput.self) { try CheckTarget(text) }
        }
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(2))
    }
}

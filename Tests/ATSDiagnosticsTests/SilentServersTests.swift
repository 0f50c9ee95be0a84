// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import Foundation
import TLSProbe
import TestSupport
import Testing

@testable import ATSDiagnostics

/// Whatever stays silent below a target, the target ends when its time is over.
@Suite("Silence below a target", .serialized) struct SilentServersTests {
    static func configuration(seconds: Double) throws
        -> (configuration: CheckSession.Configuration, folder: TemporaryDirectory)
    {
        let folder = try TemporaryDirectory()
        try HostileIdentity.shared.rootPEM.write(toFile: folder.path("root.pem"), atomically: true, encoding: .utf8)
        var configuration = CheckSession.Configuration()
        configuration.systemRoots = folder.path("root.pem")
        configuration.connectTimeout = .seconds(seconds)
        configuration.targetTimeout = .seconds(seconds)
        configuration.allowsPrivateRedirects = true
        return (configuration, folder)
    }

    /// A leaf under an unknown intermediate that names these places for it.
    static func leaf(_ addresses: [String]) -> [UInt8] {
        HostileIdentity.shared.certificate(
            subject: DER.name("leaf"),
            issuer: DER.name("Nobody"),
            extensions: HostileIdentity.names(["*." + HostileIdentity.domain]) + HostileIdentity.issuers(addresses)
        )
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
        #expect(elapsed < .seconds(8), "\(elapsed)")
        #expect(report.decisive?.because.first?.code == "ats.trust.missing-intermediate")
    }

    @Test("A server that begins a record and says nothing more")
    func halfRecord() async throws {
        let (elapsed, _) = try await Self.elapsed(
            [TLSMisbehaviour("drip", .timeout, modern: false) { _ in [.send([22]), .stall] }],
            seconds: 1
        )
        #expect(elapsed < .seconds(8), "\(elapsed)")
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
        #expect(ContinuousClock.now - start < .seconds(8))
        #expect(report.decisive?.result == .undetermined)
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
        #expect(ContinuousClock.now - start < .seconds(2))
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import TLSModel
import TestSupport
import Testing
import Vocabulary

@testable import TLSProbe

@Suite struct NameResolverTests {
    @Test(
        "Overrides as curl takes them",
        arguments: [
            ("api.example.com:443:127.0.0.1", "api.example.com 443 127.0.0.1"), ("A.example:1:::1", "a.example 1 ::1"),
            ("[::1]:443:[::2]", "::1 443 ::2"), ("+a:443:1.2.3.4", "a 443 1.2.3.4"), ("*:443:::1", "* 443 ::1"),
            ("a:443:[::1],127.0.0.1", "a 443 ::1 127.0.0.1"),
        ]
    )
    func overrides(_ text: String, _ expected: String) throws {
        let parsed = try AddressOverride(text)
        #expect("\(parsed.host) \(parsed.port) \(parsed.addresses.joined(separator: " "))" == expected)
    }

    @Test(arguments: [
        "", "a", "nonsense", "a:443", "a:443:", "a:443:,", "a:b:127.0.0.1", "a:443:name", "a:443:127.0.0.1,name",
        "a:70000:1.2.3.4", "a:0:1.2.3.4", ":443:1.2.3.4", "[::1:443:::2", "[::1]",
    ])
    func whatIsNoOverrideIsNamed(_ text: String) {
        let error = #expect(throws: MalformedInput.self) { try AddressOverride(text) }
        #expect(error?.code == "malformed.resolve" && error?.place == text)
    }

    @Test("A name that no DNS name can be is not looked up, and costs nothing")
    func longNames() async {
        let start = ContinuousClock.now
        for name in [String(repeating: "a", count: 300), "a" + TLSMisbehaviour.marks(400_000)] {
            let answer = await NameResolver(overrides: [AddressOverride(host: "*", port: 443, address: "127.0.0.1")])
                .resolve(host: name, port: 443)
            #expect(answer == .failed(.nameNotFound("it is longer than 256 bytes")))
            #expect(throws: MalformedInput.self) { try AddressOverride(name + ":443:127.0.0.1") }
        }
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(2))
    }

    @Test func ofALongOrHostileLineTheStartIsShown() {
        let error = #expect(throws: MalformedInput.self) {
            try AddressOverride("\u{1B}[2J\u{9B}31m" + String(repeating: "x", count: 9_000_000))
        }
        #expect(error?.place == "\\u{1b}[2J\\u{9b}31m" + String(repeating: "x", count: 72))
    }

    @Test func theLaterOverrideCountsAndAHostBeforeEveryHost() async throws {
        let resolver = NameResolver(overrides: [
            AddressOverride(host: "a.example", port: 443, address: "192.0.2.1"),
            AddressOverride(host: "*", port: 443, address: "192.0.2.2"),
            try AddressOverride("A.example:443:192.0.2.3,2001:db8::3"),
            AddressOverride(host: "192.0.2.9", port: 443, address: "192.0.2.4"),
            AddressOverride(host: "broken.example", port: 443, address: "nowhere"),
        ])
        for (host, port, expected) in [
            ("a.EXAMPLE", 443, ["192.0.2.3", "2001:db8::3"]), ("b.example", 443, ["192.0.2.2"]),
            ("192.0.2.9", 443, ["192.0.2.4"]), ("192.0.2.9", 444, ["192.0.2.9"]),
            ("[2001:db8::1]", 444, ["2001:db8::1"]),
        ] {
            let found = await resolver.resolve(host: host, port: port)
            #expect(found == .addresses(try expected.map { try SocketAddress(ipAddress: $0, port: port) }), "\(host)")
        }
        // What the caller wanted to be somewhere is not looked for elsewhere.
        guard case .failed(.nameNotFound) = await resolver.resolve(host: "broken.example", port: 443) else {
            Issue.record("an override without an address led somewhere")
            return
        }
    }

    @Test func theSystemKnowsThisMachineAndNoInvalidName() async throws {
        let local = await NameResolver().resolve(host: "localhost", port: 1)
        guard case .addresses(let addresses) = local else {
            Issue.record("localhost: \(local)")
            return
        }
        #expect(!addresses.isEmpty && addresses.count <= NameResolver.maximumAddresses)
        #expect(addresses.allSatisfy { $0.port == 1 } && Set(addresses).count == addresses.count)
        guard case .failed = await NameResolver().resolve(host: "name.invalid", port: 1, timeout: .seconds(3)) else {
            Issue.record("a name that cannot exist has an address")
            return
        }
    }

    @Test func withoutTimeNothingIsLookedUp() async throws {
        let resolver = NameResolver(threads: LookUpThreads()) { name, _ in
            Issue.record("\(name) was looked up")
            return .failed(.closed)
        }
        for timeout in [Duration.zero, .seconds(-1)] {
            #expect(await resolver.resolve(host: "a.example", port: 1, timeout: timeout) == .failed(.timeout))
            let literal = await resolver.resolve(host: "192.0.2.1", port: 1, timeout: timeout)
            #expect(literal == .addresses([try SocketAddress(ipAddress: "192.0.2.1", port: 1)]))
        }
    }

    @Test func whoIsCancelledDoesNotWait() async {
        let found = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await NameResolver().resolve(host: "localhost", port: 1)
        }.value
        #expect(found == .failed(.timeout))
    }

    @Test func thousandsOfOverridesAreFoundAtOnce() async {
        let hosts = (0..<20_000).map { "host-\($0).example" }
        let resolver = NameResolver(overrides: hosts.map { AddressOverride(host: $0, port: 443, address: "192.0.2.1") })
        let begun = ContinuousClock.now
        for host in hosts {
            guard case .addresses = await resolver.resolve(host: host, port: 443) else {
                Issue.record("\(host) was looked up")
                return
            }
        }
        // A search through the list would take 200 million comparisons, which a debug build does not do in this time.
        #expect(Measuring.isOff || ContinuousClock.now - begun < .seconds(5))
    }

    /// Names that begin with `slow` hold their thread until the gate opens; all others are at 192.0.2.1.
    private static func resolver(most: Int = 512) -> (NameResolver, LookUpThreads, Gate) {
        let gate = Gate()
        let threads = LookUpThreads(most: most)
        let resolver = NameResolver(threads: threads) { name, port in
            if name.hasPrefix("slow") { gate.pass() }
            guard let address = try? SocketAddress(ipAddress: "192.0.2.1", port: port) else {
                return .failed(.nameNotFound("no address"))
            }
            return .addresses([address])
        }
        return (resolver, threads, gate)
    }

    /// Lets nobody through until it is open.
    private final class Gate: @unchecked Sendable {
        private let condition = NSCondition()
        private var isOpen = false
        private var held = 0

        var waiting: Int { condition.withLock { held } }

        func pass() {
            condition.withLock {
                held += 1
                while !isOpen { condition.wait() }
                held -= 1
            }
        }

        func open() {
            condition.withLock {
                isOpen = true
                condition.broadcast()
            }
        }
    }

    @Test("A hundred names whose servers say nothing delay no other name, and their threads end with them")
    func slowNamesDelayNobody() async throws {
        let (resolver, threads, gate) = Self.resolver()
        try await withThrowingTaskGroup(of: NameResolver.Resolution.self) { group in
            for index in 0..<100 {
                group.addTask { await resolver.resolve(host: "slow-\(index)", port: 443, timeout: .seconds(60)) }
            }
            try await eventually("they wait") { gate.waiting > 32 }
            for index in 0..<200 {
                let found = await resolver.resolve(host: "honest-\(index)", port: 443, timeout: .seconds(30))
                #expect(found == .addresses([try SocketAddress(ipAddress: "192.0.2.1", port: 443)]), "\(index)")
            }
            // Not one of the slow ones was over meanwhile.
            #expect(gate.waiting > 32 && threads.count <= 512)
            gate.open()
            for try await answer in group {
                #expect(answer == .addresses([try SocketAddress(ipAddress: "192.0.2.1", port: 443)]))
            }
        }
        try await eventually("the threads end") { threads.count == 0 }
    }

    @Test("Threads are bounded; who finds none waits no longer than its own limit, and is served when there is one")
    func threadsAreBounded() async throws {
        let (resolver, threads, gate) = Self.resolver(most: 6)
        await withTaskGroup(of: NameResolver.Resolution.self) { group in
            for index in 0..<2000 {
                group.addTask { await resolver.resolve(host: "slow-\(index)", port: 443, timeout: .seconds(1)) }
            }
            for await answer in group { #expect(answer == .failed(NameResolver.silence)) }
        }
        #expect(gate.waiting == 6 && threads.count == 6)
        let late = Task { await resolver.resolve(host: "honest", port: 443, timeout: .seconds(30)) }
        gate.open()
        #expect(await late.value == .addresses([try SocketAddress(ipAddress: "192.0.2.1", port: 443)]))
        try await eventually("the threads end") { threads.count == 0 }
        // None of those that were given up is looked up after all.
        #expect(gate.waiting == 0)
    }

    /// Whoever asks, and whatever a name server says: the addresses of a place are those that it may have.
    @Test func limitsOfAResolver() async throws {
        let resolver = NameResolver(
            overrides: [try AddressOverride("own.example:443:127.0.0.1")],
            limits: { host, port in host.hasSuffix("inside.example") && port == 443 ? .anyServer : .publicAddresses },
            threads: .shared
        ) { name, port in
            let address =
                name.hasPrefix("meta") ? "169.254.169.254" : name.hasPrefix("out") ? "93.184.215.14" : "10.0.0.1"
            return (try? SocketAddress(ipAddress: address, port: port)).map { .addresses([$0]) } ?? .failed(.timeout)
        }
        for (host, port, isFound) in [
            ("out.example", 443, true), ("a.example", 443, false), ("inside.example", 443, true),
            ("inside.example", 8443, false), ("meta.inside.example", 443, false), ("127.0.0.1", 443, false),
            ("[::1]", 443, false), ("93.184.215.14", 443, true), ("own.example", 443, true),
        ] {
            let answer = await resolver.resolve(host: host, port: port)
            let found = if case .addresses = answer { true } else { false }
            #expect(found == isFound, "\(host):\(port): \(answer)")
        }
    }
}

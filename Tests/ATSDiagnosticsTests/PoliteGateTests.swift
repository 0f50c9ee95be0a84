// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TLSModel
import Testing
import Vocabulary

@testable import ATSDiagnostics

/// How many checks go to one address and one network at once, and in which order a list is asked.
@Suite struct PoliteGateTests {
    /// How many were under way at once, by a name of their own.
    final class Watch: Sendable {
        private let counts = Mutex<[String: (now: Int, most: Int)]>([:])

        func begin(_ names: [String]) {
            counts.withLock { counts in
                for name in names {
                    var count = counts[name, default: (0, 0)]
                    count.now += 1
                    count.most = max(count.most, count.now)
                    counts[name] = count
                }
            }
        }

        func end(_ names: [String]) { counts.withLock { counts in for name in names { counts[name]?.now -= 1 } } }
        func most(_ name: String) -> Int { counts.withLock { $0[name]?.most ?? 0 } }
    }

    @Test(arguments: [("198.51.100.", "v4"), ("2001:db8:1:2::", "v6")])
    func noAddressAndNoNetworkGetsMoreThanItsShare(_ prefix: String, _ network: String) async throws {
        let gate = PoliteGate(.init(address: 3, network: 5))
        let watch = Watch()
        // Nobody leaves before three are there. Three always get in: the five places of the network can be taken by those who wait for one
        // address, which lets in three of them.
        let deadline = ContinuousClock.now + .seconds(30)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<200 {
                let host = "\(prefix)\(index % 4 + 1)"
                let address = try #require(IPAddress(host))
                group.addTask {
                    try await gate.run(address) {
                        watch.begin([host, network])
                        repeat { await Task.yield() } while watch.most(network) < 3 && ContinuousClock.now < deadline
                        watch.end([host, network])
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(watch.most(network) <= 5 && watch.most(network) >= 3)
        for index in 1...4 { #expect(watch.most("\(prefix)\(index)") <= 3) }
        #expect(gate.places.isEmpty)
    }

    @Test func othersAreNotHeldUp() async throws {
        let gate = PoliteGate(.init(address: 1, network: 1))
        let (one, other) = (try #require(IPAddress("198.51.100.1")), try #require(IPAddress("203.0.113.1")))
        let answer = try await gate.run(one) {
            // While one network is busy another one gets its place at once.
            (try? await gate.run(other) { 7 }) ?? 0
        }
        #expect(answer == 7 && gate.places.isEmpty)
    }

    @Test func whoIsCancelledLeavesTheLine() async throws {
        let gate = PoliteGate(.init(address: 1, network: 1))
        let address = try #require(IPAddress("198.51.100.1"))
        try await gate.run(address) {
            let waiting = (0..<10).map { _ in Task { try await gate.run(address) { 1 } } }
            for task in waiting { task.cancel() }
            for task in waiting { await #expect(throws: CancellationError.self) { try await task.value } }
        }
        #expect(gate.places.isEmpty)
        let later = try await gate.run(address) { 2 }
        #expect(later == 2)
    }

    @Test(arguments: [0, 1, 64, 4096, 9000]) func everyPlaceIsAskedOnce(_ count: Int) {
        let places = Array(0..<UInt32(count))
        let order = ShuffledOrder(seed: 42).order(places)
        #expect(order.sorted() == places)
        #expect(order == ShuffledOrder(seed: 42).order(places))
        if count > 1 {
            #expect(order != places && order != ShuffledOrder(seed: 43).order(places))
        }
        // A block is done before the next begins.
        for (index, place) in order.enumerated() {
            #expect(index / ShuffledOrder.block == Int(place) / ShuffledOrder.block)
        }
    }
}

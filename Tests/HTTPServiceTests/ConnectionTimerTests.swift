// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import Logging
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import HTTPService

@Suite struct ConnectionTimerTests {
    /// The processor time of one look at the deadline of each of so many idle connections of one loop.
    private func look(at count: Int) throws -> Double {
        let loop = EmbeddedEventLoop()
        let observer = RequestObserver(registry: PrometheusRegistry(), log: Logger(label: "test"))
        let channels = try (0..<count).map { _ in
            let channel = EmbeddedChannel(loop: loop)
            try channel.pipeline.syncOperations.addHandler(
                ConnectionHandler(
                    limits: ConnectionLimits(), observer: observer, sources: .live,
                    admission: Admission(limits: Admission.Limits(total: 1, perAddress: 1)) { _ in }))
            return channel
        }
        let cost = CPUTime.measure { loop.advanceTime(by: .seconds(5)) }
        withExtendedLifetime(channels) {}
        return cost
    }

    @Test("To look at the deadlines of idle connections costs each the same, however many there are", Measuring.only)
    func idleConnections() throws {
        let (few, many) = (try look(at: 400), try look(at: 8000))
        #expect(many < 5 * 20 * few + 0.05, "\(few) s, \(many) s")
    }
}

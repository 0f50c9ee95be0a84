// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import Foundation
import NIOConcurrencyHelpers
import NIOCore
import TLSProbe
import TestSupport
import Testing

/// Servers whose judgement costs seconds do not hold up other servers and clients.
@Suite(.enabled(if: LoopbackServers.isAvailable))
struct SlowJudgementTests {
    /// Holds the thread that it is called on, as work on huge certificates does.
    private struct HoldingFetcher: IntermediateFetcher {
        let running: NIOLockedValueBox<Int>
        let isReleased: NIOLockedValueBox<Bool>

        func certificates(at address: String, within scope: FetchScope) async -> [[UInt8]] {
            running.withLockedValue { $0 += 1 }
            let end = NIODeadline.now() + .seconds(10)
            while !isReleased.withLockedValue({ $0 }), .now() < end { usleep(1000) }
            return []
        }
    }

    @Test("While twelve judgements hold their threads, an honest tunnel is opened and a plain request is answered")
    func hostileServers() async throws {
        let honest = try Fixture.server("modern")
        let hostile = try Fixture.server("missing-intermediate-aia")
        let fetcher = HoldingFetcher(running: NIOLockedValueBox(0), isReleased: NIOLockedValueBox(false))
        let names = (0..<12).map { "h\($0).example.com" }
        let overrides =
            try [AddressOverride(honest.resolve)] + names.map { try AddressOverride("\($0):\(hostile.port):127.0.0.1") }
        let log = CountingUpstream.Log([])
        try await RawServer.with({ CountingUpstream(log) }) { plain in
            try await RunningProxy.plain(fetcher: fetcher, trust: try Fixture.trust()) {
                $0.addressOverrides = overrides
            } body: { running in
                let slow = names.map { name in
                    Task {
                        try await running.exchange(
                            "CONNECT \(name):\(hostile.port) HTTP/1.1\r\n\r\n",
                            limit: .seconds(20))
                    }
                }
                try await eventually("all are fetched for") { fetcher.running.withLockedValue { $0 } == 12 }
                let start = ContinuousClock.now
                let tunnel = try await running.exchange(
                    "CONNECT \(honest.host):\(honest.port) HTTP/1.1\r\n\r\n",
                    after: ("established\r\n\r\n", "no TLS"))
                #expect(tunnel.hasPrefix("HTTP/1.1 200 "), "\(tunnel)")
                let answer = try await running.exchange(
                    "GET http://127.0.0.1:\(plain.port)/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                #expect(answer.hasSuffix("answer to GET /"), "\(answer)")
                #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(5))
                fetcher.isReleased.withLockedValue { $0 = true }
                for task in slow { #expect(try await task.value.hasPrefix("HTTP/1.1 403 ")) }
            }
        }
    }
}

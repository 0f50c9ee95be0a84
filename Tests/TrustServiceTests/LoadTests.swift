// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Foundation
import NIOConcurrencyHelpers
import NIOCore
import TestSupport
import Testing

@testable import HTTPService
@testable import TrustService

/// What clients see of the limit.
@Suite struct LoadTests {
    /// Answers when the test lets it.
    private final class Held: Handler, Sendable {
        private struct State {
            var isOpen = false
            var waiting: [CheckedContinuation<Void, Never>] = []
        }

        private let state = NIOLockedValueBox(State())
        private let entries = AsyncStream<Void>.makeStream()

        var routes: [Route] {
            [
                Route("held", "POST", "/held", .app) { _ in
                    self.entries.continuation.yield()
                    await withCheckedContinuation { continuation in
                        let isOpen = self.state.withLockedValue { state in
                            if !state.isOpen { state.waiting.append(continuation) }
                            return state.isOpen
                        }
                        if isOpen { continuation.resume() }
                    }
                    return .json(["held": true])
                }
            ]
        }

        /// Waits until so many more calls are there.
        func entered(_ count: Int) async {
            var iterator = entries.stream.makeAsyncIterator()
            for _ in 0..<count { _ = await iterator.next() }
        }

        func release() {
            let waiting = state.withLockedValue { state in
                state.isOpen = true
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }
    }

    /// Takes its time, so that requests meet.
    private struct Slow: Handler {
        var routes: [Route] {
            [
                Route("held", "POST", "/held", .app) { _ in
                    try await Task.sleep(for: .milliseconds(20))
                    return .json(["held": true])
                }
            ]
        }
    }

    private static let post =
        "POST /held HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    private static let get = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"

    /// Two may be in flight.
    private static let two = RunningService.configuration { $0.limits.inFlight = 2 }

    @Test func whatIsTooMuchIsRefusedAtOnceAndNothingElse() async throws {
        let (held, lines) = (Held(), LogLines())
        try await RunningService.with(LoadTests.two, log: lines.logger, interfaces: { _ in [held] }) { service in
            defer { held.release() }
            let port = try #require(URL(string: service.base)?.port)
            let first = try [LoopbackClient(port: port), LoopbackClient(port: port)]
            for client in first { client.send(LoadTests.post) }
            await held.entered(2)

            // The connection stays.
            let other = try LoopbackClient(port: port)
            for _ in 0..<3 {
                other.send(LoadTests.post)
                let answer = await other.answer()
                #expect(answer.hasPrefix("HTTP/1.1 503") && answer.contains(#""code":"limit.load""#), "\(answer)")
                let text = answer.lowercased()
                #expect(text.contains("\r\nretry-after: ") && text.contains("application/problem+json"))
                #expect(!text.contains("connection: close"))
            }
            other.send(LoadTests.get)
            #expect(await other.answer().hasPrefix("HTTP/1.1 200"))

            // Other operations, health, metrics and operators have room.
            #expect(try await service.get("/readyz").status == 200)
            #expect(try await service.get("/v1/apps/shop/ramp?installation=a").status == 200)
            #expect(try await service.get("/v1/keys?app=shop", token: RunningService.adminToken).status == 200)
            let metrics = String(decoding: try await service.get("/metrics").body, as: UTF8.self)
            #expect(
                metrics.contains(#"sealward_http_requests_total{operation="held",status="503",code="limit.load"} 3"#))
            #expect(metrics.contains("sealward_http_load_inflight{operation=\"held\"} 2"))
            #expect(metrics.contains("sealward_http_load_limit{operation=\"held\"} 2"))
            #expect(lines.all.filter { $0.message.hasPrefix("More requests come than the node can handle") }.count == 1)

            // What waited is answered, and then there is room again.
            held.release()
            for client in first { #expect(await client.answer().hasPrefix("HTTP/1.1 200")) }
            other.send(LoadTests.post)
            #expect(await other.answer().hasPrefix("HTTP/1.1 200"))
        }
    }

    /// A refused request is read to its end, but not for ever, and no other is found behind it.
    @Test func whatIsRefusedIsReadToItsEnd() async throws {
        let held = Held()
        try await RunningService.with(LoadTests.two, interfaces: { _ in [held] }) { service in
            defer { held.release() }
            let port = try #require(URL(string: service.base)?.port)
            let first = try [LoopbackClient(port: port), LoopbackClient(port: port)]
            for client in first { client.send(LoadTests.post) }
            await held.entered(2)
            func head(_ field: String) -> String {
                "POST /held HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\(field)\r\n\r\n"
            }
            let inParts = try LoopbackClient(port: port)
            for part in [head("Content-Length: 4"), "{ ", " }"] { inParts.send(part) }
            #expect(await inParts.answer().hasPrefix("HTTP/1.1 503"))
            inParts.send(head("Transfer-Encoding: chunked") + "2\r\n{}\r\n0\r\n\r\n")
            #expect(await inParts.answer().hasPrefix("HTTP/1.1 503"))
            inParts.send(LoadTests.get)
            #expect(await inParts.answer().hasPrefix("HTTP/1.1 200"))

            let endless = try LoopbackClient(port: port)
            endless.send(head("Content-Length: 1000000") + String(repeating: " ", count: 70_000))
            let answer = await endless.answer()
            #expect(answer.hasPrefix("HTTP/1.1 413") && answer.lowercased().contains("\r\nconnection: close\r\n"))

            let broken = try LoopbackClient(port: port)
            broken.send(head("Transfer-Encoding: chunked") + "2\r\n{}\r\nzz\r\n" + LoadTests.get)
            let unreadable = await broken.answer()
            #expect(
                unreadable.hasPrefix("HTTP/1.1 400") && unreadable.lowercased().contains("\r\nconnection: close\r\n"))
        }
    }

    /// A place ends with the connection, whatever its handler still does.
    @Test func whoGoesAwayLeavesItsPlace() async throws {
        let held = Held()
        try await RunningService.with(LoadTests.two, interfaces: { _ in [held] }) { service in
            defer { held.release() }
            let port = try #require(URL(string: service.base)?.port)
            for _ in 0..<3 {
                var gone = try [LoopbackClient(port: port), LoopbackClient(port: port)]
                for client in gone { client.send(LoadTests.post) }
                await held.entered(2)
                for client in gone { client.reset() }
                gone = []
                try await eventually("the places are free") {
                    String(decoding: try await service.get("/metrics").body, as: UTF8.self)
                        .contains("sealward_http_load_inflight{operation=\"held\"} 0")
                }
            }
        }
    }

    /// Ten times as many requests at once as may be in flight: each is accepted, or refused with the time to come again.
    @Test func everyRequestOfAFloodIsAnswered() async throws {
        let limit = 8
        let configuration = RunningService.configuration { $0.limits.inFlight = limit }
        try await RunningService.with(configuration, interfaces: { _ in [Slow()] }) { service in
            let port = try #require(URL(string: service.base)?.port)
            let answers = try await allAtOnce(limit * 10) { _ in
                let client = try LoopbackClient(port: port)
                var answers: [String] = []
                for _ in 0..<5 {
                    client.send(LoadTests.post)
                    answers.append(await client.answer())
                }
                return answers
            }.flatMap(\.self)
            #expect(answers.count == limit * 50)
            for answer in answers {
                let isRefused =
                    answer.hasPrefix("HTTP/1.1 503") && answer.lowercased().contains("\r\nretry-after: ")
                    && answer.contains(#""code":"limit.load""#)
                #expect(answer.hasPrefix("HTTP/1.1 2") || isRefused, "\(answer)")
            }
            #expect(answers.contains { $0.hasPrefix("HTTP/1.1 2") })
            let metrics = String(decoding: try await service.get("/metrics").body, as: UTF8.self)
            #expect(metrics.contains("sealward_http_load_inflight{operation=\"held\"} 0"))
        }
    }

    /// Who sends requests without waiting for answers takes one place and not several, and the connection ends after the first answer.
    @Test func pipelinedRequestsTakeOnePlace() async throws {
        let held = Held()
        try await RunningService.with(LoadTests.two, interfaces: { _ in [held] }) { service in
            defer { held.release() }
            let port = try #require(URL(string: service.base)?.port)
            let client = try LoopbackClient(port: port)
            client.send(LoadTests.post + LoadTests.post + LoadTests.post)
            await held.entered(1)
            // One of them is in flight, so that another client has room.
            let other = try LoopbackClient(port: port)
            other.send(LoadTests.post)
            await held.entered(1)
            let refused = try LoopbackClient(port: port)
            refused.send(LoadTests.post)
            #expect(await refused.answer().hasPrefix("HTTP/1.1 503"))
            held.release()
            let all = await client.everything()
            #expect(all.components(separatedBy: "HTTP/1.1 200").count - 1 == 1, "\(all)")
            #expect(all.lowercased().contains("connection: close"))
        }
    }

    /// A request counts from its end.
    @Test func clientsThatSendSlowlyHoldNoPlace() async throws {
        let held = Held()
        try await RunningService.with(LoadTests.two, interfaces: { _ in [held] }) { service in
            defer { held.release() }
            let port = try #require(URL(string: service.base)?.port)
            let slow = try (0..<5).map { _ in try LoopbackClient(port: port) }
            for client in slow { client.send(String(LoadTests.post.dropLast())) }
            held.release()
            let quick = try LoopbackClient(port: port)
            quick.send(LoadTests.post)
            #expect(await quick.answer().hasPrefix("HTTP/1.1 200"))
            for client in slow {
                client.send("}")
                #expect(await client.answer().hasPrefix("HTTP/1.1 200"))
            }
        }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import Foundation
import NIOCore
import TestSupport
import Testing
import Vocabulary

@testable import HTTPService
@testable import TrustService

@Suite struct ConnectionTests {
    private func port(_ service: RunningService) throws -> Int {
        try #require(URL(string: service.base)?.port)
    }

    @Test func halfClosedRequestsAreAnswered() async throws {
        try await RunningService.with { service in
            let connection = try LoopbackClient(port: try port(service))
            connection.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            connection.finishSending()
            let whole = await connection.answer()
            #expect(whole.hasPrefix("HTTP/1.1 200"))
            let early = try LoopbackClient(port: try port(service))
            early.send("POST /v1/apps/shop/assertions HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{")
            early.finishSending()
            let answer = await early.answer()
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"))
        }
    }

    @Test(arguments: [
        "NONSENSE\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n",
        "\u{0}\u{1}\u{2}\r\n\r\n",
    ])
    func unreadableRequestsGetAProblemOrAreClosed(_ text: String) async throws {
        try await RunningService.with { service in
            let connection = try LoopbackClient(port: try port(service))
            connection.send(text)
            let answer = await connection.answer()
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4") || answer.hasPrefix("HTTP/1.0 4"), "\(answer)")
            #expect(answer.isEmpty || answer.contains("application/problem+json"))
            #expect(try await service.get("/livez").status == 200)
        }
    }

    @Test func oversizedBodiesAreRefusedBeforeTheyArrive() async throws {
        try await RunningService.with { service in
            let connection = try LoopbackClient(port: try port(service))
            connection.send(
                "POST /v1/apps/shop/assertions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n{"
            )
            let answer = await connection.answer()
            #expect(answer.hasPrefix("HTTP/1.1 413"))
        }
    }

    /// Nothing is read behind such a request, so its answer ends the connection, and the client asks again over another one.
    @Test(arguments: [
        "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n",
        "CONNECT /livez HTTP/1.1\r\nHost: x\r\n\r\n",
    ])
    func whoeverAsksForAnotherProtocolLearnsThatTheConnectionEnds(_ request: String) async throws {
        try await RunningService.with { service in
            let connection = try LoopbackClient(port: try port(service))
            let start = ContinuousClock.now
            connection.send(request + ConnectionTests.get)
            let all = await connection.everything()
            #expect(count("HTTP/1.1 ", in: all) == 1 && all.lowercased().contains("connection: close"), "\(all)")
            #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(5))
        }
    }

    /// Clients that send and reset: nothing is done for those that are gone when their turn comes.
    @Test func nothingIsDoneForWhoeverHasGoneAway() async throws {
        let configuration = RunningService.configuration { $0.limits.requestsPerSecondPerAddress = 1_000_000 }
        try await RunningService.with(configuration) { service in
            let port = try port(service)
            let body =
                "{\"keyId\":\"\(String(repeating: "A", count: 43))=\",\"attestation\":\"\(String(repeating: "A", count: 40_000))\",\"challenge\":\"AAAA\"}"
            let request =
                "POST /v1/apps/shop/attestations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            let deadline = ContinuousClock.now + .seconds(60)
            var metrics = ""
            while metrics.isEmpty || metrics.contains("sealward_requests_abandoned_total 0\n"),
                ContinuousClock.now < deadline
            {
                for _ in 0..<100 {
                    let client = try LoopbackClient(port: port)
                    client.send(request)
                    client.reset()
                }
                metrics = String(decoding: try await service.get("/metrics").body, as: UTF8.self)
            }
            #expect(!metrics.contains("sealward_requests_abandoned_total 0\n"))
        }
    }

    private static let get = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"

    /// How often something stands in a text.
    private func count(_ part: String, in text: String) -> Int { text.components(separatedBy: part).count - 1 }

    @Test func theLastRequestOfAConnectionIsAnsweredAndSaysSo() async throws {
        var limits = ConnectionLimits()
        limits.requests = 5
        try await RunningService.with(connections: limits) { service in
            let connection = try LoopbackClient(port: try port(service))
            var all = ""
            for _ in 0..<4 {
                connection.send(ConnectionTests.get)
                all += await connection.answer()
            }
            connection.send(ConnectionTests.get)
            all += await connection.everything()
            #expect(count("HTTP/1.1 200", in: all) == 5)
            #expect(count("connection: close", in: all.lowercased()) == 1)
        }
    }

    /// An old connection ends with its next answer, which says so; a young one stays.
    @Test func theAgeOfAConnectionIsBounded() async throws {
        var limits = ConnectionLimits()
        limits.total = .seconds(1)
        limits.requests = .max
        try await RunningService.with(connections: limits) { service in
            let start = ContinuousClock.now
            let connection = try LoopbackClient(port: try port(service))
            var answer = ""
            while !answer.contains("connection: close"), ContinuousClock.now - start < .seconds(20) {
                connection.send(ConnectionTests.get)
                answer = await connection.answer().lowercased()
                try #require(answer.hasPrefix("http/1.1 200"), "\(answer)")
            }
            #expect(answer.contains("connection: close"))
            #expect(Measuring.isOff || ContinuousClock.now - start >= .seconds(1))
            // What follows is not answered, and the service closes.
            connection.send(ConnectionTests.get)
            #expect(!(await connection.everything(seconds: 5)).contains("HTTP/1.1"))
        }
    }

    /// A client that does not wait for an answer gets no second one, and the end of its connection.
    @Test func aConnectionHasOneRequestAtATime() async throws {
        try await RunningService.with { service in
            let connection = try LoopbackClient(port: try port(service))
            connection.send(String(repeating: ConnectionTests.get, count: 2000))
            let all = await connection.everything()
            #expect((1..<2000).contains(count("HTTP/1.1 200", in: all)))
            // One by one each is answered.
            let patient = try LoopbackClient(port: try port(service))
            for _ in 0..<40 {
                patient.send(ConnectionTests.get)
                #expect(await patient.answer().hasPrefix("HTTP/1.1 200"))
            }
        }
    }

    /// What clients of HTTP/1.0, and clients that ask for it, wait for.
    @Test(arguments: [
        "GET /livez HTTP/1.0\r\n\r\n", "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: te, close\r\n\r\n",
    ])
    func theConnectionIsClosedWhenItWasAskedFor(_ request: String) async throws {
        try await RunningService.with { service in
            let connection = try LoopbackClient(port: try port(service))
            connection.send(request)
            let start = ContinuousClock.now
            #expect(await connection.everything().contains(" 200 OK"))
            #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(10))
        }
    }

    @Test func waitingClientsAreToldToContinue() async throws {
        try await RunningService.with { service in
            let body = #"{"purpose":"assert"}"#
            let head =
                "POST /v1/apps/shop/challenges HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
            let connection = try LoopbackClient(port: try port(service))
            connection.send(head + "Expect: 100-continue\r\nContent-Length: \(body.utf8.count)\r\n\r\n")
            #expect(await connection.answer().hasPrefix("HTTP/1.1 100"))
            connection.send(body)
            #expect(await connection.everything().hasPrefix("HTTP/1.1 201"))
            let large = try LoopbackClient(port: try port(service))
            large.send(head + "Expect: 100-continue\r\nContent-Length: 70000\r\n\r\n")
            #expect(await large.everything().hasPrefix("HTTP/1.1 413"))
        }
    }

    @Test func targetsInAbsoluteFormAreTaken() async throws {
        try await RunningService.with { service in
            for (target, status) in [
                ("http://x/livez", 200), ("HTTP://x:80/livez?a=b", 200), ("http://x", 404), ("http:livez", 400),
                ("ftp://x/livez", 400),
            ] {
                let connection = try LoopbackClient(port: try port(service))
                connection.send("GET \(target) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                let answer = await connection.everything()
                #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(target): \(answer.prefix(40))")
            }
        }
    }

    /// Caps in total and for one address; a proxy is exempt from the second, and the internal listener has its own share.
    @Test func capsFollowFromDescriptorsAndConfiguration() {
        let log = LogLines()
        func doors(_ descriptors: Int, _ change: (inout Configuration) -> Void = { _ in }) -> ConnectionCaps {
            let observer = RequestObserver(registry: PrometheusRegistry(), log: log.logger)
            let limit = DescriptorLimit(descriptors: descriptors, processors: 2)
            return ConnectionCaps(RunningService.configuration(change), observer, descriptors: limit)
        }
        let small = doors(256).outside
        #expect((100..<256).contains(small.total) && small.perAddress == 64)
        #expect(doors(1024).outside.perAddress == 64)
        let large = doors(65_536).outside
        #expect(large.perAddress == large.total / 16)
        #expect(doors(1024) { $0.limits.connections = 50 }.outside.total == 50)
        #expect(doors(1024) { $0.limits.connectionsPerAddress = 3 }.outside.perAddress == 3)
        #expect(log.all.isEmpty)
        #expect(doors(256) { $0.limits.connections = 5000 }.outside.total == small.total)
        #expect(log.all.count == 1)
        let split = doors(256) { $0.internalListen = ListenAddress(host: "127.0.0.1", port: 0) }
        #expect(split.outside.total + split.inside.total == small.total)
        #expect(split.inside.total >= 4)
    }

    /// Every place is taken by idle connections of one address, and another one is served.
    @Test func anIdleConnectionMakesRoomForANewcomer() async throws {
        let configuration = RunningService.configuration { $0.limits.connections = 8 }
        try await RunningService.with(configuration) { service in
            let port = try port(service)
            let held = try (0..<8).map { _ in try LoopbackClient(from: 2, port: port) }
            for connection in held {
                connection.send(ConnectionTests.get)
                #expect(await connection.answer().hasPrefix("HTTP/1.1 200"))
            }
            let honest = try LoopbackClient(from: 3, port: port)
            honest.send(ConnectionTests.get)
            #expect(await honest.answer().hasPrefix("HTTP/1.1 200"))
            // It is the one that has waited longest.
            #expect(await held[0].everything(seconds: 5).isEmpty)
            let metrics = String(decoding: try await service.get("/metrics").body, as: UTF8.self)
            let replaced = "sealward_http_connections_refused_total{listener=\"public\",reason=\"replaced\"} "
            #expect(metrics.contains(replaced) && !metrics.contains(replaced + "0\n"))
            withExtendedLifetime(held) {}
        }
    }

    /// Every place is taken by requests of one address that do not end, or by connections that stay after their last answer.
    @Test(arguments: [
        "POST /v1/apps/shop/challenges HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    ]) func whatWaitsForItsClientMakesRoomForANewcomer(_ sent: String) async throws {
        let configuration = RunningService.configuration { $0.limits.connections = 8 }
        try await RunningService.with(configuration) { service in
            let port = try port(service)
            let held = try (0..<8).map { _ in try LoopbackClient(from: 2, port: port) }
            for connection in held {
                connection.send(sent)
                #expect(await connection.answer().hasPrefix("HTTP/1.1 "))
            }
            var answer = ""
            // An answer may be here before its end is there; then the newcomer is turned away.
            for _ in 0..<50 where answer.isEmpty {
                let honest = try LoopbackClient(from: 3, port: port)
                honest.send(ConnectionTests.get)
                answer = await honest.answer()
            }
            #expect(answer.hasPrefix("HTTP/1.1 200"))
            withExtendedLifetime(held) {}
        }
    }

    @Test func connectionsOverTheCapAreClosedCountedAndLogged() async throws {
        let configuration = RunningService.configuration { $0.limits.connectionsPerAddress = 5 }
        let lines = LogLines()
        try await RunningService.with(configuration, log: lines.logger) { service in
            let port = try port(service)
            let held = try (0..<20).map { _ in try LoopbackClient(from: 2, port: port) }
            for (index, connection) in held.enumerated() where index >= 5 {
                #expect(await connection.everything(seconds: 5).isEmpty)
            }
            for connection in held.prefix(5) {
                connection.send(ConnectionTests.get)
                #expect(await connection.answer().hasPrefix("HTTP/1.1 200"))
            }
            let metrics = String(decoding: try await service.get("/metrics").body, as: UTF8.self)
            let refused = "sealward_http_connections_refused_total{listener=\"public\",reason=\"address\"} "
            #expect(metrics.contains(refused) && !metrics.contains(refused + "0\n"))
            #expect(lines.all.contains { $0.message == "Connections were turned away." })
            withExtendedLifetime(held) {}
        }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import AsyncHTTPClient
import Formats
import Foundation
import Logging
import NIOConcurrencyHelpers
import SealwardHummingbird
import TLSModel
import TestSupport
import Testing
import Tracing
import TrustStores
import TrustStoresPostgres

@testable import HTTPService
@testable import TrustService

/// One request as an operator's backend sees it: gateway, service, store, Apple.
@Suite(.timeLimit(.minutes(1))) struct TracingTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let gateway = "b7ad6b7169203331"
    private static let parent = "00-\(trace)-\(gateway)-01"

    private func configuration(
        _ collector: TraceCollector, trusts: Bool = true, _ change: (inout Configuration) -> Void = { _ in }
    ) throws -> Configuration {
        let loopback = try #require(AddressRange("127.0.0.0/8"))
        return RunningService.configuration {
            $0.tracing.endpoint = collector.base
            $0.trustedProxies = trusts ? [loopback] : []
            change(&$0)
        }
    }

    @Test func aRequestIsOneTraceFromTheGatewayToTheStore() async throws {
        let store = try SQLTrustStore.sqlite(at: ServeProcess.folder().appendingPathComponent("s.sqlite").path)
        try await checkOneTraceFromTheGateway(to: store, "sqlite")
    }

    @Test(.enabled(if: PostgresServer.isAvailable, "needs Debian's package postgresql"))
    func aRequestIsOneTraceFromTheGatewayToPostgreSQL() async throws {
        let url = try await PostgresServer.sharedWithEmptyStore().url
        try await checkOneTraceFromTheGateway(to: try await SQLTrustStore.postgres(url), "postgresql")
    }

    private func checkOneTraceFromTheGateway(to store: SQLTrustStore, _ system: String) async throws {
        let collector = try TraceCollector()
        let lines = LogLines()
        try await RunningService.with(try configuration(collector), store: store, log: lines.logger) { service in
            let phone = await Phone(service)
            let (keyId, body) = try await phone.attestation()
            #expect(try await service.post("/v1/apps/shop/attestations", body).status == 201)
            let headers = ["traceparent": TracingTests.parent, "tracestate": "gateway=1"]
            let assertion = try await phone.assertion(keyId)
            let path = "/v1/apps/shop/assertions"
            #expect(try await service.post(path, assertion, headers: headers).status == 200)
            #expect(try await service.post(path, assertion, headers: headers).status == 409)
        }
        // The service has ended: what is not there now will never be.
        var all: [TraceCollector.Span] = []
        all = try await collector.spans { spans in spans.count { $0.trace == TracingTests.trace && $0.kind == 2 } == 2 }
        let spans = all.filter { $0.trace == TracingTests.trace }
        let servers = spans.filter { $0.parent == TracingTests.gateway }
        #expect(servers.count == 2)
        let server = try #require(servers.first { $0.attributes["http.response.status_code"] == "200" })
        #expect(server.name == "POST /v1/apps/{app}/assertions" && server.kind == 2 && server.state == "gateway=1")
        #expect(server.attributes["http.request.method"] == "POST")
        #expect(server.attributes["http.route"] == "/v1/apps/{app}/assertions")
        #expect(server.attributes["url.path"] == nil && server.attributes["error.type"] == nil)
        let verbs = spans.filter { $0.parent == server.id }
        #expect(verbs.map(\.name).contains("advance"))
        for verb in verbs {
            #expect(verb.kind == 3 && verb.attributes["db.system.name"] == system)
            #expect(verb.attributes["db.operation.name"] == verb.name)
            #expect(server.start <= verb.start && verb.end <= server.end)
        }
        // A refusal is named by our code, and is no error of the server; the log has its trace.
        let refused = try #require(servers.first { $0.id != server.id })
        #expect(refused.attributes["error.type"] != nil && !refused.isError)
        let line = try #require(lines.all.first { $0.metadata["code"] == refused.attributes["error.type"] })
        #expect(line.metadata["traceId"] == TracingTests.trace)
        #expect(line.metadata["correlationId"] == refused.attributes["sealward.correlation_id"])
        // What came without a traceparent began traces of its own.
        let roots = all.filter { $0.kind == 2 && $0.trace != TracingTests.trace }
        #expect(roots.count == 3 && roots.allSatisfy(\.parent.isEmpty) && Set(roots.map(\.trace)).count == 3)
        #expect(!all.contains { $0.attributes.values.contains { $0.contains("shop") } })
    }

    /// A backend that checks tokens by the middleware: what its gate asks the service belongs to the backend's own trace.
    @Test func theTraceOfABackendGoesOnInTheService() async throws {
        let collector = try TraceCollector()
        try await RunningService.with(try configuration(collector)) { service in
            let (phone, keyId) = try await Phone.attested(service)
            let body = try await phone.assertion(keyId)
            let token = try #require(try await service.post("/v1/apps/shop/tokens", body)["token"]?.text)
            var settings = HTTPClient.Configuration()
            let receiver = try #require(TraceReceiver(collector.base))
            settings.tracing.tracer = TraceExporter(TraceExporter.Configuration(receiver: receiver)) { _ in }.tracer
            let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: settings)
            var wanted = TokenGate.Configuration(
                service: service.base, issuer: "backend", audience: "backend", apps: ["shop"])
            wanted.trustsSimulator = true
            wanted.proof = .service()
            let gate = TokenGate(wanted, client: client)
            var context = ServiceContext.topLevel
            context.trace = TraceContext(traceparent: TracingTests.parent, tracestate: nil)
            _ = await ServiceContext.withValue(context) { await gate.judge(token: token) }
            try await client.shutdown()
        }
        let spans = try await collector.spans { spans in
            spans.contains { $0.trace == TracingTests.trace && $0.kind == 2 }
        }
        let asked = spans.filter { $0.trace == TracingTests.trace && $0.kind == 2 }
        #expect(asked.contains { $0.name.hasPrefix("GET /") } && !asked.contains { $0.parent.isEmpty }, "\(asked)")
    }

    /// Who names a trace decides what is recorded, so nobody does but a trusted proxy.
    @Test(
        arguments: [
            (false, nil, [parent], false), (true, nil, [parent], true), (false, .everyone, [parent], true),
            (true, nil, [parent, parent], false), (true, nil, [parent, "x"], false), (true, nil, ["x"], false),
            (true, nil, [parent.uppercased()], false), (true, nil, ["ff" + parent.dropFirst(2)], false),
            (true, nil, [String(parent.dropLast())], false), (true, nil, [], false),
        ] as [(Bool, Configuration.Traces.Trust?, [String], Bool)]
    )
    func theTraceIsTheGatewaysOnlyIfItIsBelieved(
        _ isProxy: Bool, _ trust: Configuration.Traces.Trust?, _ fields: [String], _ isContinued: Bool
    ) async throws {
        let collector = try TraceCollector()
        let settings = try configuration(collector, trusts: isProxy) { if let trust { $0.tracing.trust = trust } }
        try await RunningService.with(settings) { service in
            let connection = try LoopbackClient(port: try #require(URL(string: service.base)?.port))
            let head = fields.map { "traceparent: \($0)\r\n" }.joined()
            connection.send("GET /livez HTTP/1.1\r\nHost: x\r\n\(head)Connection: close\r\n\r\n")
            _ = await connection.everything()
        }
        let spans = try await collector.spans { !$0.isEmpty }
        let span = try #require(spans.first { $0.kind == 2 })
        #expect(span.name == "GET /livez" && span.attributes["url.path"] == "/livez")
        #expect((span.trace == TracingTests.trace) == isContinued)
        #expect(span.parent == (isContinued ? TracingTests.gateway : ""))
    }

    @Test func whatIsNotSampledIsNotSentAndWhatIsUnknownIsNotNamed() async throws {
        let collector = try TraceCollector()
        let settings = try configuration(collector) { $0.tracing.sample = 0 }
        try await RunningService.with(settings) { service in
            let port = try #require(URL(string: service.base)?.port)
            for head in ["", "traceparent: \(TracingTests.parent.dropLast())0\r\n"] {
                let connection = try LoopbackClient(port: port)
                connection.send("GET /readyz HTTP/1.1\r\nHost: x\r\n\(head)Connection: close\r\n\r\n")
                _ = await connection.everything()
            }
            let connection = try LoopbackClient(port: port)
            let head = "traceparent: \(TracingTests.parent)\r\n"
            connection.send("PROPFIND /secret-of-somebody HTTP/1.1\r\nHost: x\r\n\(head)Connection: close\r\n\r\n")
            _ = await connection.everything()
        }
        let spans = try await collector.spans { !$0.isEmpty }
        #expect(spans.map(\.name) == ["HTTP"])
        #expect(spans.first?.attributes["http.request.method"] == "_OTHER")
        #expect(spans.first?.attributes["error.type"] == "path.unknown")
        #expect(spans.first?.attributes.values.contains { $0.contains("secret") } == false)
    }

    @Test func callsToAppleAreSpansAndAppleIsToldNothing() async throws {
        let collector = try TraceCollector()
        let apple = ScriptedApple()
        let settings = try configuration(collector) {
            $0.bits = [Configuration.Bit(bit: 0, name: "welcome")]
            $0.apple = .ofTests
        }
        try await RunningService.with(settings, transport: apple) { service in
            let body: JSONValue = ["app": "shop", "deviceToken": "AAAA", "transactionId": "t1"]
            let headers = ["traceparent": TracingTests.parent]
            for status in [200, 503] {
                apple.state.withLockedValue { $0.status = status }
                _ = try await service.post(
                    "/v1/devicecheck/query", body, token: RunningService.serverToken, headers: headers)
            }
        }
        let spans = try await collector.spans { spans in spans.count { $0.kind == 2 } == 2 }
        let calls = spans.filter { $0.attributes["url.full"]?.hasSuffix("/v1/query_two_bits") == true }
        #expect(Set(calls.compactMap { $0.attributes["http.response.status_code"] }) == ["200", "503"])
        #expect(
            calls.allSatisfy { $0.trace == TracingTests.trace && $0.isError == ($0.attributes["error.type"] != nil) })
        #expect(spans.contains { $0.kind == 2 && $0.isError })
        let sent = apple.state.withLockedValue { $0.requests }.flatMap(\.headers).map { $0.name.lowercased() }
        #expect(!sent.isEmpty && !sent.contains("traceparent") && !sent.contains("tracestate"))
    }

    /// A receiver that never answers holds up neither requests nor the end of the service, and the loss shows.
    @Test(.timeLimit(.minutes(5))) func aSilentReceiverHoldsUpNothing() async throws {
        let held = try HeldPort(isListening: true)
        let lines = LogLines()
        let settings = RunningService.configuration { $0.tracing.endpoint = "http://127.0.0.1:\(held.port)" }
        var start = ContinuousClock.now
        try await RunningService.with(settings, log: lines.logger) { service in
            let begin = ContinuousClock.now
            let port = try #require(URL(string: service.base)?.port)
            for _ in 0..<10 {
                let connection = try LoopbackClient(port: port)
                for _ in 0..<100 {
                    connection.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                    #expect(await connection.answer().hasPrefix("HTTP/1.1 200"))
                }
            }
            #expect(Measuring.isOff || ContinuousClock.now - begin < .seconds(20))
            let loss = "sealward_traces_dropped_total{reason=\"receiver\"}"
            while try await !String(decoding: service.get("/metrics").body, as: UTF8.self).contains(loss) {
                try await Task.sleep(for: .milliseconds(100))
            }
            start = .now
        }
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(8))
        let lost = lines.all.filter { $0.metadata["notTaken"] != nil }
        // Once a minute: the run may reach into a second one.
        #expect((1...2).contains(lost.count))
        withExtendedLifetime(held) {}
    }

    @Test func aReceiverIsCheckedBeforeTheStart() {
        func issues(_ json: String, files: [String: String] = [:]) -> [String] {
            do {
                _ = try TrustServer.Configuration(json: Array(json.utf8)) { files[$0].map { Array($0.utf8) } }
                return []
            } catch { return error.issues }
        }
        #expect(
            issues(#"{"tracing": {"endpoint": "https://collector.example.com", "sample": 0.1, "trust": "everyone"}}"#)
                .isEmpty)
        for wrong in [
            #"{"tracing": {"endpoint": "http://collector.example.com"}}"#, #"{"tracing": {"sample": 1.5}}"#,
            #"{"tracing": {"trust": "all"}}"#, #"{"tracing": {"headersFile": "none"}}"#,
        ] { #expect(issues(wrong).count == 1, "\(wrong)") }
        let file = #"{"tracing": {"headersFile": "h"}}"#
        #expect(issues(file, files: ["h": "Authorization: Bearer x:y\nX-Scope: 1\n"]).isEmpty)
        for wrong in ["Authorization\n", "no field: x\n", "a: \u{0}\n", ": x\n"] {
            #expect(issues(file, files: ["h": wrong]).count == 1, "\(wrong.debugDescription)")
        }
    }
}

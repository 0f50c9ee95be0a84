// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Tracing

@testable import HTTPService

/// Spans on their way to a receiver that takes them, or does not.
@Suite(.timeLimit(.minutes(1))) struct TraceExporterTests {
    private final class Tallies: Sendable {
        private let state = Mutex(TraceExporter.Tally())
        var all: TraceExporter.Tally { state.withLock { $0 } }

        func add(_ tally: TraceExporter.Tally) {
            state.withLock { all in
                all.sent += tally.sent
                all.failed += tally.failed
                all.dropped += tally.dropped
                if !tally.reason.isEmpty { all.reason = tally.reason }
            }
        }
    }

    private func configuration(
        _ base: String, _ change: (inout TraceExporter.Configuration) -> Void = { _ in }
    ) throws -> TraceExporter.Configuration {
        var configuration = TraceExporter.Configuration(receiver: try #require(TraceReceiver(base)))
        change(&configuration)
        return configuration
    }

    @Test func everySpanArrivesWithWhatItSays() async throws {
        let collector = try TraceCollector()
        let tallies = Tallies()
        let settings = try configuration(collector.base + "/otlp/") {
            $0.headers = ["Authorization": "Bearer of-the-tests", "no field": "x"]
            $0.batchLimit = 4
        }
        try await TraceExporter(settings, observe: tallies.add).run { tracer in
            tracer.withSpan("outer", ofKind: .server) { span in
                span.attributes = ["text": "\u{2028}\"é", "number": 42, "flag": true, "fraction": 0.5]
                for index in 0..<9 {
                    try? tracer.withSpan("inner \(index)", ofKind: .client) { _ in
                        if index == 8 { throw TraceCollectorFault() }
                    }
                }
            }
        }
        var requests: [(head: String, body: Data)] = []
        for await request in collector.requests {
            requests.append(request)
            if requests.count == 3 { break }
        }
        #expect(requests.allSatisfy { $0.head.hasPrefix("POST /otlp/v1/traces HTTP/1.1\r\n") })
        #expect(requests.allSatisfy { $0.head.lowercased().contains("\r\nauthorization: bearer of-the-tests") })
        let spans = try requests.flatMap { try TraceCollector.spans(in: $0.body) }
        let outer = try #require(spans.first { $0.name == "outer" })
        #expect(outer.attributes == ["text": "\u{2028}\"é", "number": "42", "flag": "1", "fraction": "0.5"])
        #expect(outer.parent.isEmpty && outer.kind == 2 && !outer.isError)
        let inner = spans.filter { $0.name.hasPrefix("inner") }
        #expect(
            inner.count == 9 && inner.allSatisfy { $0.parent == outer.id && $0.trace == outer.trace && $0.kind == 3 })
        #expect(inner.filter(\.isError).map(\.attributes) == [["error.type": "TraceCollectorFault"]])
        #expect(Set(spans.map(\.id)).count == 10)
        #expect(spans.allSatisfy { outer.start <= $0.start && $0.start <= $0.end && $0.end <= outer.end })
        #expect(tallies.all == TraceExporter.Tally(sent: 10))
    }

    private struct TraceCollectorFault: Error {}

    /// The definitions that OpenTelemetry publishes for Python read every member, and know no other.
    @Test(
        .enabled(
            if: PythonPackages.has("opentelemetry.proto"),
            "opentelemetry-proto is not installed (Scripts/bootstrap test)"))
    func openTelemetrysOwnDefinitionsReadTheDocument() async throws {
        let collector = try TraceCollector()
        try await TraceExporter(configuration(collector.base)) { _ in }.run { tracer in
            tracer.withSpan("outer", ofKind: .server) { span in
                span.attributes = ["text": "é", "number": 42, "flag": true, "fraction": 0.5]
                try? tracer.withSpan("inner", ofKind: .client) { _ in throw TraceCollectorFault() }
            }
        }
        var requests = collector.requests.makeAsyncIterator()
        let request = try #require(await requests.next())
        #expect(request.head.hasPrefix("POST /v1/traces "))
        let folder = try TemporaryDirectory()
        let file = folder.url.appending(path: "traces.json")
        try request.body.write(to: file)
        let script = """
            import base64, json, sys
            from google.protobuf import json_format
            from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
            document = json.load(open(sys.argv[1]))
            # OTLP writes ids as hexadecimal digits, where protobuf's JSON has base64.
            for resource in document["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    for span in scope["spans"]:
                        for name in ("traceId", "spanId", "parentSpanId"):
                            if name in span:
                                span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
            read = json_format.ParseDict(document, ExportTraceServiceRequest())
            spans = [span for resource in read.resource_spans for scope in resource.scope_spans for span in scope.spans]
            assert all(len(span.trace_id) == 16 and len(span.span_id) == 8 for span in spans)
            assert all(span.start_time_unix_nano <= span.end_time_unix_nano and span.kind for span in spans)
            print(len({span.trace_id for span in spans}), len(spans))
            """
        #expect(try PythonPackages.run(script, [file.path]).trimmingCharacters(in: .whitespacesAndNewlines) == "1 2")
    }

    /// However bad the receiver is, nobody waits for it, and each span is accounted for.
    @Test(arguments: ["refused", "silent", "closes", "busy", "trickles"])
    func aReceiverThatTakesNothingDelaysNothing(_ kind: String) async throws {
        let held = ["refused", "silent"].contains(kind) ? try HeldPort(isListening: kind == "silent") : nil
        let collector =
            try held == nil
            ? TraceCollector(
                answer: [
                    "closes": "\r\n", "busy": "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
                    "trickles": "HTTP/1.1 200 OK\r\nContent-Le",
                ][kind] ?? ""
            ) : nil
        let port = try #require(held?.port ?? collector?.port)
        let settings = try configuration("http://127.0.0.1:\(port)") {
            $0.queueLimit = 100
            $0.timeout = .milliseconds(400)
            $0.flushTimeout = .milliseconds(800)
        }
        let tallies = Tallies()
        let start = ContinuousClock.now
        var slowest = Duration.zero
        try await TraceExporter(settings, observe: tallies.add).run { tracer in
            for _ in 0..<1000 {
                let before = ContinuousClock.now
                tracer.withSpan("work") { _ in }
                slowest = max(slowest, ContinuousClock.now - before)
            }
        }
        #expect(Measuring.isOff || slowest < .milliseconds(250))
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(4))
        let all = tallies.all
        #expect(all.sent == 0 && all.failed >= 100 && all.failed + all.dropped == 1000, "\(all)")
        #expect(!all.reason.isEmpty)
        withExtendedLifetime(held) {}
    }

    @Test(arguments: [
        "", "collector", "collector:4318", "ftp://collector", "http://collector.example.com:4318",
        "http://10.0.0.1.example", "HTTPS",
        "https://user@collector.example.com", "https://collector.example.com/?a=1", "https://collector.example.com/#a",
        "https://collector.example.com:0", "https://", "https://collector example.com", "file:///etc/passwd",
        "https://" + String(repeating: "a", count: 2000),
    ])
    func whatIsNoReceiverIsNone(_ text: String) { #expect(TraceReceiver(text) == nil) }

    @Test(arguments: [
        "http://127.0.0.1:4318", "http://localhost:4318/", "http://[::1]:4318", "http://otel-collector:4318",
        "http://collector.monitoring.svc.cluster.local:4318", "http://10.1.2.3:4318",
        "https://collector.example.com", "https://collector.example.com:4318/path/",
    ])
    func aReceiverIsOfTheLocalNetworkOrSpeaksTLS(_ text: String) throws {
        let receiver = try #require(TraceReceiver(text))
        #expect(receiver.base == (text.hasSuffix("/") ? String(text.dropLast()) : text))
    }
}

extension TraceExporter {
    /// Runs `body` with a tracer, and the exporter beside it.
    fileprivate func run(with body: (SpanTracer) async throws -> Void) async throws {
        let exporting = Task { await run() }
        try await body(tracer)
        exporting.cancel()
        await exporting.value
    }
}

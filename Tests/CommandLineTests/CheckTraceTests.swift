// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Spans of the commands that check servers, as a receiver gets them.
@Suite(.timeLimit(.minutes(1))) struct CheckTraceTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let step = "00f067aa0ba902b7"

    /// One check of a port that refuses, within the trace of a pipeline.
    private func check(_ receiver: String) throws -> (target: String, run: ProgramRun) {
        let port = try HeldPort()
        defer { withExtendedLifetime(port) {} }
        let target = "https://127.0.0.1:\(port.port)/"
        let environment = [
            "NO_COLOR": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": receiver, "TRACEPARENT": "00-\(Self.trace)-\(Self.step)-01",
        ]
        return (target, try ProgramRun(["ats", "check", "--no-http", target], environment: environment))
    }

    @Test func aCheckIsAStepOfThePipelinesTrace() async throws {
        let collector = try TraceCollector()
        #expect(try check(collector.base).run.status == 2)
        let spans = try await collector.spans { $0.contains { $0.parent == Self.step } }
        let check = try #require(spans.first { $0.parent == Self.step })
        #expect(check.name == "check" && spans.allSatisfy { $0.trace == Self.trace })
        let hello = try #require(spans.first { $0.name == "hello" })
        #expect(hello.parent == check.id && check.start <= hello.start && hello.end <= check.end)
    }

    /// Each scrape of the exporter is a trace of its own, also if Prometheus asks twice for the same target.
    @Test func eachCheckOfTheExporterIsATrace() async throws {
        let collector = try TraceCollector()
        let port = try HeldPort()
        defer { withExtendedLifetime(port) {} }
        let folder = try TemporaryDirectory()
        let exporter = try await ListeningProgram(
            ["ats", "exporter", "--listen", "127.0.0.1:0", "--allow", "127.0.0.1:\(port.port)", "--quiet"], in: folder,
            environment: ["OTEL_EXPORTER_OTLP_ENDPOINT": collector.base])
        for _ in 0..<2 {
            let url = "\(exporter.address)/probe?target=https://127.0.0.1:\(port.port)/"
            #expect(try await HTTPCall("GET", url, headers: [:], timeout: 60).status == 200)
        }
        #expect(exporter.stop() == 0)
        let spans = try await collector.spans { $0.count { $0.name == "check" } == 2 }
        let checks = spans.filter { $0.name == "check" }
        #expect(Set(checks.map(\.trace)).count == 2 && checks.allSatisfy(\.parent.isEmpty))
        for check in checks {
            let hello = try #require(spans.first { $0.name == "hello" && $0.trace == check.trace })
            #expect(hello.parent == check.id && check.start <= hello.start && hello.end <= check.end)
        }
    }

    /// The definitions that OpenTelemetry publishes for Python read every member, and know no other.
    @Test(
        .enabled(
            if: PythonPackages.has("opentelemetry.proto"),
            "opentelemetry-proto is not installed (Scripts/bootstrap test)"))
    func openTelemetrysOwnDefinitionsReadTheDocument() async throws {
        let collector = try TraceCollector()
        _ = try check(collector.base)
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
            print(spans[0].trace_id.hex(), len(spans))
            """
        let answer = try PythonPackages.run(script, [file.path])
        #expect(answer.hasPrefix(Self.trace), "\(answer)")
    }

    @Test func aReceiverThatIsNotThereChangesNothing() throws {
        let nobody = try HeldPort()
        let run = try check("http://127.0.0.1:\(nobody.port)").run
        #expect(run.status == 2 && run.output.contains("ats.net.refused"))
        #expect(run.errors.contains("were lost"), "\(run.errors)")
        #expect(try check("ftp://nowhere").run.errors.contains("OTEL_EXPORTER_OTLP_ENDPOINT must be an https URL"))
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Tracing

/// Spans as OTLP has them in JSON: `ExportTraceServiceRequest` of opentelemetry-proto 1.x.
///
/// Ids are hexadecimal and numbers of 64 bits are text: <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>.
enum TraceDocument {
    static func encode(_ spans: [FinishedSpan], service: String) -> [UInt8] {
        let document: JSONValue = [
            "resourceSpans": [
                [
                    "resource": ["attributes": attributes(["service.name": .string(service)])],
                    "scopeSpans": [["scope": ["name": "sealward"], "spans": .array(spans.map(value(of:)))]],
                ]
            ]
        ]
        return document.encoded(pretty: false)
    }

    private static func value(of span: FinishedSpan) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("traceId", .string("\(span.trace.traceID)")), .init("spanId", .string(span.trace.spanText)),
            .init("name", .string(span.name)), .init("kind", .integer(number(of: span.kind))),
            .init("startTimeUnixNano", .string("\(span.start)")), .init("endTimeUnixNano", .string("\(span.end)")),
            .init("attributes", attributes(span.attributes)),
        ]
        if let parent = span.parent { members.append(.init("parentSpanId", .string(parent.spanText))) }
        if let state = span.trace.state { members.append(.init("traceState", .string(state))) }
        if let status = span.status {
            members.append(.init("status", ["code": status.code == .error ? 2 : 1]))
        }
        return .object(members)
    }

    private static func number(of kind: SpanKind) -> Int {
        switch kind {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }

    private static func attributes(_ attributes: SpanAttributes) -> JSONValue {
        var members: [(key: String, value: JSONValue)] = []
        attributes.forEach { members.append(($0, value(of: $1))) }
        return .array(members.sorted { $0.key < $1.key }.map { ["key": .string($0.key), "value": $0.value] })
    }

    private static func value(of attribute: SpanAttribute) -> JSONValue {
        switch attribute {
        case .int32(let number): ["intValue": .string("\(number)")]
        case .int64(let number): ["intValue": .string("\(number)")]
        case .double(let number): ["doubleValue": .number(number)]
        case .bool(let flag): ["boolValue": .bool(flag)]
        case .string(let text): ["stringValue": .string(text)]
        case .stringConvertible(let text): ["stringValue": .string("\(text)")]
        default: ["stringValue": .string("\(attribute)")]
        }
    }
}

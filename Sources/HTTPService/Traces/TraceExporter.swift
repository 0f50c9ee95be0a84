// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import HTTPTypes
import Logging
package import ServiceLifecycle
import TLSModel
import Tracing
import Vocabulary

/// Sends spans to a receiver of OTLP over HTTP, a batch at a time, while it runs.
///
/// Whoever makes a span never waits: the queue is bounded, each batch has a deadline and one try, and what is lost is counted.
package struct TraceExporter: Service {
    package struct Configuration: Sendable {
        package var receiver: TraceReceiver
        /// Sent with each batch, for example an authorization.
        package var headers: [String: String] = [:]
        /// Of the traces that begin here, 0 to 1; others are recorded if whoever began them does so.
        package var share = 1.0
        /// The most spans that wait; about a kilobyte each.
        package var queueLimit = 4096
        /// The most spans of one request.
        package var batchLimit = 512
        /// Between two looks at the queue.
        package var interval: Duration = .milliseconds(250)
        package var timeout: Duration = .seconds(3)
        /// For all that waits at the end.
        package var flushTimeout: Duration = .seconds(2)

        package init(receiver: TraceReceiver) { self.receiver = receiver }
    }

    /// What became of spans.
    package struct Tally: Sendable, Equatable {
        /// The receiver took them.
        package var sent = 0
        /// The receiver did not answer in time, or not with 2xx.
        package var failed = 0
        /// They found the queue full.
        package var dropped = 0
        /// Why some failed, in a sentence; empty if none did.
        package var reason = ""
    }

    /// Makes the spans that are sent.
    package let tracer: SpanTracer
    private let configuration: Configuration
    private let fields: HTTPFields
    private let observe: @Sendable (Tally) -> Void

    /// - Parameter observe: is told what became of spans; not called if there were none.
    package init(_ configuration: Configuration, observe: @escaping @Sendable (Tally) -> Void) {
        self.configuration = configuration
        self.observe = observe
        fields = configuration.receiver.fields(configuration.headers)
        tracer = SpanTracer(queue: SpanQueue(limit: configuration.queueLimit), share: configuration.share)
    }

    /// Sends until it is stopped or cancelled, then what is left. A batch that is under way then has its time.
    package func run() async {
        let client = HTTPTransport(timeout: configuration.timeout, connectionsPerHost: 1)
        var isMore = false
        while await pause(isMore ? .zero : configuration.interval) {
            isMore = await Task { await sendBatch(client, within: configuration.timeout) }.value
        }
        let end = ContinuousClock.now + configuration.flushTimeout
        await Task { while await sendBatch(client, within: min(configuration.timeout, end - .now)) {} }.value
        await client.shutDown()
    }

    /// - Returns: whether more may wait.
    private func sendBatch(_ client: HTTPTransport, within limit: Duration) async -> Bool {
        let (spans, dropped) = tracer.queue.take(atMost: configuration.batchLimit)
        guard !spans.isEmpty || dropped > 0 else { return false }
        let reason = limit > .zero ? await post(spans, client, within: limit) : "No time was left to send them."
        observe(
            Tally(
                sent: reason == nil ? spans.count : 0, failed: reason == nil ? 0 : spans.count, dropped: dropped,
                reason: reason ?? ""))
        return spans.count == configuration.batchLimit
    }

    /// - Returns: why the receiver does not have the spans; nil if it does.
    private func post(_ spans: [FinishedSpan], _ client: HTTPTransport, within limit: Duration) async -> String? {
        guard !spans.isEmpty else { return nil }
        do {
            let body = TraceDocument.encode(spans, service: "sealward")
            let answer = try await client.send(
                .post, configuration.receiver.url, fields, body: body, within: limit)
            return (200...299).contains(answer.status) ? nil : "The receiver answered \(answer.status)."
        } catch {
            return "The receiver: \(error)."
        }
    }
}

extension Service {
    /// Waits; false if the service is to stop instead.
    package func pause(_ duration: Duration) async -> Bool {
        if Task.isShuttingDownGracefully { return false }
        do {
            try await cancelWhenGracefulShutdown { try await Task.sleep(for: duration) }
            return true
        } catch {
            return false
        }
    }
}

extension RequestObserver {
    /// Counts what became of spans, and says once a minute that some were lost.
    package func note(_ tally: TraceExporter.Tally, at uptime: Double) {
        if tally.sent > 0 { count(.tracesExported, by: tally.sent) }
        if tally.dropped > 0 { count(.tracesDropped, [("reason", "queue")], by: tally.dropped) }
        if tally.failed > 0 { count(.tracesDropped, [("reason", "receiver")], by: tally.failed) }
        guard tally.dropped + tally.failed > 0, perMinute.note("traces.dropped", at: uptime) != nil else { return }
        log.warning(
            "Spans did not reach the trace receiver; this is logged at most once a minute.",
            metadata: [
                "queueFull": "\(tally.dropped)", "notTaken": "\(tally.failed)",
                "reason": "\(tally.reason.terminalSafe(limit: 256))",
            ]
        )
    }
}

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

/// Who takes spans: the base URL of an OTLP/HTTP receiver, and what is sent along.
package struct TraceReceiver: Sendable {
    /// As it was written, without a slash at its end.
    package let base: String
    let url: String

    /// What a base URL must be.
    package static let rule =
        "must be an https URL, or an http URL on this machine or the local network, without a query"

    /// Takes a base URL; `/v1/traces` is appended to it.
    ///
    /// The spans contain no secret, but the headers may, so cleartext goes to names without a dot, names in `.local`, and addresses, as with
    /// `NSAllowsLocalNetworking`.
    ///
    /// - Returns: nil unless ``rule`` holds.
    package init?(_ text: String) {
        let bytes = text.utf8.reversed().drop { $0 == UInt8(ascii: "/") }.reversed()
        let base = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.count <= 1024, let scheme = ["https", "http"].first(where: { base.hasPrefix("\($0)://") }),
            text.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !"?#@\\^`{|}<>\"".utf8.contains($0) })
        else { return nil }
        let authority = base.dropFirst(scheme.utf8.count + 3).prefix { $0 != "/" }
        guard let place = try? HostPort(authority: authority),
            place.portText.map({ HostPort.port($0) != nil }) ?? true
        else { return nil }
        let isAddress = IPAddress(place.host) != nil
        guard isAddress || !place.isBracketed, isAddress || HostName.ascii(String(place.host)) != nil else {
            return nil
        }
        let host = place.host.lowercased()
        guard scheme == "https" || isAddress || !host.utf8.contains(UInt8(ascii: ".")) || host.hasSuffix(".local")
        else { return nil }
        self.base = base
        url = base + "/v1/traces"
    }

    /// - Parameter headers: names and values; one that no field can have is left out.
    func fields(_ headers: [String: String]) -> HTTPFields {
        var fields: HTTPFields = [.contentType: "application/json"]
        for (name, value) in headers {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return fields
    }
}

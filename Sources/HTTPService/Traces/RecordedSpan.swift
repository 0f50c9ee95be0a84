// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization
package import TLSModel
package import Tracing

/// A span that is over, or will be.
struct FinishedSpan: Sendable {
    let trace: TraceContext
    /// nil at the root of a trace.
    let parent: TraceContext?
    let kind: SpanKind
    var name: String
    /// Nanoseconds since 1970.
    let start: UInt64
    /// The same; 0 before the end.
    var end: UInt64 = 0
    var attributes: SpanAttributes = [:]
    var status: SpanStatus?
}

/// A span under way. Events and links are not recorded: nothing here has any.
package final class RecordedSpan: Span {
    package let context: ServiceContext
    /// nil if the trace is not recorded.
    private let queue: SpanQueue?
    private let state: Mutex<FinishedSpan>

    /// The most attributes of a span: the default of OpenTelemetry's limits.
    private static let attributeLimit = 128

    init(_ span: FinishedSpan, context: ServiceContext, queue: SpanQueue?) {
        state = Mutex(span)
        self.context = context
        self.queue = queue
    }

    package var isRecording: Bool { queue != nil && state.withLock { $0.end == 0 } }

    package var operationName: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    package var attributes: SpanAttributes {
        get { state.withLock { $0.attributes } }
        set { if newValue.count <= RecordedSpan.attributeLimit { state.withLock { $0.attributes = newValue } } }
    }

    package func setStatus(_ status: SpanStatus) { state.withLock { $0.status = status } }
    package func addEvent(_ event: SpanEvent) {}
    package func addLink(_ link: SpanLink) {}

    /// Says which error it was by its type, unless a code says more.
    package func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        state.withLock { span in
            span.attributes.merge(attributes)
            if span.attributes.get("error.type") == nil { span.attributes["error.type"] = "\(type(of: error))" }
        }
    }

    package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        guard let queue else { return }
        let end = instant().nanosecondsSinceEpoch
        let finished = state.withLock { span -> FinishedSpan? in
            guard span.end == 0 else { return nil }
            // A clock that was set back makes no span end before its start.
            span.end = max(end, span.start)
            return span
        }
        if let finished { queue.append(finished) }
    }
}

/// Spans that wait to be sent. When it is full, new ones are counted and forgotten: nobody waits for a receiver of spans.
final class SpanQueue: Sendable {
    private struct State {
        var spans: [FinishedSpan] = []
        var dropped = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    func append(_ span: FinishedSpan) {
        state.withLock { state in
            if state.spans.count < limit { state.spans.append(span) } else { state.dropped += 1 }
        }
    }

    /// Takes the oldest spans, and how many were forgotten since the last time.
    func take(atMost count: Int) -> (spans: [FinishedSpan], dropped: Int) {
        state.withLock { state in
            defer {
                state.spans.removeFirst(min(count, state.spans.count))
                state.dropped = 0
            }
            return (Array(state.spans.prefix(count)), state.dropped)
        }
    }
}

/// Makes spans, and gives those that are recorded to a queue when they end.
///
/// A span inside of a trace is recorded if that trace is; of the traces that begin here a share is.
package struct SpanTracer: Tracer {
    let queue: SpanQueue
    /// Of the traces that begin here, 0 to 1.
    let share: Double

    package func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> RecordedSpan {
        var context = context()
        let parent = context.trace
        let trace = TraceContext(
            traceID: parent?.traceID
                ?? .init(high: .random(in: 1...UInt64.max), low: .random(in: 1...UInt64.max)),
            spanID: .random(in: 1...UInt64.max),
            isSampled: parent?.isSampled ?? (share >= 1 || Double.random(in: 0..<1) < share), state: parent?.state)
        context.trace = trace
        return RecordedSpan(
            FinishedSpan(
                trace: trace, parent: parent, kind: kind, name: operationName, start: instant().nanosecondsSinceEpoch),
            context: context, queue: trace.isSampled ? queue : nil)
    }

    /// Spans go out within a fraction of a second by themselves.
    package func forceFlush() {}

    package func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let parent = extractor.extract(key: "traceparent", from: carrier) else { return }
        context.trace = TraceContext(
            traceparent: parent, tracestate: extractor.extract(key: "tracestate", from: carrier))
    }

    package func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let trace = context.trace else { return }
        injector.inject(trace.traceparent, forKey: "traceparent", into: &carrier)
        if let state = trace.state { injector.inject(state, forKey: "tracestate", into: &carrier) }
    }
}

/// The span of each request, with the names of OpenTelemetry's conventions for HTTP servers.
package struct RequestSpans: Sendable {
    let tracer: SpanTracer
    let trustsEveryone: Bool
    let proxies: [AddressRange]

    /// - Parameters:
    ///   - trustsEveryone: whether every caller's trace is continued, and not only those of the proxies.
    package init(tracer: SpanTracer, trustsEveryone: Bool, proxies: [AddressRange]) {
        (self.tracer, self.trustsEveryone, self.proxies) = (tracer, trustsEveryone, proxies)
    }

    /// Runs the body in the request's span, which continues the caller's trace if the caller is believed and begins one if not.
    package func around(_ request: IncomingRequest, _ body: (RecordedSpan) async -> Answer) async -> Answer {
        var context = ServiceContext.topLevel
        if trustsEveryone || CallerAddress.isTrusted(request.peer, by: proxies) {
            tracer.extract(request.head.headerFields, into: &context, using: FieldReader())
        }
        return await tracer.withSpan(request.head.method.nameInSpans ?? "HTTP", context: context, ofKind: .server) {
            span in
            span.attributes = [
                "http.request.method": .string(request.head.method.nameInSpans ?? "_OTHER"), "url.scheme": "http",
            ]
            return await body(span)
        }
    }
}

extension HTTPRequest.Method {
    /// nil for a method that is not among those that every backend knows.
    fileprivate var nameInSpans: String? {
        let known: [HTTPRequest.Method] = [.get, .head, .post, .put, .delete, .connect, .options, .trace, .patch]
        return known.contains(self) ? rawValue : nil
    }
}

/// Reads a field by its name; several of one name are a list, as HTTP has it, which no `traceparent` is.
private struct FieldReader: Extractor {
    func extract(key: String, from carrier: HTTPFields) -> String? {
        guard let name = HTTPField.Name(key) else { return nil }
        let values = carrier[values: name]
        return values.isEmpty ? nil : values.joined(separator: ",")
    }
}

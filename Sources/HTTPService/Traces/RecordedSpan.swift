// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
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

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Tracing

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

    package func startAnySpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> any Tracing.Span {
        startSpan(
            operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID, line: line
        )
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

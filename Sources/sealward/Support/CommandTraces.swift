// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import Synchronization
import Tracing
import Vocabulary

/// Spans of a command, for the receiver that OpenTelemetry's own variable names.
enum CommandTraces {
    /// What sends spans; nil unless `OTEL_EXPORTER_OTLP_ENDPOINT` names a receiver.
    ///
    /// The variable is often set for other programs, so one that cannot be used is said and no fault.
    static func exporter(observe: @escaping @Sendable (TraceExporter.Tally) -> Void) -> TraceExporter? {
        guard let endpoint = ProcessInfo.processInfo.environment["OTEL_EXPORTER_OTLP_ENDPOINT"], !endpoint.isEmpty
        else { return nil }
        guard let receiver = TraceReceiver(endpoint) else {
            CommandIO.say("sealward: OTEL_EXPORTER_OTLP_ENDPOINT \(TraceReceiver.rule); nothing is traced.")
            return nil
        }
        return TraceExporter(.init(receiver: receiver), observe: observe)
    }

    /// Runs a command's body with a tracer, in the trace that `TRACEPARENT` names, and says at the end how many spans were lost.
    static func run(_ body: ((any Tracer)?) async throws -> Outcome) async throws -> Outcome {
        let losses = Losses()
        guard let exporter = exporter(observe: losses.add) else { return try await body(nil) }
        defer { if let sentence = losses.sentence { CommandIO.say(sentence) } }
        var context = ServiceContext.topLevel
        context.trace = ProcessInfo.processInfo.environment["TRACEPARENT"].flatMap { TraceContext(traceparent: $0) }
        return try await exporter.run { tracer in
            try await ServiceContext.withValue(context) { try await body(tracer) }
        }
    }

    private final class Losses: Sendable {
        private let state = Mutex((count: 0, reason: ""))

        func add(_ tally: TraceExporter.Tally) {
            state.withLock { state in
                state.count += tally.failed + tally.dropped
                if !tally.reason.isEmpty { state.reason = tally.reason.terminalSafe(limit: 256) }
            }
        }

        var sentence: String? {
            state.withLock { $0.count == 0 ? nil : "sealward: \($0.count) spans were lost. \($0.reason)" }
        }
    }
}

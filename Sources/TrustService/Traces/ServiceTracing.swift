// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import HTTPService
import Logging
import Tracing
import TrustStores
import Vocabulary

/// What a service that is traced has more than another: the exporter of spans, and what stands around requests, verbs and calls.
struct ServiceTracing: Sendable {
    let exporter: TraceExporter
    let requests: RequestSpans

    /// nil if the configuration names no receiver: then there is no span anywhere.
    init?(_ configuration: Configuration, observer: RequestObserver, uptime: @escaping @Sendable () -> Double) {
        let settings = configuration.tracing
        guard let receiver = settings.endpoint.flatMap(TraceReceiver.init) else { return nil }
        var wanted = TraceExporter.Configuration(receiver: receiver)
        wanted.headers = settings.headers
        wanted.share = settings.sample
        exporter = TraceExporter(wanted) { observer.note($0, at: uptime()) }
        requests = RequestSpans(
            tracer: exporter.tracer, trustsEveryone: settings.trust == .everyone, proxies: configuration.trustedProxies)
    }

    /// The store with a span around what each verb of a request asks its database; a store without one has no spans.
    func around(_ store: any TrustStore) -> any TrustStore {
        guard var store = store as? SQLTrustStore else { return store }
        store.wrapper = StoreSpans(tracer: exporter.tracer, system: store.engine.systemName)
        return store
    }

    /// The transport with a span around each call.
    func around(_ transport: any AppleTransport) -> any AppleTransport {
        AppleSpans(tracer: exporter.tracer, base: transport)
    }
}

extension Logger {
    /// The same log with the id of the trace in every line that is written for a request.
    var namingTraces: Logger {
        let provider = MetadataProvider {
            ServiceContext.current?.trace.map { ["traceId": "\($0.traceID)"] } ?? [:]
        }
        var log = self
        log.handler.metadataProvider = .multiplex([metadataProvider, provider].compactMap(\.self))
        return log
    }
}

/// A span around each question to the database that a request needs, with the name of the verb. What the service does by itself, as sweeping, is counted and not traced.
private struct StoreSpans: StoreVerbWrapper {
    let tracer: SpanTracer
    let system: String

    func run<Result: Sendable>(
        _ verb: String, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard ServiceContext.current?.trace?.isSampled == true else { return try await body() }
        return try await tracer.withSpan(verb, ofKind: .client) { span in
            span.attributes = ["db.system.name": .string(system), "db.operation.name": .string(verb)]
            do { return try await body() } catch let fault as StoreFault {
                span.attributes["error.type"] = fault.code.description
                throw fault
            }
        }
    }
}

/// A span around each call to Apple. Apple is told nothing of it: no `traceparent` leaves.
private struct AppleSpans: AppleTransport {
    let tracer: SpanTracer
    let base: any AppleTransport

    func send(_ request: AppleRequest) async throws -> AppleAnswer {
        try await tracer.withSpan(request.method, ofKind: .client) { span in
            span.attributes = ["http.request.method": .string(request.method), "url.full": .string(request.url)]
            do {
                let answer = try await base.send(request)
                span.attributes["http.response.status_code"] = answer.status
                if answer.status >= 400 {
                    span.attributes["error.type"] = "\(answer.status)"
                    span.setStatus(SpanStatus(code: .error))
                }
                return answer
            } catch let fault as AppleTransportFault {
                span.attributes["error.type"] = fault.code.description
                throw fault
            }
        }
    }
}

extension RecordedSpan {
    /// Says what became of the request. The path is left out if it can name somebody or anything at all.
    func describe(_ route: Route?, _ answer: Answer, correlationId: String) {
        guard isRecording else { return }
        var attributes = attributes
        if let route {
            operationName += " \(route.template)"
            attributes["http.route"] = route.template
            if route.segments.allSatisfy(\.isLiteral) { attributes["url.path"] = route.template }
        }
        attributes["http.response.status_code"] = answer.status
        attributes["sealward.correlation_id"] = correlationId
        if let code = answer.code { attributes["error.type"] = code.description }
        self.attributes = attributes
        // What the caller did wrong is no error of the server.
        if answer.status >= 500 { setStatus(SpanStatus(code: .error)) }
    }
}

extension Route.Segment {
    fileprivate var isLiteral: Bool { if case .literal = self { true } else { false } }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird
import TLSModel
import TraceExport
import Tracing
import Vocabulary

/// The span of each request, with the names of OpenTelemetry's conventions for HTTP servers.
struct RequestSpans: Sendable {
    let tracer: SpanTracer
    let trustsEveryone: Bool
    let proxies: [AddressRange]

    /// Runs the body in the request's span, which continues the caller's trace if the caller is believed and begins one if not.
    func around(_ request: Request, from peer: String, _ body: (RecordedSpan) async -> Response) async -> Response {
        var context = ServiceContext.topLevel
        if trustsEveryone || CallerAddress.isTrusted(peer, by: proxies) {
            tracer.extract(request.headers, into: &context, using: FieldReader())
        }
        return await tracer.withSpan(request.method.nameInSpans ?? "HTTP", context: context, ofKind: .server) { span in
            span.attributes = [
                "http.request.method": .string(request.method.nameInSpans ?? "_OTHER"), "url.scheme": "http",
            ]
            return await body(span)
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

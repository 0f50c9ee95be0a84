// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import TLSModel
import Tracing

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

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPService
import Tracing
import Vocabulary

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

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Findings
package import Foundation
package import HTTPTypes

/// One request after routing: everything a handler may look at.
package struct Call: Sendable {
    /// Who may use a route.
    package enum Access: Sendable, Equatable {
        /// Everybody, without limits: health, key sets, a gateway's sub-requests.
        case open
        /// Apps: everybody, within the limits.
        case app
        /// Backends with a server or an admin token.
        case server
        /// Operators with an admin token.
        case admin
        /// Whoever may read the metrics.
        case metrics
    }

    /// What the bearer token proved.
    package enum Caller: Sendable, Comparable { case anyone, server, admin }

    /// The name of the operation, as in `docs/openapi.yaml`.
    package let operation: String
    /// The parts of the path that stand for something.
    package let parameters: [String: String]
    package let query: String
    package let headers: HTTPFields
    package let body: [UInt8]
    /// The caller's address: the peer's, or the one that a trusted proxy names.
    package let address: String
    package let correlationId: String
    package let caller: Caller
    package let now: Date

    /// The value of a query parameter, percent-decoded; nil where it is absent.
    package func queryValue(_ name: String) -> String? {
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let first = parts.first, first.removingPercentEncoding == name else { continue }
            let raw = parts.count == 2 ? parts[1].replacing("+", with: " ") : ""
            return raw.removingPercentEncoding
        }
        return nil
    }

    package var bearer: String? { Call.bearer(in: headers) }

    /// The token of an `Authorization: Bearer` header.
    static func bearer(in headers: HTTPFields) -> String? {
        guard let value = headers[.authorization] else { return nil }
        let parts = value.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }
}

/// What a handler answers.
package struct Answer: Sendable {
    package var status: Int
    package var contentType: String?
    package var body: [UInt8]
    package var headers: [(name: HTTPField.Name, value: String)] = []
    /// The code of a refusal, for logs and metrics.
    package var code: Code?

    package static func json(_ value: JSONValue, status: Int = 200) -> Answer {
        Answer(status: status, contentType: "application/json", body: Array(value.rendered(pretty: false).utf8))
    }

    package static func text(_ text: String, contentType: String) -> Answer {
        Answer(status: 200, contentType: contentType, body: Array(text.utf8))
    }

    package static func empty(_ status: Int) -> Answer { Answer(status: status, contentType: nil, body: []) }

    package static func problem(_ problem: Problem, correlationId: String) -> Answer {
        var answer = json(problem.document(correlationId: correlationId), status: problem.status)
        answer.contentType = "application/problem+json"
        answer.code = problem.code
        if let seconds = problem.retryAfterSeconds { answer.headers.append((.retryAfter, String(seconds))) }
        if !problem.allow.isEmpty {
            answer.headers.append((.allow, problem.allow.joined(separator: ", ")))
        }
        if problem.status == 401 { answer.headers.append((.wwwAuthenticate, "Bearer")) }
        return answer
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Formats
package import HTTPTypes
package import Vocabulary

package struct Answer: Sendable {
    package var status: Int
    package var contentType: String?
    package var body: [UInt8]
    package var headers: [(name: HTTPField.Name, value: String)] = []
    /// The code of a refusal, for logs and metrics.
    package var code: Code?
    /// What the log has of a refusal beside its code and evidence, by names of metadata.
    package var details: [String: String] = [:]
    /// Whom or what a call of a server or an operator was about, for the audit.
    package var target: AuditTarget?
    /// Whether the audit has an entry for the call; not where it showed nothing.
    package var isAudited = true

    package init(
        status: Int, contentType: String?, body: [UInt8], headers: [(name: HTTPField.Name, value: String)] = []
    ) {
        (self.status, self.contentType, self.body, self.headers) = (status, contentType, body, headers)
    }

    package static func json(_ value: JSONValue, status: Int = 200) -> Answer {
        Answer(status: status, contentType: "application/json", body: Array(value.rendered(pretty: false).utf8))
    }

    package static func text(_ text: String, contentType: String) -> Answer {
        Answer(status: 200, contentType: contentType, body: Array(text.utf8))
    }

    package static func empty(_ status: Int) -> Answer { Answer(status: status, contentType: nil, body: []) }

    /// What a 401 asks for (RFC 6750, section 3): a scheme without a parameter ends some clients.
    private static let challenge = "Bearer realm=\"sealward\""

    package static func problem(_ problem: Problem, correlationId: String) -> Answer {
        var answer = json(problem.document(correlationId: correlationId), status: problem.status)
        answer.contentType = "application/problem+json"
        return answer.refusing(problem)
    }

    /// The answer with what a refusal says in every form: its code for the log, and its headers.
    package func refusing(_ problem: Problem) -> Answer {
        var answer = self
        answer.code = problem.code
        answer.details = problem.details
        if let seconds = problem.retryAfterSeconds { answer.headers.append((.retryAfter, String(seconds))) }
        if !problem.allow.isEmpty {
            answer.headers.append((.allow, problem.allow.joined(separator: ", ")))
        }
        if status == 401 { answer.headers.append((.wwwAuthenticate, Answer.challenge)) }
        return answer
    }
}

package struct AuditTarget: Sendable, Equatable {
    /// The configured id of the app; nil if the call concerns all.
    package let app: String?
    /// A key id, a user, a promotion: what is meant within the app.
    package let subject: String?
    /// The name of the user who is meant, of which an audit keeps a hash.
    package let user: String?

    package init(app: String?, subject: String?, user: String? = nil) {
        (self.app, self.subject, self.user) = (app, subject, user)
    }
}

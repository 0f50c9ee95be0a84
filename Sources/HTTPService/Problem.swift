// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Formats
package import FoundationEssentials
package import Vocabulary

/// A refusal or a fault as the caller sees it: a code, a short title, and what to do next (RFC 9457).
///
/// The evidence stays in the log; nothing here depends on bytes that were sent.
package struct Problem: Error, Sendable, Equatable {
    /// What a caller may try next.
    package enum Retry: String, Sendable, CaseIterable {
        case never
        case newChallenge = "new-challenge"
        case newKey = "new-key"
        case after

        /// Who usually does what about it.
        package var usual: (actor: CodeExplanation.Actor, action: String) {
            switch self {
            case .newChallenge: (.app, "ask for a new challenge and send a new proof, a few times at most")
            case .newKey: (.app, "make a new key, once, and attest it")
            case .after: (.app, "wait as long as Retry-After says, then send the same again")
            case .never: (.developer, "do not send it again unchanged")
            }
        }
    }

    /// Status, title and advice of a code.
    package struct Entry: Sendable {
        package let status: Int
        package let title: String
        package let retry: Retry?
        /// Who has to do something; nil if `retry` says it already.
        private let actor: CodeExplanation.Actor?
        private let action: String

        package init(
            _ status: Int, _ title: String, _ retry: Retry?, _ actor: CodeExplanation.Actor? = nil,
            _ action: String = ""
        ) {
            (self.status, self.title, self.retry, self.actor, self.action) = (status, title, retry, actor, action)
        }

        /// The same for `docs/errors.md` and `sealward explain`.
        package func explanation(of code: Code) -> CodeExplanation {
            let meaning = title.hasSuffix(".") ? String(title.dropLast()) : title
            if let actor { return CodeExplanation(code, meaning, actor, action) }
            let usual = (retry ?? .never).usual
            return CodeExplanation(code, meaning, usual.actor, usual.action)
        }
    }

    package let code: Code
    package let status: Int
    package let title: String
    package var retry: Retry?
    package var retryAfterSeconds: Int?
    /// The methods that a path knows, for 405.
    package var allow: [String] = []
    /// A member that could not be read, the form that it has, and the one that is wanted. No bytes of the member are in it.
    package typealias Form = (member: String, form: String, wanted: String)

    package var form: Form?
    /// What was expected and found, and which usual mistake it is, for callers that may know; empty for all others.
    package var difference: [JSONValue.Member] = []
    /// The same for the log, by names of metadata.
    package var details: [String: String] = [:]
    /// What happened, for the log and the event store alone: at most ``evidenceLimit`` bytes without control characters, whatever a caller sent.
    package private(set) var evidence: String

    /// The most bytes of evidence: a line of the log stays below a kilobyte.
    package static let evidenceLimit = 512
    /// What a caller is told to wait, seconds, if the fault itself does not say.
    package static let usualWait = 5

    package init(_ code: Code, as entry: Entry, retryAfterSeconds: Int? = nil, evidence: String = "") {
        self.code = code
        self.status = entry.status
        self.title = entry.title
        self.retry = retryAfterSeconds == nil ? entry.retry : .after
        // Whoever is told to come later is also told when.
        self.retryAfterSeconds = retryAfterSeconds ?? (entry.retry == .after ? Problem.usualWait : nil)
        self.evidence = Problem.bounded(evidence)
    }

    /// The same with other evidence.
    package func saying(_ evidence: String) -> Problem {
        var problem = self
        problem.evidence = Problem.bounded(evidence)
        return problem
    }

    /// Escapes make a text longer: cut before and after.
    private static func bounded(_ evidence: String) -> String {
        evidence.terminalSafe(limit: evidenceLimit - 6).terminalSafe(limit: evidenceLimit - 3)
    }

    /// The whole seconds until an instant, at least one: for `Retry-After`.
    package static func seconds(until instant: Date, from now: Date) -> Int {
        Int(min(max(1, instant.timeIntervalSince(now).rounded(.up)), 1e9))
    }

    /// Whether it is about the caller's token, and neither a fault of ours nor a mistake in what a gateway asks.
    package var refusesCaller: Bool { (400..<500).contains(status) && code != .requestMalformed }

    package static func == (left: Problem, right: Problem) -> Bool { left.code == right.code }

    /// The document that is sent.
    package func document(correlationId: String) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("type", .string("urn:sealward:problem:\(code.description)")),
            .init("title", .string(title)),
            .init("status", .integer(status)),
            .init("code", .string(code.description)),
            .init("correlationId", .string(correlationId)),
        ]
        if let retry { members.append(.init("retry", .string(retry.rawValue))) }
        if let retryAfterSeconds { members.append(.init("retryAfterSeconds", .integer(retryAfterSeconds))) }
        if let form { members += Problem.members(of: form) }
        members += difference
        return .object(members)
    }

    package static func members(of form: Form) -> [JSONValue.Member] {
        [
            .init("member", .string(form.member)), .init("form", .string(form.form)),
            .init("wanted", .string(form.wanted)),
        ]
    }
}

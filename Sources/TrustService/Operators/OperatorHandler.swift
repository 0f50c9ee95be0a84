// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import HTTPService
package import TrustStores
import Vocabulary

/// One page of what servers and operators did.
package enum AuditPage {
    /// The most entries of an answer.
    package static let largest = 1000
    /// The operation that reads one.
    static let operation = "readAudit"

    /// Whether entries are readings of the audit alone. Readers that follow it would otherwise read their own reading for ever.
    static func areReadings(_ entries: [NumberedAuditEntry]) -> Bool {
        entries.allSatisfy { $0.entry.operation == operation && $0.entry.outcome == "ok" }
    }
}

/// Keys, the audit and secrets as operators see and change them.
struct OperatorHandler: Handler {
    let operators: OperatorService

    var routes: [Route] {
        [
            Route("listKeys", "GET", "/v1/keys", .read, listKeys),
            Route("showKey", "GET", "/v1/keys/{keyId}", .read, showKey),
            Route("revokeKey", "POST", "/v1/keys/{keyId}/revoke", .revoke) { try await act(.revoke, $0) },
            Route("restoreKey", "POST", "/v1/keys/{keyId}/restore", .revoke) { try await act(.restore, $0) },
            Route("deleteKey", "DELETE", "/v1/keys/{keyId}", .admin) { try await act(.delete, $0) },
            Route("deleteUser", "DELETE", "/v1/users/{user}", .admin, deleteUser),
            Route("revokeKeys", "POST", "/v1/apps/{app}/revocations", .revoke, revokeKeys),
            Route(AuditPage.operation, "GET", "/v1/audit", .audit, readAudit),
            Route("rotateChallengeKey", "POST", "/v1/challenge-keys/rotate", .admin) { call in
                .json(try await operators.rotate(OperatorService.challenges, for: call.caller, at: call.now))
                    .about(.app(nil))
            },
            Route(AuditTarget.secretOperation, "POST", "/v1/secrets/{name}/rotate", .admin) { call in
                let name = call.parameters["name"] ?? ""
                return .json(try await operators.rotate(name, for: call.caller, at: call.now)).about(.secret(name))
            },
        ]
    }

    @Sendable private func showKey(_ call: Call) async throws -> Answer {
        let key = try await operators.key(call.keyId, for: call.caller, as: .read)
        let events = try await operators.store.history(of: key.id, limit: 200).map { event -> JSONValue in
            ["at": .string(RFC3339.text(event.at)), "kind": .string(event.kind), "code": .optional(event.code)]
        }
        return .json(try await operators.document(key).adding([.init("history", .array(events))]))
            .about(.key(key.id, app: key.app))
    }

    /// `GET /v1/keys?app=&user=&environment=&after=&limit=`.
    @Sendable private func listKeys(_ call: Call) async throws -> Answer {
        let query = try StrictQuery(call.query, known: ["app", "user", "environment", "after", "limit"])
        let filter = KeyFilter(app: query["app"], user: query["user"], environment: query["environment"])
        let limit = try query.number("limit", 1...KeyPage.largest, default: 100)
        return .json(try await operators.list(filter, after: query["after"], limit: limit, for: call.caller))
            .about(.keys(filter))
    }

    private func act(_ deed: KeyDeed, _ call: Call) async throws -> Answer {
        func code() throws -> String? {
            call.body.isEmpty ? nil : try RequestBody(call.body).optionalString("code", limit: 64)
        }
        let target = try await operators.act(deed, on: call.keyId, code: code, for: call.caller, at: call.now)
        guard let id = call.keyId, deed != .delete else { return Answer.empty(204).about(target) }
        return .json(["keyId": .string(id.base64), "revoked": .bool(deed == .revoke)]).about(target)
    }

    /// `DELETE /v1/users/{user}[?app=]`: all keys of a user.
    @Sendable private func deleteUser(_ call: Call) async throws -> Answer {
        let (user, app) = (call.parameters["user"] ?? "", try StrictQuery(call.query, known: ["app"])["app"])
        return .json(try await operators.deleteKeys(ofUser: user, app: app, for: call.caller))
            .about(.user(user, app: app))
    }

    /// `POST /v1/apps/{app}/revocations`: all keys of an app that match one rule.
    @Sendable private func revokeKeys(_ call: Call) async throws -> Answer {
        let app = try await operators.revocable(call.parameters["app"])
        let body = try RequestBody(call.body)
        var rules: [RevocationRule] = []
        if let user = try body.user() { rules.append(.user(user)) }
        if let text = try body.optionalString("environment", limit: 16) {
            rules.append(.environment(try AttestationEnvironment(reading: text).rawValue))
        }
        if let simulated = try body.optionalFlag("simulated") {
            guard simulated else { throw Problem(.requestMalformed, evidence: "simulated can only be true") }
            rules.append(.simulated)
        }
        if let text = try body.optionalString("attestedBefore", limit: 40) {
            guard let instant = RFC3339.instantOrDay(text) else {
                throw Problem(.requestMalformed, evidence: "attestedBefore must be an RFC 3339 instant or a date")
            }
            rules.append(.attestedBefore(instant))
        }
        guard let rule = rules.first, rules.count == 1 else {
            throw Problem(.requestMalformed, evidence: "exactly one of user, environment, simulated, attestedBefore")
        }
        let code = try body.optionalString("code", limit: 64)
        let bound = try OperatorHandler.revocationBound(body)
        return .json(try await operators.revokeKeys(of: app, matching: rule, bound: bound, code: code, at: call.now))
            .about(.revocation(rule, app: app, isDryRun: bound == .dryRun))
    }

    /// How many keys may be revoked together: as many as the caller expects, and few if it does not say.
    private static func revocationBound(_ body: RequestBody) throws(Problem) -> RevocationBound {
        var bound = RevocationBound.usual
        if let value = body.value("expect") {
            guard case .integer(let number) = value, number >= 0 else {
                throw Problem(.requestMalformed, evidence: "expect must be a whole number, 0 or more")
            }
            bound = .exactly(number)
        }
        return try body.optionalFlag("dryRun") == true ? .dryRun : bound
    }

    /// `GET /v1/audit?after=&limit=`: what servers and operators did, one JSON object per line, oldest first.
    @Sendable private func readAudit(_ call: Call) async throws -> Answer {
        let query = try StrictQuery(call.query, known: ["after", "limit"])
        let limit = try query.number("limit", 1...AuditPage.largest, default: 100)
        let after = try query["after"].map { text throws(Problem) in
            guard let number = text.decimalNumber(digits: 19) else {
                throw Problem(.requestMalformed, evidence: "after is not the number of an entry")
            }
            return Int64(number)
        }
        let entries = try await operators.entries(behind: after, limit: limit, for: call.caller)
        let text = entries.map { $0.line + "\n" }.joined()
        var answer = Answer.text(text, contentType: "application/jsonl").about(.app(nil))
        answer.isAudited = !AuditPage.areReadings(entries)
        return answer
    }
}

extension Call {
    /// The key that the path names.
    var keyId: KeyIdentifier? { parameters["keyId"].flatMap { KeyIdentifier(base64URL: $0) } }
}

extension RevocationBound {
    /// Without a number that the caller expects, few keys are revoked together.
    package static let usual = RevocationBound.atMost(100)
}

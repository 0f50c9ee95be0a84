// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

/// Keys as operators see and revoke them.
struct KeyHandler: Handler {
    let operators: OperatorService
    let apps: AppDirectory

    private var store: any TrustStore { operators.store }
    private var users: UserNames { operators.users }
    private var observer: RequestObserver { operators.observer }

    var routes: [Route] {
        [
            Route("listKeys", "GET", "/v1/keys", .read, listKeys),
            Route("showKey", "GET", "/v1/keys/{keyId}", .read, showKey),
            Route("revokeKey", "POST", "/v1/keys/{keyId}/revoke", .revoke, revokeKey),
            Route("restoreKey", "POST", "/v1/keys/{keyId}/restore", .revoke, restoreKey),
            Route("deleteKey", "DELETE", "/v1/keys/{keyId}", .admin, deleteKey),
            Route("deleteUser", "DELETE", "/v1/users/{user}", .admin, deleteUser),
            Route("revokeKeys", "POST", "/v1/apps/{app}/revocations", .revoke, revokeKeys),
        ]
    }

    /// `GET /v1/keys/{keyId}`.
    @Sendable private func showKey(_ call: Call) async throws -> Answer {
        let key = try await key(call, as: .read)
        let history = try await store.history(of: key.id, limit: 200)
        let events = history.map { event -> JSONValue in
            ["at": .string(Timestamps.text(event.at)), "kind": .string(event.kind), "code": .optional(event.code)]
        }
        return .json(try await document(key).adding([.init("history", .array(events))]))
            .about(.key(key.id, app: key.app))
    }

    /// `GET /v1/keys?app=&user=&environment=&after=&limit=`.
    @Sendable private func listKeys(_ call: Call) async throws -> Answer {
        let query = try StrictQuery(call.query, known: ["app", "user", "environment", "after", "limit"])
        let filter = KeyFilter(app: query["app"], user: query["user"], environment: query["environment"])
        let cursor = query["after"].flatMap(KeyCursor.init)
        guard cursor != nil || query["after"] == nil else {
            throw Problem(.requestMalformed, evidence: "after is not a cursor")
        }
        let limit = try query.number("limit", 1...KeyPage.largest, default: 100)
        let page = try await operators.keys(matching: filter, after: cursor, limit: limit, for: call.caller)
        var keys: [JSONValue] = []
        for key in page.keys { keys.append(try await document(key)) }
        return .json(["keys": .array(keys), "next": .optional(page.next?.text)])
            .about(filter.user.map { .user($0, app: filter.app) } ?? .app(filter.app))
    }

    /// `POST /v1/keys/{keyId}/revoke`: asking again changes nothing.
    @Sendable private func revokeKey(_ call: Call) async throws -> Answer {
        let key = try await key(call, as: .revoke)
        let code = call.body.isEmpty ? nil : try RequestBody(call.body).optionalString("code", limit: 64)
        try await operators.revoke(key, code: code, at: call.now)
        return .json(["keyId": .string(key.id.base64), "revoked": true]).about(.key(key.id, app: key.app))
    }

    /// `POST /v1/keys/{keyId}/restore`: within a day of the revocation; asking again changes nothing.
    @Sendable private func restoreKey(_ call: Call) async throws -> Answer {
        let key = try await key(call, as: .revoke)
        try await operators.restore(key, at: call.now)
        return .json(["keyId": .string(key.id.base64), "revoked": false]).about(.key(key.id, app: key.app))
    }

    /// `DELETE /v1/keys/{keyId}`: the key with its receipts, and all that leads to it in its history.
    @Sendable private func deleteKey(_ call: Call) async throws -> Answer {
        let key = try await key(call, as: .admin)
        try await operators.delete(key)
        return Answer.empty(204).about(.key(key.id, app: key.app))
    }

    /// `DELETE /v1/users/{user}[?app=]`: all keys of a user.
    @Sendable private func deleteUser(_ call: Call) async throws -> Answer {
        let app = try StrictQuery(call.query, known: ["app"])["app"]
        guard let user = call.parameters["user"], RequestBody.isUser(user),
            app.map({ StoreText.isStorable($0, limit: StoreText.nameLimit) }) ?? true
        else { throw Problem(.requestMalformed, evidence: "a name is too long or contains a zero byte") }
        guard call.caller.permits(.admin, app: app) else {
            throw Problem(.callerUnauthorized, evidence: "the credential is for other apps")
        }
        let count = try await store.deleteKeys(ofUser: users.stored(user), app: app)
        observer.count(.keysDeleted, by: count)
        return .json(["deleted": .integer(count)]).about(.user(user, app: app))
    }

    /// `POST /v1/apps/{app}/revocations`: all keys of an app that match one rule.
    @Sendable private func revokeKeys(_ call: Call) async throws -> Answer {
        let app = try await revocable(call)
        let body = try RequestBody(call.body)
        var rules: [RevocationRule] = []
        let user = try body.user()
        if let user { rules.append(.user(users.stored(user))) }
        if let text = try body.optionalString("environment", limit: 16) {
            guard let environment = AttestationEnvironment(rawValue: text) else {
                throw Problem(.requestMalformed, evidence: "environment must be production or development")
            }
            rules.append(.environment(environment.rawValue))
        }
        if let simulated = try body.optionalFlag("simulated") {
            guard simulated else { throw Problem(.requestMalformed, evidence: "simulated can only be true") }
            rules.append(.simulated)
        }
        if let text = try body.optionalString("attestedBefore", limit: 40) {
            guard let instant = Timestamps.date(text) else {
                throw Problem(.requestMalformed, evidence: "attestedBefore must be an RFC 3339 instant or a date")
            }
            rules.append(.attestedBefore(instant))
        }
        guard let rule = rules.first, rules.count == 1 else {
            throw Problem(.requestMalformed, evidence: "exactly one of user, environment, simulated, attestedBefore")
        }
        let code = try OperatorService.code(body.optionalString("code", limit: 64))
        let bound = try KeyHandler.revocationBound(body)
        let target = AuditTarget.revocation(rule, user: user, app: app, isDryRun: bound == .dryRun)
        switch try await store.revokeKeys(of: app, matching: rule, bound: bound, code: code, at: call.now) {
        case .revoked(let count):
            observer.count(.keysRevoked, by: count)
            return .json(["revoked": .integer(count)]).about(target)
        case .unchanged(let count) where bound == .dryRun:
            return .json(["wouldRevoke": .integer(count)]).about(target)
        case .unchanged(let count):
            throw Problem(
                .revocationCount, evidence: "at least \(count) keys would be revoked, the call admits \(bound)")
        }
    }

    /// How many keys may be revoked together: as many as the caller expects, and few if it does not say.
    private static func revocationBound(_ body: RequestBody) throws(Problem) -> RevocationBound {
        var bound = RevocationBound.atMost(100)
        if let value = body.value("expect") {
            guard case .integer(let number) = value, number >= 0 else {
                throw Problem(.requestMalformed, evidence: "expect must be a whole number, 0 or more")
            }
            bound = .exactly(number)
        }
        return try body.optionalFlag("dryRun") == true ? .dryRun : bound
    }

    /// The app of a path: a configured one, or one that was and has keys still.
    private func revocable(_ call: Call) async throws -> String {
        guard let id = call.parameters["app"], StoreText.isStorable(id, limit: StoreText.nameLimit) else {
            throw Problem(.appUnknown)
        }
        if apps[id] != nil { return id }
        guard try await !store.keys(matching: KeyFilter(app: id), after: nil, limit: 1).keys.isEmpty else {
            throw Problem(.appUnknown)
        }
        return id
    }

    /// The stored key that a path names.
    private func key(_ call: Call, as role: Authority.Role) async throws -> StoredKey {
        try await operators.key(
            call.parameters["keyId"].flatMap { KeyIdentifier(base64URL: $0) }, for: call.caller, as: role)
    }

    /// What operators see of a key.
    private func document(_ key: StoredKey) async throws -> JSONValue {
        [
            "keyId": .string(key.id.base64), "app": .string(key.app), "user": .optional(key.user),
            "environment": .string(key.environment), "counter": .integer(Int(key.counter)),
            "revoked": .bool(key.revokedAt != nil), "revokedAt": .optional(key.revokedAt.map(Timestamps.text)),
            "simulated": .bool(key.simulated),
            "trusted": .bool(try await operators.trusted.trust(in: key) == .trusted),
            "attestedAt": .string(Timestamps.text(key.attestedAt)),
            "lastUsedAt": .optional(key.lastUsedAt.map(Timestamps.text)), "riskMetric": .optional(key.riskMetric),
            "osVersion": .optional(key.osVersion), "validationCategory": .optional(key.validationCategory),
            "bundleVersion": .optional(key.bundleVersion),
        ]
    }
}

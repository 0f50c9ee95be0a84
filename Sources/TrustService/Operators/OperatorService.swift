// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

package enum KeyDeed: String, Sendable, CaseIterable {
    case revoke, restore, delete

    var operation: String { rawValue + "Key" }

    var role: Authority.Role { self == .delete ? .admin : .revoke }
}

/// What operators do with keys, the audit and secrets: over HTTP, at the console, and on a store that no service has open.
///
/// For which apps a credential is good is decided here. Users are named as requests name them.
struct OperatorService: Sendable {
    let store: any TrustStore
    /// nil for a store without a configuration: then nothing is said about trust.
    let trusted: TrustedKeys?
    let receiptPlan: ReceiptPlan
    let users: UserNames
    let sources: SystemSources
    let observer: RequestObserver
    let challengeLife: Duration
    /// Makes this node take the secrets that the store has now.
    let reread: @Sendable () async throws -> Void

    /// For so long after its revocation a key can be restored, in seconds.
    static let restorable: TimeInterval = 86_400

    // MARK: - Looking

    /// A stored key, trusted or not.
    ///
    /// - Throws: ``Problem`` `key.unknown`, also to a credential for other apps, which must not learn which keys there are.
    func key(_ id: KeyIdentifier?, for caller: Authority, as role: Authority.Role) async throws -> StoredKey {
        guard let id else { throw Problem(.keyUnknown, evidence: "the path names no key id") }
        guard let key = try await store.key(id), caller.permits(role, app: key.app) else { throw Problem(.keyUnknown) }
        return key
    }

    /// Whether the configuration trusts a key; nil without a configuration.
    func isTrusted(_ key: StoredKey) async throws -> Bool? {
        guard let trusted else { return nil }
        return try await trusted.trust(in: key) == .trusted
    }

    /// One page of the keys that match.
    func keys(
        matching filter: KeyFilter, after cursor: KeyCursor?, limit: Int, for caller: Authority
    ) async throws -> KeyPage {
        try caller.require(.read, app: filter.app)
        if let environment = filter.environment { _ = try AttestationEnvironment(reading: environment) }
        try OperatorService.check(user: filter.user, app: filter.app)
        var filter = filter
        filter.user = filter.user.map(users.stored)
        return try await store.keys(matching: filter, after: cursor, limit: limit)
    }

    /// The same as a document.
    ///
    /// - Parameter place: what the page before gave as `next`.
    func list(
        _ filter: KeyFilter, after place: String?, limit: Int, for caller: Authority
    ) async throws -> JSONValue {
        let page = try await keys(
            matching: filter, after: OperatorService.cursor(place), limit: limit, for: caller)
        var keys: [JSONValue] = []
        for key in page.keys { keys.append(try await document(key)) }
        return ["keys": .array(keys), "next": .optional(page.next?.text)]
    }

    static func cursor(_ text: String?) throws(Problem) -> KeyCursor? {
        guard let text else { return nil }
        guard let cursor = KeyCursor(text) else { throw Problem(.requestMalformed, evidence: "after is not a cursor") }
        return cursor
    }

    /// What operators see of a key.
    func document(_ key: StoredKey) async throws -> JSONValue {
        let trust: [JSONValue.Member] = try await isTrusted(key).map { [.init("trusted", .bool($0))] } ?? []
        return .object(
            [
                .init("keyId", .string(key.id.base64)), .init("app", .string(key.app)),
                .init("user", .optional(key.user)), .init("environment", .string(key.environment)),
                .init("counter", .integer(Int(key.counter))), .init("revoked", .bool(key.revokedAt != nil)),
                .init("revokedAt", .optional(key.revokedAt.map(RFC3339.text))),
                .init("simulated", .bool(key.simulated)),
            ] + trust + [
                .init("attestedAt", .string(RFC3339.text(key.attestedAt))),
                .init("lastUsedAt", .optional(key.lastUsedAt.map(RFC3339.text))),
                .init("riskMetric", .optional(key.riskMetric)), .init("osVersion", .optional(key.osVersion)),
                .init("validationCategory", .optional(key.validationCategory)),
                .init("bundleVersion", .optional(key.bundleVersion)),
            ])
    }

    private static func check(user: String?, app: String?) throws(Problem) {
        guard user.map(RequestBody.isUser) ?? true,
            app.map({ StoreText.isStorable($0, limit: StoreText.nameLimit) }) ?? true
        else { throw Problem(.requestMalformed, evidence: "a name is too long or contains a zero byte") }
    }

    // MARK: - Keys

    /// Revokes a key, restores it within a day of its revocation, or deletes it. What is so already stays as it is.
    ///
    /// - Parameter code: of a revocation; nil for `operator`.
    func act(
        _ deed: KeyDeed, on id: KeyIdentifier?, code: () throws -> String?, for caller: Authority, at now: Date
    ) async throws -> AuditTarget {
        let key = try await key(id, for: caller, as: deed.role)
        switch deed {
        case .revoke:
            guard try await store.revoke(key.id, code: try OperatorService.code(code()), at: now) != .unknown else {
                throw Problem(.keyUnknown)
            }
            observer.count(.keysRevoked)
        case .restore:
            let outcome = try await store.restore(
                key.id, revokedSince: now.addingTimeInterval(-OperatorService.restorable),
                refreshAt: receiptPlan.next(after: nil, key: key.id.bytes, at: now), at: now)
            switch outcome {
            case .restored, .notRevoked: break
            case .tooLate(let instant):
                throw Problem(.keyRevoked, evidence: "revoked at \(RFC3339.text(instant)), more than a day ago")
            case .unknown: throw Problem(.keyUnknown)
            }
        case .delete:
            guard try await store.deleteKey(key.id) else { throw Problem(.keyUnknown) }
            observer.count(.keysDeleted)
        }
        return .key(key.id, app: key.app)
    }

    func deleteKeys(ofUser user: String, app: String?, for caller: Authority) async throws -> JSONValue {
        try OperatorService.check(user: user, app: app)
        try caller.require(.admin, app: app)
        let count = try await store.deleteKeys(ofUser: users.stored(user), app: app)
        observer.count(.keysDeleted, by: count)
        return ["deleted": .integer(count)]
    }

    /// Revokes all keys of an app that match one rule, and says how many.
    func revokeKeys(
        of app: String, matching rule: RevocationRule, bound: RevocationBound, code: String?, at now: Date
    ) async throws -> JSONValue {
        let code = try OperatorService.code(code)
        var rule = rule
        if case .user(let user) = rule {
            try OperatorService.check(user: user, app: nil)
            rule = .user(users.stored(user))
        }
        switch try await store.revokeKeys(of: app, matching: rule, bound: bound, code: code, at: now) {
        case .revoked(let count):
            observer.count(.keysRevoked, by: count)
            return ["revoked": .integer(count)]
        case .unchanged(let count) where bound == .dryRun: return ["wouldRevoke": .integer(count)]
        case .unchanged(let count):
            throw Problem(
                .revocationCount, evidence: "at least \(count) keys would be revoked, the call admits \(bound)")
        }
    }

    /// The id of an app whose keys can be revoked: a configured one, or one that was and has keys still.
    ///
    /// - Throws: ``Problem`` `app.unknown`.
    func revocable(_ app: String?) async throws -> String {
        guard let app, StoreText.isStorable(app, limit: StoreText.nameLimit) else { throw Problem(.appUnknown) }
        if trusted?.apps[app] != nil { return app }
        guard try await !store.keys(matching: KeyFilter(app: app), after: nil, limit: 1).keys.isEmpty else {
            throw Problem(.appUnknown)
        }
        return app
    }

    private static func code(_ text: String?) throws(Problem) -> String {
        guard let text else { return "operator" }
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw Problem(.requestMalformed, evidence: "code must be printable ASCII without spaces")
        }
        return text
    }

    // MARK: - The audit

    /// For so many seconds the entries of an app are looked for among those of others.
    private static let patience = 5.0

    /// The entries that a credential may see, oldest first; none only if there is none.
    ///
    /// A credential for some apps sees what was done to these. What was done to others is passed over until there are enough entries, because
    /// who reads on takes an answer without entries for the end of the audit.
    func entries(behind number: Int64?, limit: Int, for caller: Authority) async throws -> [NumberedAuditEntry] {
        if caller.permits(.audit, app: nil) { return try await store.audit(after: number, limit: limit) }
        let open = (trusted?.apps.all ?? [:]).keys.filter { caller.permits(.audit, app: $0) }
        let start = sources.uptime()
        var (found, last) = ([NumberedAuditEntry](), number)
        while true {
            let entries = try await store.audit(after: last, limit: AuditPage.largest)
            found += entries.filter { numbered in open.contains { AuditTarget.text(numbered.entry.target, isOf: $0) } }
            guard found.count < limit, let newest = entries.last, entries.count == AuditPage.largest else {
                return Array(found.prefix(limit))
            }
            last = newest.number
            guard sources.uptime() - start > OperatorService.patience else { continue }
            if !found.isEmpty { return found }
            throw Problem(.storeUnavailable, evidence: "looking for the app's entries took too long")
        }
    }

    // MARK: - Secrets

    /// What ``StoredSecret`` does not have, because it has generations.
    static let challenges = "challenges"

    /// Replaces a secret. Only the key of challenges has a successor and goes on being accepted; what was made with another one ends at once on
    /// this node, and within ten seconds on all.
    func rotate(_ name: String, for caller: Authority, at now: Date) async throws -> JSONValue {
        guard caller.permits(.admin, app: nil) else {
            throw Problem(.callerUnauthorized, evidence: "the credential is for some apps, and all apps share the key")
        }
        if name.hasSameBytes(as: OperatorService.challenges) { return try await rotateChallengeKey(at: now) }
        guard let secret = StoredSecret.allCases.first(where: { $0.rawValue.hasSameBytes(as: name) }),
            try await secret.replace(in: store, random: sources.random)
        else { throw Problem(.pathUnknown, evidence: "the store has no secret of this name") }
        observer.count(.secretsRotated)
        // The other nodes look every ten seconds, and so does this one if it fails now.
        try? await reread()
        return ["name": .string(secret.rawValue), "oldAcceptedUntil": .string(RFC3339.text(now))]
    }

    /// The new key signs soon, the old one is accepted until its last challenge has expired.
    private func rotateChallengeKey(at now: Date) async throws -> JSONValue {
        let signsFrom = now.addingTimeInterval(ChallengeBook.rotationNotice)
        // A minute more than the longest challenge lives: nodes' clocks differ.
        let margin = (challengeLife + StoreClock.largestOffset) / .seconds(1)
        let rotation = ChallengeKeyRotation(
            secret: sources.random(ChallengeCodec.secretLength), signsFrom: signsFrom,
            acceptsOldUntil: signsFrom.addingTimeInterval(margin))
        switch try await store.rotateChallengeKey(rotation, at: now) {
        case .tooSoon(let until):
            throw Problem(
                .challengeRotationPending, retryAfterSeconds: Problem.seconds(until: until, from: now))
        case .rotated(let generation):
            observer.count(.challengeKeysRotated)
            try? await reread()
            return [
                "name": .string(OperatorService.challenges), "generation": .integer(generation),
                "signsFrom": .string(RFC3339.text(rotation.signsFrom)),
                "oldAcceptedUntil": .string(RFC3339.text(rotation.acceptsOldUntil)),
            ]
        }
    }
}

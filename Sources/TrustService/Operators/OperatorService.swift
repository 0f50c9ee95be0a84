// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

/// What operators do with keys, over HTTP and at the console: for which apps a credential is good is decided here.
struct OperatorService: Sendable {
    let store: any TrustStore
    let trusted: TrustedKeys
    let receiptPlan: ReceiptPlan
    let users: UserNames
    let observer: RequestObserver

    /// For so long after its revocation a key can be restored, in seconds.
    static let restorable: TimeInterval = 86_400

    /// A stored key, trusted or not.
    ///
    /// - Throws: ``Problem`` `key.unknown`, also to a credential for other apps, which must not learn which keys there are.
    func key(_ id: KeyIdentifier?, for caller: Authority, as role: Authority.Role) async throws -> StoredKey {
        guard let id else { throw Problem(.keyUnknown, evidence: "the path names no key id") }
        guard let key = try await store.key(id), caller.permits(role, app: key.app) else { throw Problem(.keyUnknown) }
        return key
    }

    /// One page of the keys that match; the filter has the user as requests name it.
    func keys(
        matching filter: KeyFilter, after cursor: KeyCursor?, limit: Int, for caller: Authority
    ) async throws -> KeyPage {
        guard caller.permits(.read, app: filter.app) else {
            throw Problem(.callerUnauthorized, evidence: "the credential is for other apps")
        }
        guard filter.environment.map({ AttestationEnvironment(rawValue: $0) != nil }) ?? true else {
            throw Problem(.requestMalformed, evidence: "environment must be production or development")
        }
        guard filter.user.map(RequestBody.isUser) ?? true,
            filter.app.map({ StoreText.isStorable($0, limit: StoreText.nameLimit) }) ?? true
        else { throw Problem(.requestMalformed, evidence: "a name is too long or contains a zero byte") }
        var filter = filter
        filter.user = filter.user.map(users.stored)
        return try await store.keys(matching: filter, after: cursor, limit: limit)
    }

    /// Revokes a key; a key that is revoked stays as it is.
    ///
    /// - Parameter code: nil for `operator`.
    func revoke(_ key: StoredKey, code: String?, at now: Date) async throws {
        guard try await store.revoke(key.id, code: try OperatorService.code(code), at: now) != .unknown else {
            throw Problem(.keyUnknown)
        }
        observer.count(.keysRevoked)
    }

    /// Restores a key within a day of its revocation; a key that is not revoked stays as it is.
    func restore(_ key: StoredKey, at now: Date) async throws {
        let outcome = try await store.restore(
            key.id, revokedSince: now.addingTimeInterval(-OperatorService.restorable),
            refreshAt: receiptPlan.next(after: nil, key: key.id.bytes, at: now), at: now)
        switch outcome {
        case .restored, .notRevoked: return
        case .tooLate(let instant):
            throw Problem(.keyRevoked, evidence: "revoked at \(Timestamps.text(instant)), more than a day ago")
        case .unknown: throw Problem(.keyUnknown)
        }
    }

    /// Deletes a key with its receipts, and all that leads to it in its history.
    func delete(_ key: StoredKey) async throws {
        guard try await store.deleteKey(key.id) else { throw Problem(.keyUnknown) }
        observer.count(.keysDeleted)
    }

    /// The code of a revocation.
    static func code(_ text: String?) throws(Problem) -> String {
        guard let text else { return "operator" }
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw Problem(.requestMalformed, evidence: "code must be printable ASCII without spaces")
        }
        return text
    }
}

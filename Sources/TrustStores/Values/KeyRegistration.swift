// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppAttest
import Crypto
public import FoundationEssentials
package import Vocabulary

/// A verified key on its way into a store. What its attestation said is read as if it were the registration's own.
@dynamicMemberLookup
public struct KeyRegistration: Sendable, Equatable {
    /// What the attestation said.
    public let record: KeyRecord
    /// The receipt that came with the key.
    public let receipt: ReceiptRecord
    /// When the receipt is to be refreshed first; nil for never.
    public let refreshAt: Date?
    /// What the registration counts against, all together with the key or not at all.
    package var draws: [QuotaDraw] = []

    /// Takes a key from the verifier, with its verified receipt; nothing else can be registered.
    ///
    /// Nil if the receipt was refused or not judged, or ``StoreText/isUser(_:)`` refuses the user: such a key is not to be stored.
    ///
    /// - Parameters:
    ///   - app: the configured id of the app.
    ///   - simulatedRoots: the fingerprint of the simulated roots below which the key was attested; nil if Apple's attested it.
    ///   - attestation: the object as it was sent; its SHA-256 is kept, so that the same object again is known.
    ///   - refreshAt: when the receipt is to be refreshed first; nil for never.
    package init?(
        _ key: AttestedKey, app: String, simulatedRoots: [UInt8]?, user: String?, attestation: some Collection<UInt8>,
        refreshAt: Date?
    ) {
        guard case .accepted(let receipt) = key.receiptVerdict, user.map(StoreText.isUser) ?? true else { return nil }
        record = KeyRecord(
            id: key.keyId, publicKeyBytes: key.publicKey.x963Representation, app: app, identity: key.app.applicationId,
            environment: key.environment.rawValue, simulated: simulatedRoots != nil, user: user,
            attestationDigest: KeyRegistration.digest(of: attestation) + (simulatedRoots ?? []),
            validationCategory: key.extensions?.validationCategory.map { Int($0.rawValue) },
            bundleVersion: key.extensions?.bundleVersion, osVersion: key.leaf.osVersion)
        self.receipt = ReceiptRecord(receipt, bytes: key.receipt)
        self.refreshAt = refreshAt
    }

    /// The digest by which the byte-equal object is known again: SHA-256.
    package static func digest(of attestation: some Collection<UInt8>) -> [UInt8] {
        Array(SHA256.hash(data: Array(attestation)))
    }

    package init(_ record: KeyRecord, receipt: ReceiptRecord, refreshAt: Date?) {
        self.record = record
        self.receipt = receipt
        self.refreshAt = refreshAt
    }

    /// A member of ``record``.
    public subscript<Value>(dynamicMember path: KeyPath<KeyRecord, Value>) -> Value { record[keyPath: path] }

    /// The key as it is stored, before its first assertion.
    public func stored(at instant: Date) -> StoredKey {
        StoredKey(
            record, attestedAt: StoreTime.date(StoreTime.milliseconds(instant)), counter: 0, largestGap: 0,
            lastUsedAt: nil, revokedAt: nil, riskMetric: receipt.riskMetric,
            receiptExpiresAt: receipt.expiresAt.map { StoreTime.date(StoreTime.milliseconds($0)) })
    }

    /// The outcome of a second object for the same key: the first registration stays, whatever the second one says.
    public func outcome(against existing: StoredKey) -> InsertOutcome {
        if !StoreText.areSame(existing.user, self.user) { return .refused(.otherUser) }
        if !existing.app.hasSameBytes(as: self.app) || existing.attestationDigest != self.attestationDigest {
            return .refused(.exists)
        }
        return .existing(existing)
    }
}

/// The outcome of storing a key.
public enum InsertOutcome: Sendable, Equatable {
    /// The key is new.
    case inserted(StoredKey)
    /// The byte-equal object of the same user was stored before: nothing changed, whatever became of the challenge.
    case existing(StoredKey)
    /// Nothing was changed.
    case refused(InsertRefusal)
    /// A quota of the registration has no room until the instant. Nothing was changed.
    case exhausted(until: Date)
}

/// Why a key is not stored.
public enum InsertRefusal: Sendable, CaseIterable {
    /// The key belongs to another user.
    case otherUser
    /// Another attestation object of the same key is stored.
    case exists
    /// The challenge was spent before.
    case challengeUsed
    /// The challenge has expired.
    case challengeExpired
    /// The key was revoked and then deleted.
    case revoked

    /// The code of the HTTP contract.
    package var code: Code {
        switch self {
        case .otherUser: .keyOtherUser
        case .exists: .keyExists
        case .challengeUsed: .challengeUsed
        case .challengeExpired: .challengeExpired
        case .revoked: .keyRevoked
        }
    }
}

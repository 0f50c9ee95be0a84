// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppAttest
import Crypto
package import Findings
public import Foundation

/// A verified key on its way into a store.
public struct KeyRegistration: Sendable, Equatable {
    /// SHA-256 of the key's point, 32 bytes.
    public let id: KeyIdentifier
    /// The public key as X9.63 uncompressed point, 65 bytes.
    public let publicKeyBytes: [UInt8]
    /// The configured id of the app.
    public let app: String
    /// The identity that attested: `prefix.bundleId`.
    public let identity: String
    /// `production` or `development`.
    public let environment: String
    /// Whether a simulated root attested the key.
    public let simulated: Bool
    /// The user whom the app's server named when it fetched the challenge; nil if it named none.
    public let user: String?
    /// SHA-256 of the attestation object as sent, 32 bytes.
    public let attestationDigest: [UInt8]
    /// Absent up to iOS 26.
    public let validationCategory: Int?
    /// Absent up to iOS 26.
    public let bundleVersion: String?
    /// The system's version at attestation; nil if the leaf does not say it.
    public let osVersion: String?
    /// The receipt that came with the key.
    public let receipt: ReceiptRecord
    /// When the receipt is to be refreshed first; nil for never.
    public let refreshAt: Date?

    /// Takes a key from the verifier, with its verified receipt; nothing else can be registered.
    ///
    /// Nil where the receipt was refused or not judged, or ``StoreText/isUser(_:)`` refuses the user: such a key is not to be stored.
    ///
    /// - Parameters:
    ///   - app: the configured id of the app.
    ///   - simulated: whether a simulated root attested the key.
    ///   - attestation: the object as it was sent; its SHA-256 is kept, so that the same object again is known.
    ///   - refreshAt: when the receipt is to be refreshed first; nil for never.
    package init?(
        _ key: AttestedKey,
        app: String,
        simulated: Bool,
        user: String?,
        attestation: some Collection<UInt8>,
        refreshAt: Date?
    ) {
        guard case .accepted(let receipt) = key.receiptVerdict, user.map(StoreText.isUser) ?? true else { return nil }
        self.init(
            id: key.keyId,
            publicKeyBytes: key.publicKey.x963Representation,
            app: app,
            identity: key.app.applicationId,
            environment: key.environment.rawValue,
            simulated: simulated,
            user: user,
            attestationDigest: KeyRegistration.digest(of: attestation),
            validationCategory: key.extensions?.validationCategory.map { Int($0.rawValue) },
            bundleVersion: key.extensions?.bundleVersion,
            osVersion: key.leaf.osVersion,
            receipt: ReceiptRecord(receipt, bytes: key.receipt),
            refreshAt: refreshAt
        )
    }

    /// The digest by which the byte-equal object is known again: SHA-256.
    package static func digest(of attestation: some Collection<UInt8>) -> [UInt8] {
        Array(SHA256.hash(data: Array(attestation)))
    }

    package init(
        id: KeyIdentifier,
        publicKeyBytes: [UInt8],
        app: String,
        identity: String,
        environment: String,
        simulated: Bool,
        user: String?,
        attestationDigest: [UInt8],
        validationCategory: Int?,
        bundleVersion: String?,
        osVersion: String?,
        receipt: ReceiptRecord,
        refreshAt: Date?
    ) {
        self.id = id
        self.publicKeyBytes = publicKeyBytes
        self.app = app
        self.identity = identity
        self.environment = environment
        self.simulated = simulated
        self.user = user
        self.attestationDigest = attestationDigest
        self.validationCategory = validationCategory
        self.bundleVersion = bundleVersion
        self.osVersion = osVersion
        self.receipt = receipt
        self.refreshAt = refreshAt
    }

    /// The key as it is stored, before its first assertion.
    public func stored(at instant: Date) -> StoredKey {
        StoredKey(
            id: id,
            publicKeyBytes: publicKeyBytes,
            app: app,
            identity: identity,
            environment: environment,
            simulated: simulated,
            user: user,
            attestationDigest: attestationDigest,
            validationCategory: validationCategory,
            bundleVersion: bundleVersion,
            osVersion: osVersion,
            attestedAt: StoreTime.date(StoreTime.milliseconds(instant)),
            counter: 0,
            largestGap: 0,
            lastUsedAt: nil,
            revokedAt: nil,
            riskMetric: receipt.riskMetric
        )
    }

    /// What a second object for the same key comes to: the first registration stands, whatever the second one says.
    public func outcome(against existing: StoredKey) -> InsertOutcome {
        if !StoreText.areSame(existing.user, user) { return .refused(.otherUser) }
        if !existing.app.hasSameBytes(as: app) || existing.attestationDigest != attestationDigest {
            return .refused(.exists)
        }
        return .existing(existing)
    }
}

/// What came of storing a key.
public enum InsertOutcome: Sendable, Equatable {
    /// The key is new.
    case inserted(StoredKey)
    /// The byte-equal object of the same user was stored before: nothing changed, whatever became of the challenge.
    case existing(StoredKey)
    /// Nothing was changed.
    case refused(InsertRefusal)
}

/// Why a key is not stored.
public enum InsertRefusal: Sendable, CaseIterable {
    /// The key belongs to another user.
    case otherUser
    /// Another attestation object of the same key is stored.
    case exists
    /// The challenge was spent before.
    case challengeUsed
    /// The challenge's time is over.
    case challengeExpired

    /// The code of the HTTP contract.
    package var code: Code {
        switch self {
        case .otherUser: .keyOtherUser
        case .exists: .keyExists
        case .challengeUsed: .challengeUsed
        case .challengeExpired: .challengeExpired
        }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppAttest
public import FoundationEssentials

/// What an attestation said about a key, as it is kept: it never changes.
public struct KeyRecord: Sendable, Equatable {
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
    /// SHA-256 of the attestation object as sent, 32 bytes. If a simulated root attested the key, the fingerprint of the simulated roots
    /// follows, 32 bytes; it is missing in keys of versions that did not write it.
    public let attestationDigest: [UInt8]
    /// Absent up to iOS 26.
    public let validationCategory: Int?
    /// Absent up to iOS 26.
    public let bundleVersion: String?
    /// The system's version at attestation; nil if the leaf does not say it.
    public let osVersion: String?

    /// The fingerprint of the simulated roots below which the key was attested; nil if none was written.
    package var simulatedRoots: [UInt8]? {
        simulated && attestationDigest.count > KeyRecord.digestLength
            ? Array(attestationDigest.dropFirst(KeyRecord.digestLength)) : nil
    }

    /// Whether this digest is of the object that attested the key.
    package func isAttested(by digest: [UInt8]) -> Bool {
        digest.count == KeyRecord.digestLength && attestationDigest.starts(with: digest)
    }

    private static let digestLength = 32

    /// What a store reads back of an attestation.
    public init(
        id: KeyIdentifier, publicKeyBytes: [UInt8], app: String, identity: String, environment: String, simulated: Bool,
        user: String?, attestationDigest: [UInt8], validationCategory: Int?, bundleVersion: String?, osVersion: String?
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
    }
}

/// A verified key as a store gives it back. What its attestation said is read as if it were the key's own.
@dynamicMemberLookup
public struct StoredKey: Sendable, Equatable {
    /// What the attestation said.
    public let record: KeyRecord
    /// When the key was accepted.
    public let attestedAt: Date
    /// The highest counter that was accepted; 0 before the first assertion.
    public internal(set) var counter: UInt32
    /// The largest jump between two accepted counters, not counting the step of one.
    public internal(set) var largestGap: UInt32
    /// The last accepted assertion.
    public internal(set) var lastUsedAt: Date?
    /// When the key was revoked; nil while it is good.
    public internal(set) var revokedAt: Date?
    /// The metric of the newest receipt that had one.
    public internal(set) var riskMetric: Int?
    /// When the key was last made good again after a revocation; nil if it never was.
    public internal(set) var restoredAt: Date?
    /// When the newest receipt expires; nil if it does not say.
    public internal(set) var receiptExpiresAt: Date?

    /// A key as a store reads it back, with all that has happened since.
    public init(
        _ record: KeyRecord, attestedAt: Date, counter: UInt32, largestGap: UInt32, lastUsedAt: Date?, revokedAt: Date?,
        riskMetric: Int?, restoredAt: Date? = nil, receiptExpiresAt: Date? = nil
    ) {
        self.record = record
        self.attestedAt = attestedAt
        self.counter = counter
        self.largestGap = largestGap
        self.lastUsedAt = lastUsedAt
        self.revokedAt = revokedAt
        self.riskMetric = riskMetric
        self.restoredAt = restoredAt
        self.receiptExpiresAt = receiptExpiresAt
    }

    /// A member of ``record``.
    public subscript<Value>(dynamicMember path: KeyPath<KeyRecord, Value>) -> Value { record[keyPath: path] }
}

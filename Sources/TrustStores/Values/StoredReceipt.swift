// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppAttest
public import FoundationEssentials
public import Vocabulary

/// A receipt whose signature and fields have been verified, as it is handed to a store.
public struct ReceiptRecord: Sendable, Equatable {
    /// The receipt as Apple sent it (CMS), 3 to 5 kB.
    public var bytes: [UInt8]
    /// Field 12: when Apple made it. A store keeps receipts in this order and refuses older ones.
    public var createdAt: Date
    /// Field 19: before this instant a refresh must not be asked. Absent in the receipt of an attestation.
    public var notBefore: Date?
    /// Field 21: after this instant the receipt cannot be exchanged. Nil if the receipt does not say.
    public var expiresAt: Date?
    /// Field 17: about how many keys this device attested for this app in the last 30 days.
    public var riskMetric: Int?

    /// A receipt that a store reads back, or one whose signature you have verified.
    public init(bytes: [UInt8], createdAt: Date, notBefore: Date? = nil, expiresAt: Date?, riskMetric: Int? = nil) {
        self.bytes = bytes
        self.createdAt = createdAt
        self.notBefore = notBefore
        self.expiresAt = expiresAt
        self.riskMetric = riskMetric
    }
}

extension ReceiptRecord {
    /// Takes a verified receipt together with its bytes as Apple sent them.
    package init(_ receipt: VerifiedReceipt, bytes: some Collection<UInt8>) {
        self.init(
            bytes: Array(bytes), createdAt: receipt.creationTime, notBefore: receipt.refreshNotBefore,
            expiresAt: receipt.expirationTime, riskMetric: receipt.riskMetric)
    }
}

/// One receipt of a key's history.
public struct StoredReceipt: Sendable, Equatable {
    /// The key that it is about.
    public let keyId: KeyIdentifier
    /// The receipt itself.
    public let receipt: ReceiptRecord
    /// When the store took it.
    public let storedAt: Date

    /// A receipt as a store reads it back.
    public init(keyId: KeyIdentifier, receipt: ReceiptRecord, storedAt: Date) {
        self.keyId = keyId
        self.receipt = receipt
        self.storedAt = storedAt
    }
}

/// The right to refresh one receipt until an instant: while it lasts, no other node is given the same one.
public struct ReceiptLease: Sendable, Equatable {
    /// The key whose receipt is due.
    public let key: StoredKey
    /// The newest receipt of the key.
    public let receipt: ReceiptRecord
    /// How many attempts in a row failed before this one.
    public let failures: Int
    /// When the lease ends by itself.
    public let until: Date
    /// Grows with each lease of this key: a holder whose lease ran out cannot complete a later one.
    public let fence: Int64

    /// For a store: the lease on a key that it hands to one holder.
    public init(key: StoredKey, receipt: ReceiptRecord, failures: Int, until: Date, fence: Int64) {
        self.key = key
        self.receipt = receipt
        self.failures = failures
        self.until = until
        self.fence = fence
    }
}

/// The outcome of one attempt to refresh a receipt.
public enum RefreshResult: Sendable, Equatable {
    /// Apple answered with a new receipt, which was verified. Ask again at `next`.
    case receipt(ReceiptRecord, next: Date)
    /// Nothing new (304), or a failure that may be temporary. `code` is kept in the history; nil for 304.
    case later(Date, code: Code?)
    /// It makes no sense to ask for this key again.
    case stop(code: Code)
}

/// What a store did with the result of a refresh.
public enum RefreshOutcome: Sendable, Equatable {
    /// The new receipt is the key's newest now.
    case stored
    /// The same receipt that is already stored; the next attempt is scheduled.
    case unchanged
    /// The receipt is not newer than the stored one. It was not stored; the next attempt is scheduled.
    case older
    /// No receipt came; the next attempt is scheduled, or there will be none.
    case rescheduled
    /// The lease had run out and another node took over: nothing changed.
    case lost
}

extension ReceiptRecord {
    /// What a new receipt is beside the newest stored one: only a later creation time makes it newer.
    func standing(after newest: ReceiptRecord) -> RefreshOutcome {
        if bytes == newest.bytes { return .unchanged }
        return StoreTime.milliseconds(createdAt) > StoreTime.milliseconds(newest.createdAt) ? .stored : .older
    }
}

extension RefreshResult {
    /// What goes into the key's history: new receipts, refused ones and failures, not the ordinary "nothing new".
    func event(for lease: ReceiptLease, outcome: RefreshOutcome, at instant: Date) -> StoreEvent? {
        let code: Code? =
            switch self {
            case .receipt: outcome == .older ? .receiptOlder : nil
            case .later(_, let code): code
            case .stop(let code): code
            }
        if code == nil, outcome != .stored { return nil }
        return StoreEvent(
            at: instant, app: lease.key.app, keyId: lease.key.id, kind: EventKind.receipt, code: code?.rawValue)
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import Vocabulary

/// The kinds of events in a key's history and of hourly tallies, as stores keep them.
package enum EventKind {
    /// A key was attested.
    package static let attested = "attested"
    /// A key was revoked.
    package static let revoked = "revoked"
    /// A revoked key was made good again.
    package static let restored = "restored"
    /// A receipt was renewed or refused.
    package static let receipt = "receipt"
    /// A proof was refused, or would have been if the app did not only monitor.
    package static let refused = "refused"
    /// A device attested many more keys than is usual.
    package static let alert = "alert"
    /// A network with a new key, counted once an hour.
    package static let attestedAddress = "attestedAddress"
    /// A client without App Attest, counted once an hour for each network.
    package static let unsupported = "unsupported"
    /// A client that met an error, counted once an hour for each network.
    package static let clientError = "clientError"
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

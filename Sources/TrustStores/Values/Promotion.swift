// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Which claim of a promotion is meant.
///
/// `subject` keeps one caller's transaction ids apart from another's: the key id of an app, or the name of a backend.
public struct PromotionClaim: Hashable, Sendable {
    /// The promotion's name.
    public var promotion: String
    /// The app's id in the configuration.
    public var app: String
    /// Who claims, for example a hash of the device token.
    public var subject: String
    /// What makes a repeat of the same claim recognisable.
    public var transactionId: String

    /// Makes one from its parts, which the properties describe.
    public init(promotion: String, app: String, subject: String, transactionId: String) {
        self.promotion = promotion
        self.app = app
        self.subject = subject
        self.transactionId = transactionId
    }
}

/// The right to decide one claim until an instant.
public struct PromotionReservation: Sendable, Equatable {
    /// What was reserved.
    public let claim: PromotionClaim
    /// What an earlier holder noted before it vanished, for example that it was about to set the bit at Apple.
    public let note: String?
    /// Grows with each reservation of this claim.
    public let fence: Int64

    init(claim: PromotionClaim, note: String?, fence: Int64) {
        self.claim = claim
        self.note = note
        self.fence = fence
    }
}

/// Where a claim stands.
public enum PromotionStanding: Sendable, Equatable {
    /// This caller decides it.
    case reserved(PromotionReservation)
    /// Another caller is deciding it; ask again after the given instant at the latest.
    case pending(until: Date)
    /// It is decided: the stored answer, as it was given.
    case answered([UInt8])
}

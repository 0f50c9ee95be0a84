// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppAttest
import Crypto
import Formats
public import FoundationEssentials
import Vocabulary

/// For whom a promotion is granted once.
public struct PromotionSubject: Hashable, Sendable {
    /// How it is stored. A user's name never is, only a hash.
    public let text: String
    /// Whether claims wait for each other and a grant is remembered.
    public let isLimited: Bool

    private init(text: String, isLimited: Bool) {
        self.text = text
        self.isLimited = isLimited
    }

    /// One key, whether its app or a backend claims for it.
    ///
    /// - Parameter secret: that of the store's audit, for a hash that outlives the key; nil for the id, as in stores of 0.2.0.
    package static func key(_ id: KeyIdentifier, secret: [UInt8]? = nil) -> PromotionSubject {
        let hash = secret.map { "key:" + Base64.encode(AuditChain.code(Array("sealward grant ".utf8) + id.bytes, $0)) }
        return PromotionSubject(text: hash ?? id.base64, isLimited: true)
    }

    /// One user of a backend; nil for a name that ``StoreText/isUser(_:)`` refuses.
    package init?(user: String) {
        guard StoreText.isUser(user) else { return nil }
        let digest = Data(SHA256.hash(data: Data(user.utf8)))
        self.init(text: "user:" + digest.base64EncodedString(), isLimited: true)
    }

    /// A backend that names nobody: claims are told apart by their transaction alone.
    package static let unnamed = PromotionSubject(text: "server", isLimited: false)
}

/// Which claim of a promotion is meant. Two claims are the same if all four texts have the same bytes.
public struct PromotionClaim: Hashable, Sendable {
    /// The promotion's name.
    public let promotion: String
    /// The app's id in the configuration.
    public let app: String
    /// For whom it is claimed.
    public let subject: PromotionSubject
    /// By which a repeat of the same claim is recognized.
    public let transactionId: String

    /// Makes one from its parts, which the properties describe; nil if a text is too long or has a zero byte in it (see
    /// ``StoreText``).
    package init?(promotion: String, app: String, subject: PromotionSubject, transactionId: String) {
        guard StoreText.isStorable(promotion, limit: StoreText.nameLimit),
            StoreText.isStorable(app, limit: StoreText.nameLimit),
            StoreText.isStorable(transactionId, limit: StoreText.transactionLimit)
        else { return nil }
        self.promotion = promotion
        self.app = app
        self.subject = subject
        self.transactionId = transactionId
    }

    private var parts: [UTF8Key] { [promotion, app, subject.text, transactionId].map { UTF8Key($0) } }

    /// Whether all texts have the same bytes.
    public static func == (left: PromotionClaim, right: PromotionClaim) -> Bool { left.parts == right.parts }

    /// Hashes the bytes of all texts.
    public func hash(into hasher: inout Hasher) { for part in parts { hasher.combine(part) } }
}

/// The two device tokens with which a claim is made, known again by their SHA-256 alone.
public struct PromotionTokens: Hashable, Sendable {
    /// 32 bytes.
    public let digest: [UInt8]

    /// Takes the token that is read with and the token that is written with.
    package init(reading first: String, writing second: String) {
        var hash = SHA256()
        for token in [first, second] {
            // The length first, so that no other pair gives the same bytes.
            hash.update(data: Data("\(token.utf8.count):".utf8))
            hash.update(data: Data(token.utf8))
        }
        digest = Array(hash.finalize())
    }
}

/// The right to decide one claim until an instant.
public struct PromotionReservation: Sendable, Equatable {
    /// What was reserved.
    public let claim: PromotionClaim
    /// What an earlier holder with the same two device tokens noted before it vanished, for example that it was about to set the bit
    /// at Apple. Never the note of other tokens.
    public let note: String?
    /// Grows with each reservation of this claim.
    public let fence: Int64
    /// The tokens to which a note is bound.
    public let tokens: PromotionTokens
    /// Grants before this instant do not count, in milliseconds.
    public let grantsFrom: Int64

    /// For a store: the reservation that it hands to one of several claimants.
    public init(claim: PromotionClaim, note: String?, fence: Int64, tokens: PromotionTokens, grantsFrom: Int64) {
        self.claim = claim
        self.note = note
        self.fence = fence
        self.tokens = tokens
        self.grantsFrom = grantsFrom
    }
}

/// Where a claim stands.
public enum PromotionStanding: Sendable, Equatable {
    /// This caller decides it.
    case reserved(PromotionReservation)
    /// Another caller is deciding this claim or another one of the same subject; ask again after the given instant at the latest.
    case pending(until: Date)
    /// It is decided: the stored answer, as it was given.
    case answered([UInt8])
    /// The subject was granted the promotion at this instant, by another transaction. Nothing was stored for this one.
    case alreadyGranted(Date)
}

/// What a holder has decided.
public struct PromotionAnswer: Sendable, Equatable {
    /// What every repeat of the claim is told.
    public let bytes: [UInt8]
    /// Whether the promotion is granted, so that the subject gets it from no other transaction.
    public let isGranted: Bool

    package init(bytes: [UInt8], isGranted: Bool) {
        self.bytes = bytes
        self.isGranted = isGranted
    }
}

/// The outcome of an answer. All callers with one claim get the same.
public enum PromotionSettlement: Sendable, Equatable {
    /// The answer that counts: this one, or that of a faster holder.
    case answered([UInt8])
    /// Another transaction of the subject was granted at this instant, while this one was decided. Nothing was stored.
    case alreadyGranted(Date)
}

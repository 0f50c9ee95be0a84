// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppAttest
public import FoundationEssentials
package import Vocabulary

/// What a challenge may be used for.
package enum ChallengePurpose: UInt8, Sendable, CaseIterable {
    /// For an attestation.
    case attest = 1
    /// For an assertion.
    case assert = 2
    /// For either, through an interface that asks for a challenge without saying which: App Check's.
    case exchange = 3
}

/// Whom and what a challenge serves.
///
/// Where `keyId` or `user` is nil at issue, the challenge is not tied to a key or a user.
package struct ChallengeBinding: Hashable, Sendable {
    /// What it may be spent on.
    package var purpose: ChallengePurpose
    /// The configured id of the app.
    package var app: String
    /// The key that has to spend it; nil for any.
    package var keyId: KeyIdentifier?
    /// The user that has to spend it; nil for any.
    package var user: String?

    package init(purpose: ChallengePurpose, app: String, keyId: KeyIdentifier? = nil, user: String? = nil) {
        self.purpose = purpose
        self.app = app
        self.keyId = keyId
        self.user = user
    }
}

/// A challenge that the codec has read, found genuine, unexpired and bound to this use: it only has to be spent.
///
/// Only ``ChallengeCodec`` makes one, so a store can never be asked to remember bytes that nobody issued.
public struct SpendableChallenge: Hashable, Sendable {
    /// 16 random bytes that name the challenge.
    public let id: [UInt8]
    /// From this instant on the challenge is refused, so that nothing needs to be remembered after it.
    public let expiresAt: Date

    package init(id: [UInt8], expiresAt: Date) {
        self.id = id
        self.expiresAt = expiresAt
    }
}

package enum ChallengeRefusal: Error, Sendable, CaseIterable {
    /// Not issued by this store: random bytes, another store's challenge, or a damaged one.
    case unknown
    /// It has expired.
    case expired
    /// Issued for another app, purpose, key or user.
    case binding

    /// The code of the HTTP contract.
    package var code: Code {
        switch self {
        case .unknown: .challengeUnknown
        case .expired: .challengeExpired
        case .binding: .challengeBinding
        }
    }
}

/// What the codec says about bytes that claim to be a challenge.
package typealias ChallengeReading = Result<SpendableChallenge, ChallengeRefusal>

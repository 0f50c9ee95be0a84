// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
public import FoundationEssentials

/// The outcome of spending a token or a challenge.
public enum SpendOutcome: Sendable, Equatable {
    /// This caller is the one winner.
    case spent
    /// Another caller was first.
    case alreadyUsed
    /// It has expired.
    case expired
}

/// A token that may be presented once, after its signature was verified.
public struct SingleUseToken: Sendable, Equatable {
    /// The `jti` of the token; at most 128 bytes are compared.
    public var id: String
    /// When it need not be remembered any longer.
    public var expiresAt: Date

    package init(id: String, expiresAt: Date) {
        self.id = id
        self.expiresAt = expiresAt
    }
}

/// The outcome of revoking a key.
public enum RevokeOutcome: Sendable, Equatable {
    /// From now on nothing of this key is accepted.
    case revoked
    /// It was revoked before, at this instant.
    case alreadyRevoked(Date)
    /// No such key.
    case unknown
}

/// The outcome of restoring a key.
public enum RestoreOutcome: Sendable, Equatable {
    /// From now on the key is good again.
    case restored
    /// It is not revoked; nothing changed.
    case notRevoked
    /// It was revoked too long ago, at this instant, and stays revoked.
    case tooLate(Date)
    /// No such key.
    case unknown
}

/// The name under which a spent challenge or token is remembered: 17 bytes, the kind first.
package struct SpentName: Hashable, Sendable {
    package let bytes: [UInt8]
    package let expiresAt: Int64

    package init(_ challenge: SpendableChallenge) {
        bytes = [1] + challenge.id
        expiresAt = StoreTime.milliseconds(challenge.expiresAt)
    }

    init(_ token: SingleUseToken) {
        bytes = [2] + SHA256.hash(data: Data(token.id.utf8)).prefix(16)
        expiresAt = StoreTime.milliseconds(token.expiresAt)
    }

    /// How long a spent name is kept after it expired, so that a node whose clock is behind still finds it.
    static let slack: Int64 = 3_600_000
}

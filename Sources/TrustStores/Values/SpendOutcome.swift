// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// What came of spending a challenge.
public enum SpendOutcome: Sendable, Equatable {
    case spent
    case alreadyUsed
    case expired
}

/// A token that may be presented once, after its signature was verified.
public struct SingleUseToken: Sendable, Equatable {
    /// The `jti` of the token, at most 128 bytes are looked at.
    public var id: String
    public var expiresAt: Date

    public init(id: String, expiresAt: Date) {
        self.id = id
        self.expiresAt = expiresAt
    }
}

/// What came of revoking a key.
public enum RevokeOutcome: Sendable, Equatable {
    case revoked
    case alreadyRevoked(Date)
    case unknown
}

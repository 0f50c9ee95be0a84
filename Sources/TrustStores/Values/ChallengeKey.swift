// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// One key under which challenges are made.
public struct ChallengeKey: Sendable, Equatable {
    /// Counts from 1.
    public let generation: Int
    /// 32 random bytes.
    public let secret: [UInt8]
    /// From this instant on it signs, unless a newer one does.
    public let signsFrom: Date
    /// Until this instant its challenges are accepted; nil while it has no successor.
    public let acceptedUntil: Date?

    /// For a store: one of the keys that it keeps for all nodes.
    public init(generation: Int, secret: [UInt8], signsFrom: Date, acceptedUntil: Date?) {
        self.generation = generation
        self.secret = secret
        self.signsFrom = signsFrom
        self.acceptedUntil = acceptedUntil
    }

    /// At most this many keys are kept: the newest, and those whose last challenge has not expired. One more rotation is refused.
    package static let limit = 8
}

/// A request to replace the challenge key.
public struct ChallengeKeyRotation: Sendable, Equatable {
    /// 32 random bytes, which become the newest key.
    public var secret: [UInt8]
    /// When the new key begins to sign: late enough that every node has read it by then.
    public var signsFrom: Date
    /// How long challenges of the older keys are accepted: until the last that they signed has expired.
    public var acceptsOldUntil: Date

    package init(secret: [UInt8], signsFrom: Date, acceptsOldUntil: Date) {
        self.secret = secret
        self.signsFrom = signsFrom
        self.acceptsOldUntil = acceptsOldUntil
    }
}

/// The outcome of a rotation.
public enum RotationOutcome: Sendable, Equatable {
    /// The generation of the new key.
    case rotated(generation: Int)
    /// Another rotation has not taken effect yet, or too many keys are still accepted. Nothing was changed; ask again after that instant.
    case tooSoon(until: Date)
}

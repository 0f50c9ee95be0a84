// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

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

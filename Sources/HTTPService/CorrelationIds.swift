// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// Names of requests: random, so that nobody can count from them the requests of others.
package struct CorrelationIds: Sendable {
    /// Random bytes; nine of them make twelve characters, and two equal names among a million are less likely than one in a billion.
    package let random: @Sendable (Int) -> [UInt8]

    package init(random: @escaping @Sendable (Int) -> [UInt8]) { self.random = random }

    package func next() -> String { Base64.encodeURL(random(9)) }
}

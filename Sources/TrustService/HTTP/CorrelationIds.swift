// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Synchronization

/// Names of requests: unique on this node and different on every other, without a draw of randomness for each.
final class CorrelationIds: Sendable {
    private let prefix: String
    private let counter = Mutex<UInt64>(0)

    init(random: [UInt8]) { prefix = Base64.encodeURL(random) }

    func next() -> String {
        let number = counter.withLock { counter -> UInt64 in
            counter &+= 1
            return counter
        }
        return "\(prefix)-\(String(number, radix: 36))"
    }
}

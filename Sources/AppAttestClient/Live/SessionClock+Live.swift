// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension SessionClock {
    /// The system's.
    package static let live: SessionClock = {
        let start = ContinuousClock.now
        return SessionClock(
            uptime: { ContinuousClock.now - start }, secondsSince1970: { Date().timeIntervalSince1970 },
            sleep: { try await Task.sleep(for: $0) }, random: { Double.random(in: 0...1) })
    }()
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The clock of the machine: the only place where this target reads the time of day.
enum SystemClock {
    static let now: @Sendable () -> Date = { Date() }
}

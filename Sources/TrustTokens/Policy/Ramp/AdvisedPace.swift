// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
package import Vocabulary

/// What Apple advised in 2021, before it named limits: a day for a million daily users, more than a month for a billion.
///
/// One seed's subtitle says ten billion instead of one. In between the days grow as a power of the users, which is our reading.
package enum AdvisedPace {
    /// The days of the 2021 advice.
    package static func days2021(dailyUsers: Int) -> Double {
        let exponent = log(30.0) / log(1000.0)
        return max(1, pow(Double(max(dailyUsers, 1)) / 1_000_000, exponent))
    }

    /// The attestations a second to which the 2021 advice comes on average.
    package static func perSecond2021(dailyUsers: Int) -> Double {
        Double(max(dailyUsers, 1)) / (days2021(dailyUsers: dailyUsers) * 86_400)
    }

    /// Apple's advice of 2021 on the pace of a ramp.
    package static let advice2021 = Citation.apple(
        "WWDC21-10244: Mitigate fraud with App Attest and DeviceCheck", read: "2026-11-21")
}

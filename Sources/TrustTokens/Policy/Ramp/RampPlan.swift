// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
package import Vocabulary

/// How fast an app may attest at Apple, over all its installations.
package struct RampLimits: Sendable, Equatable {
    /// Attestations a second. Apple advises fewer than 100.
    package var perSecond: Double
    /// Attestations a day. Apple advises at most ten million for one app.
    package var perDay: Double

    /// Takes positive numbers; anything else is moved to the nearest sensible one.
    package init(perSecond: Double = 100, perDay: Double = 10_000_000) {
        self.perSecond = perSecond.isFinite ? min(max(perSecond, 0.001), 1_000_000) : 100
        self.perDay = perDay.isFinite ? min(max(perDay, 1), 86_400_000_000) : 10_000_000
    }

    /// Today's advice: under 100 a second and at most ten million a day.
    package static let advised = RampLimits()

    /// The tighter of both, by the hour.
    package var perHour: Double { min(perSecond * 3600, perDay / 24) }
}

/// How many installations attest in each hour after the start, until all daily users have.
///
/// The first day climbs evenly to the full pace, so that whatever is wrong with app, service or network shows while few are
/// concerned. The full pace is the limit, or a 24th of all users if that is less: small apps take a day and a half, large ones as
/// long as the limits demand.
package struct RampPlan: Sendable, Equatable {
    /// The installations that are expected to attest.
    package let dailyUsers: Int
    /// What Apple advises not to exceed.
    package let limits: RampLimits
    /// Attestations an hour once the climb is over.
    package let fullPace: Double
    /// How long all of it takes, in seconds.
    package let seconds: Double

    package static let climb = 24
    /// More users than people exist are not planned for: a hundred billion.
    package static let largest = 100_000_000_000

    /// Takes the daily active users, moved into 1 ... ``largest``.
    package init(dailyUsers: Int, limits: RampLimits = .advised) {
        self.dailyUsers = min(max(dailyUsers, 1), RampPlan.largest)
        self.limits = limits
        fullPace = min(limits.perHour, max(1, Double(self.dailyUsers) / Double(RampPlan.climb)))
        seconds = RampPlan.seconds(for: Double(self.dailyUsers), at: fullPace)
    }

    /// The number of hours, the last one counted whole.
    package var hours: Int { Int((seconds / 3600).rounded(.up)) }

    package var days: Double { seconds / 86_400 }

    /// The days without the climb: users divided by the limit. A billion at 100 a second takes 115.7.
    package var daysAtTheLimit: Double { Double(dailyUsers) / limits.perHour / 24 }

    /// How many have attested some seconds after the start.
    package func attested(after seconds: Double) -> Double {
        guard seconds > 0 else { return 0 }
        let hour = seconds / 3600
        let climb = Double(RampPlan.climb)
        // Whole hours of the climb take 1, 2, 3, ... parts of 24 of the full pace; within an hour the pace is even.
        let whole = min(hour, climb).rounded(.down)
        var done = fullPace / climb * whole * (whole + 1) / 2
        if hour < climb {
            done += fullPace / climb * (whole + 1) * (hour - whole)
        } else {
            done += fullPace * (hour - climb)
        }
        return min(done, Double(dailyUsers))
    }

    /// The share of the installations, 0 ... 1, whose turn it is some seconds after the start.
    package func share(after seconds: Double) -> Double {
        if seconds >= self.seconds { return 1 }
        return attested(after: seconds) / Double(dailyUsers)
    }

    /// How many seconds after the start a place, 0 ..< 1, has its turn.
    package func turn(of place: Double) -> Double {
        RampPlan.seconds(for: min(max(place, 0), 1) * Double(dailyUsers), at: fullPace)
    }

    /// The plan of one hour, counted from 0: how many attest in it, rounded so that all hours add up.
    package func attestations(inHour hour: Int) -> Int {
        let end = min((Double(hour) + 1) * 3600, seconds)
        return hour < 0 || hour >= hours
            ? 0 : Int(attested(after: end).rounded()) - Int(attested(after: Double(hour) * 3600).rounded())
    }

    /// The seconds after which `count` have attested.
    private static func seconds(for count: Double, at pace: Double) -> Double {
        var left = count
        for hour in 0..<climb {
            let inHour = pace / Double(climb) * Double(hour + 1)
            if left <= inHour { return (Double(hour) + left / inHour) * 3600 }
            left -= inHour
        }
        return (Double(climb) + left / pace) * 3600
    }
}

/// What Apple advised in 2021, before it named limits: a day for a million daily users, more than a month for a billion.
///
/// One seed's subtitle says ten billion instead of one. In between the days grow as a power of the users, which is our reading.
package enum AdvisedPace {
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

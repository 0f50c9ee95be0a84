// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Formats
import Glibc
import SimulatedFleet
import TrustTokens
import Vocabulary

struct RampCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "ramp",
        abstract: "The attestation ramp plan for an app.",
        discussion: """
            How many installations attest in each hour, until all daily users have. The pace rises evenly over the first day; then it is \
            the limit, or 1/24 of all users per hour if that is less.

            Example:
              sealward ramp --daily-users 1000000
            """
    )

    @Option(help: .value("Daily active users of the app.", "N"))
    var dailyUsers: Int

    @Option(help: .value("The maximum number of attestations per second; Apple advises fewer than 100.", "N"))
    var perSecond: Double = 100

    @Option(help: .value("The maximum number of attestations per day; Apple advises ten million for one app.", "N"))
    var perDay: Double = 10_000_000

    @OptionGroup var form: ResultForm

    func validate() throws {
        guard 1...RampPlan.largest ~= dailyUsers else {
            throw ValidationError("--daily-users must be a number from 1 to \(RampPlan.largest).")
        }
        guard perSecond > 0, perSecond <= 1_000_000 else {
            throw ValidationError("--per-second must be a number above 0 and up to 1000000.")
        }
        guard perDay >= 1, perDay <= 86_400_000_000 else {
            throw ValidationError("--per-day must be a number from 1 to 86400000000.")
        }
    }

    func result() async throws -> CommandResult {
        let plan = RampPlan(dailyUsers: dailyUsers, limits: RampLimits(perSecond: perSecond, perDay: perDay))
        if plan.hours > RampReport.mostHours {
            throw CommandFault("the plan would take \(plan.hours) hours; raise --per-second or --per-day.")
        }
        let report = RampReport(plan: plan)
        return CommandResult(report.json, text: report.text)
    }
}

private struct RampReport {
    let plan: RampPlan

    /// Eleven years and more are no plan.
    static let mostHours = 100_000

    private var days2021: Double { AdvisedPace.days2021(dailyUsers: plan.dailyUsers) }
    private var perSecond2021: Double { AdvisedPace.perSecond2021(dailyUsers: plan.dailyUsers) }

    var json: JSONValue {
        var total = 0
        let hours = (0..<plan.hours).map { hour -> JSONValue in
            let count = plan.attestations(inHour: hour)
            total += count
            return [
                "hour": .integer(hour), "attestations": .integer(count), "total": .integer(total),
                "percent": .number(round(10_000 * Double(total) / Double(plan.dailyUsers)) / 100),
            ]
        }
        return [
            "schema": "sealward.ramp/1",
            "dailyUsers": .integer(plan.dailyUsers),
            "limits": ["perSecond": .number(plan.limits.perSecond), "perDay": .number(plan.limits.perDay)],
            "fullPacePerSecond": .number(round(plan.fullPace / 36) / 100),
            "hours": .integer(plan.hours),
            "days": .number(round(plan.days * 10) / 10),
            "daysAtTheLimit": .number(round(plan.daysAtTheLimit * 10) / 10),
            "advice2021": [
                "days": .number(round(days2021 * 10) / 10), "perSecond": .number(round(perSecond2021 * 10) / 10),
                "citation": .string(AdvisedPace.advice2021.source),
            ],
            "plan": .array(hours),
        ]
    }

    var text: String {
        var lines = [
            "\(grouped(plan.dailyUsers)) daily users",
            "  limit            \(short(plan.limits.perHour / 3600)) a second, the tighter of \(short(plan.limits.perSecond)) a second and \(grouped(Int(plan.limits.perDay))) a day",
            "  this plan        \(short(plan.days)) days (\(grouped(plan.hours)) hours), full pace \(short(plan.fullPace / 3600)) a second after the first day",
            "  at the limit     \(short(plan.daysAtTheLimit)) days without the slower first day",
            "  advice of 2021   about \(short(days2021)) days, on average \(short(perSecond2021)) a second\(perSecond2021 > plan.limits.perHour / 3600 ? ", which is above the limit" : "")",
            "",
            "         hour      attestations             total   percent",
        ]
        var total = 0
        for hour in 0..<plan.hours {
            total += plan.attestations(inHour: hour)
            // Two days by the hour; after that nothing changes but the total, so one line a day or month is enough.
            let step = plan.hours <= 24 * 14 ? 24 : plan.hours <= 24 * 200 ? 24 * 7 : 24 * 30
            guard hour < 36 || hour % step == 0 || hour == plan.hours - 1 else { continue }
            let hundredths = Int((100 * (100 * Double(total) / Double(plan.dailyUsers))).rounded())
            let percent = "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
            lines.append(
                "\(hour)".aligned(to: 13) + grouped(plan.attestations(inHour: hour)).aligned(to: 18)
                    + grouped(total).aligned(to: 18) + percent.aligned(to: 10))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func short(_ number: Double) -> String {
        number >= 100 ? grouped(Int(number.rounded())) : FleetTally.decimal(number).replacing(".0", with: "")
    }

    private func grouped(_ number: Int) -> String { number.grouped(by: " ") }
}

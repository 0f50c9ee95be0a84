// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TrustTokens

@Suite struct RampPlanTests {
    struct Figure: Sendable {
        let users: Int
        let hours: ClosedRange<Int>
        let days: ClosedRange<Double>
        let days2021: ClosedRange<Double>
    }

    @Test(
        "the figures that Apple names",
        arguments: [
            // A million: a day or two.
            Figure(users: 1_000_000, hours: 30...48, days: 1.25...2, days2021: 1...1),
            // A billion: a month by the advice of 2021, 116 days at 100 a second.
            Figure(users: 1_000_000_000, hours: 2780...2800, days: 115.5...116.5, days2021: 29.9...31),
            // Ten billion, as one seed's subtitle has it.
            Figure(users: 10_000_000_000, hours: 27_770...27_800, days: 1157...1158.5, days2021: 90...95),
        ]
    )
    func figures(_ figure: Figure) {
        let plan = RampPlan(dailyUsers: figure.users)
        #expect(figure.hours.contains(plan.hours), "\(plan.hours)")
        #expect(figure.days.contains(plan.days), "\(plan.days)")
        #expect(figure.days2021.contains(AdvisedPace.days2021(dailyUsers: figure.users)))
    }

    @Test("a billion at 100 a second takes 10 000 000 seconds, which is 116 days")
    func billion() {
        let plan = RampPlan(dailyUsers: 1_000_000_000)
        #expect((plan.daysAtTheLimit * 86_400).rounded() == 10_000_000)
        #expect(plan.daysAtTheLimit.rounded(.up) == 116)
        #expect(plan.days.rounded() == 116)
    }

    @Test("the hours add up to all users and never pass a limit", arguments: [1, 23, 1000, 1_000_000, 30_000_000])
    func sums(_ users: Int) {
        let plan = RampPlan(dailyUsers: users, limits: RampLimits(perSecond: 50, perDay: 2_000_000))
        var total = 0
        var before = 0
        for hour in 0..<plan.hours {
            let count = plan.attestations(inHour: hour)
            #expect(Double(count) <= plan.limits.perHour + 1)
            if hour < RampPlan.climb, hour + 1 < plan.hours { #expect(count >= before - 1) }
            before = count
            total += count
        }
        #expect(total == users)
        #expect(plan.attestations(inHour: plan.hours) == 0 && plan.attestations(inHour: -1) == 0)
    }

    @Test("hours outside of the plan have no attestations", arguments: [Int.min, -1, 1_000_000, Int.max])
    func outside(_ hour: Int) {
        #expect(RampPlan(dailyUsers: 1000).attestations(inHour: hour) == 0)
    }

    @Test("a place's turn and the share at that time are one", arguments: [1000, 1_000_000, 1_000_000_000])
    func inverse(_ users: Int) {
        let plan = RampPlan(dailyUsers: users)
        for place in stride(from: 0.0, to: 1, by: 0.01) {
            #expect(abs(plan.share(after: plan.turn(of: place)) - place) < 1e-6)
        }
        #expect(plan.share(after: -1) == 0 && plan.share(after: 1e18) == 1)
    }

    @Test("the day's limit holds where it is the tighter one")
    func perDay() {
        let plan = RampPlan(dailyUsers: 100_000_000, limits: RampLimits(perSecond: 1000))
        #expect(plan.fullPace * 24 <= 10_000_001)
    }

    @Test("senseless numbers are moved to sensible ones", arguments: [Int.min, -1, 0, Int.max])
    func extremes(_ users: Int) {
        let plan = RampPlan(dailyUsers: users, limits: RampLimits(perSecond: -.infinity, perDay: .nan))
        #expect(plan.hours > 0 && plan.seconds.isFinite)
    }
}

@Suite struct RampTests {
    static let start = Date(timeIntervalSince1970: 1_795_000_000)
    static let ids = (0..<5000).map { "installation-\($0)" }

    func share(_ ramp: Ramp, at instant: Date) -> Double {
        Double(Self.ids.count { ramp.decide(installation: $0, app: "app", at: instant).attest })
            / Double(Self.ids.count)
    }

    @Test("places are even, fixed, and other for another app")
    func places() {
        let places = Self.ids.map { RampPlace.of(installation: $0, app: "app") }
        for tenth in 0..<10 {
            let inTenth = places.count { Int($0 * 10) == tenth }
            #expect((400...600).contains(inTenth), "\(inTenth) of 5000 in tenth \(tenth)")
        }
        #expect(RampPlace.of(installation: "A", app: "app") == RampPlace.of(installation: "A", app: "app"))
        #expect(RampPlace.of(installation: "A", app: "app") != RampPlace.of(installation: "A", app: "other"))
        #expect(RampPlace.of(installation: "b", app: "a") != RampPlace.of(installation: "", app: "ab"))
        // Written down, so that no later version moves installations about.
        #expect(Int(RampPlace.of(installation: "A", app: "app") * 1_000_000) == RampTests.placeOfA)
    }

    static let placeOfA = 80_228

    @Test("the share that attests follows the plan, and nobody's turn is taken back")
    func following() {
        let plan = RampPlan(dailyUsers: 1_000_000)
        let ramp = Ramp(.plan(plan, start: Self.start))
        var before: Set<String> = []
        for hour in [0, 1, 6, 12, 24, 30, 40] {
            let instant = Self.start + Double(hour) * 3600
            #expect(abs(share(ramp, at: instant) - plan.share(after: Double(hour) * 3600)) < 0.03)
            let now = Set(Self.ids.filter { ramp.decide(installation: $0, app: "app", at: instant).attest })
            #expect(before.isSubset(of: now))
            before = now
        }
        #expect(share(ramp, at: Self.start - 10) == 0)
        #expect(share(ramp, at: Self.start + 1e7) == 1)
    }

    @Test("who waits as long as told has its turn")
    func waiting() {
        let ramp = Ramp(.plan(RampPlan(dailyUsers: 5_000_000), start: Self.start))
        let instant = Self.start + 4000
        for id in Self.ids.prefix(500) {
            let decision = ramp.decide(installation: id, app: "app", at: instant)
            if decision.attest { continue }
            #expect(decision.notBeforeSeconds > 0)
            #expect(ramp.decide(installation: id, app: "app", at: instant + Double(decision.notBeforeSeconds)).attest)
        }
    }

    @Test("a pause lets nobody in")
    func pause() {
        let ramp = Ramp(.plan(RampPlan(dailyUsers: 1_000_000), start: Self.start), isPaused: true)
        let instant = Self.start + 10 * 3600
        #expect(share(ramp, at: instant) == 0 && ramp.share(at: instant) == 0)
        #expect(ramp.decide(installation: "x", app: "app", at: instant).notBeforeSeconds > 0)
    }

    @Test("a fixed share", arguments: [0.0, 10, 50, 100])
    func percent(_ percent: Double) {
        #expect(abs(share(Ramp(.percent(percent)), at: Self.start) - percent / 100) < 0.03)
    }
}

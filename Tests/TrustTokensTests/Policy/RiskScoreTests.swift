// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing
import Vocabulary

@testable import TrustTokens

@Suite struct RiskScoreTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let codes: [String]
        let tier: TrustTier
        let change: @Sendable (inout RiskSignals) -> Void
    }

    @Test func reasonsHaveTheContractsNames() {
        var signals = RiskSignals()
        #expect(RiskScore(signals).reasons == [])
        signals.isNewKey = true
        #expect(RiskScore(signals).reasons == ["newKey"] && RiskScore(signals).points == 0)
        (signals.metric, signals.hasCategorySurprise, signals.unsupportedReports) = (.max, true, 9)
        #expect(RiskScore(signals).reasons == ["newKey", "riskAboveBaseline", "category"])
    }

    static let singles: [Case] = [
        Case(testDescription: "unsupported", codes: ["risk.unsupported"], tier: .high) { $0.unsupportedReports = 1000 },
        Case(testDescription: "transient", codes: ["risk.failures.transient"], tier: .high) {
            $0.failures[.transient] = 1000
        },
        Case(testDescription: "replay", codes: ["risk.failures.replay"], tier: .standard) {
            $0.failures[.replay] = 1000
        },
        Case(testDescription: "forgery", codes: ["risk.failures.forgery"], tier: .standard) {
            $0.failures[.forgery] = .max
        },
        Case(testDescription: "many keys", codes: ["risk.user.many-keys"], tier: .standard) { $0.keysOfUser = .max },
        Case(testDescription: "many users", codes: ["risk.key.many-users"], tier: .standard) { $0.usersOfKey = .max },
        Case(testDescription: "metric", codes: ["risk.metric.above-baseline"], tier: .standard) { $0.metric = .max },
        Case(testDescription: "gap", codes: ["risk.counter.gap"], tier: .high) { $0.largestCounterGap = .max },
        Case(testDescription: "environment", codes: ["risk.environment"], tier: .standard) {
            $0.hasEnvironmentSurprise = true
        },
        Case(testDescription: "category", codes: ["risk.category"], tier: .standard) { $0.hasCategorySurprise = true },
        Case(testDescription: "extensions", codes: ["risk.extensions.missing"], tier: .standard) {
            $0.lacksExpectedExtensions = true
        },
        Case(testDescription: "marks", codes: ["risk.device.marked"], tier: .standard) {
            $0.deviceMarks = ["fraud", "refund", "third"]
        },
    ]

    @Test("one signal alone, however loud, has its name, and is never the low tier", arguments: singles)
    func single(_ one: Case) {
        var signals = RiskSignals()
        one.change(&signals)
        let score = RiskScore(signals)
        #expect(score.contributions.map(\.code.rawValue) == one.codes)
        #expect(score.tier == one.tier)
        #expect(score.points <= RiskScore.largestContribution)
    }

    @Test("an ordinary key has no points and the high tier")
    func ordinary() {
        var signals = RiskSignals()
        signals.metric = 2
        signals.baseline = MetricBaseline(counts: [(1, 900), (2, 80), (3, 20)])
        signals.keysOfUser = 3
        signals.failures = [.transient: 4, .replay: 1]
        signals.largestCounterGap = 5
        #expect(RiskScore(signals) == RiskScore(RiskSignals()))
        #expect(RiskScore(signals).tier == .high && RiskScore(signals).points == 0)
    }

    @Test("several signals together do: each is listed, the loudest first")
    func several() {
        var signals = RiskSignals()
        signals.metric = 40
        signals.keysOfUser = 12
        signals.failures[.forgery] = 1
        let score = RiskScore(signals)
        #expect(score.contributions.count == 3)
        #expect(score.contributions.map(\.points) == score.contributions.map(\.points).sorted(by: >))
        #expect(score.points == score.contributions.reduce(0) { $0 + $1.points })
        #expect(score.tier == .low)
    }
}

@Suite struct MetricBaselineTests {
    @Test("one device with forty keys among two hundred honest ones is noticed, and does not move the usual")
    func broker() {
        let honest = [(metric: 1, keys: 170), (metric: 2, keys: 40), (metric: 3, keys: 30)]
        let counts = honest + [(metric: 40, keys: 40)]
        let baseline = MetricBaseline(counts: counts)
        #expect(baseline.median == 1 && baseline.threshold == 8)
        let alert = baseline.alert(counts: counts)
        #expect(alert?.highestMetric == 40 && alert?.keys == 40)
        #expect(baseline.alert(counts: honest) == nil)
        #expect(baseline.excess(of: 8) == 0 && baseline.excess(of: 40) > baseline.excess(of: 9))
    }

    @Test("an app whose users reinstall all the time has a higher threshold")
    func busy() {
        let baseline = MetricBaseline(counts: [(4, 400), (5, 500), (6, 60)])
        #expect(baseline.threshold == 16 || baseline.threshold == 20)
    }

    @Test("nothing and nonsense")
    func empty() {
        #expect(MetricBaseline.unknown.threshold == 8 && MetricBaseline.unknown.alert(counts: []) == nil)
        let odd = MetricBaseline(counts: [(Int.max, 1), (-5, 3), (0, -2)])
        #expect(odd.threshold >= 8)
        #expect(MetricBaseline(counts: [(Int.max, 1)]).threshold == Int.max)
    }
}

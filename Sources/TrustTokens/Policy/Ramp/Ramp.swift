// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// Which installations attest at an instant.
package struct Ramp: Sendable, Equatable {
    /// How the share of installations grows.
    package enum Rule: Sendable, Equatable {
        /// By plan, from the start on.
        case plan(RampPlan, start: Date)
        /// A fixed share, 0 ... 100, that the operator raises by hand.
        case percent(Double)
    }

    /// How the share grows.
    package var rule: Rule
    /// Whether no further installation is let in now. Those whose turn it was already are not asked to attest either.
    package var isPaused: Bool

    package init(_ rule: Rule, isPaused: Bool = false) {
        self.rule = rule
        self.isPaused = isPaused
    }

    /// Everybody attests.
    package static let open = Ramp(.percent(100))

    /// The turn of one installation. The same installation of the same app always has the same place.
    package func decide(installation: String, app: String, at instant: Date) -> RampDecision {
        let place = RampPlace.of(installation: installation, app: app)
        if isPaused { return RampDecision(attest: false, notBeforeSeconds: RampDecision.recheck) }
        switch rule {
        case .percent(let percent):
            let isIn = place * 100 < percent
            return RampDecision(attest: isIn, notBeforeSeconds: isIn ? 0 : RampDecision.recheck)
        case .plan(let plan, let start):
            let wait = plan.turn(of: place) - instant.timeIntervalSince(start)
            if wait <= 0 { return RampDecision(attest: true, notBeforeSeconds: 0) }
            return RampDecision(attest: false, notBeforeSeconds: Int(min(wait.rounded(.up), 1e9)))
        }
    }

    /// The share of the installations, 0 ... 1, that attests at an instant; 0 while paused.
    package func share(at instant: Date) -> Double {
        if isPaused { return 0 }
        switch rule {
        case .percent(let percent): return min(max(percent / 100, 0), 1)
        case .plan(let plan, let start): return plan.share(after: instant.timeIntervalSince(start))
        }
    }
}

/// What an installation is told.
package struct RampDecision: Sendable, Equatable {
    /// Whether to attest now.
    package let attest: Bool
    /// In how many seconds to ask again or to attest; 0 if `attest` is true.
    package let notBeforeSeconds: Int

    /// When the turn is not known (paused, fixed share): ask again in an hour.
    static let recheck = 3600
}

/// Where an installation stands in line.
package enum RampPlace {
    /// A place in 0 ..< 1, even over all installations, the same on every node and in every version: FNV-1a over app and
    /// installation, mixed by the finaliser of SplitMix64. It is no secret and protects nothing: who forges a place attests earlier.
    package static func of(installation: String, app: String) -> Double {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in [Array(app.utf8), [0], Array(installation.utf8)].joined() {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
        }
        hash = (hash ^ hash >> 30) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ hash >> 27) &* 0x94D0_49BB_1331_11EB
        hash ^= hash >> 31
        return Double(hash >> 11) / Double(1 << 53)
    }
}

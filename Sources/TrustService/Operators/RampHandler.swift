// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import HTTPService
import TrustTokens
import Vocabulary

/// Tells installations when to attest.
struct RampHandler: Handler {
    let apps: AppDirectory

    var routes: [Route] { [Route("ramp", "GET", "/v1/apps/{app}/ramp", .app, ramp)] }

    /// `GET /v1/apps/{app}/ramp?installation=ID`: the same installation always has the same place.
    @Sendable private func ramp(_ call: Call) async throws -> Answer {
        let app = try apps.app(call)
        guard let installation = call.queryValue("installation"), !installation.isEmpty,
            installation.unicodeScalars.count <= 256
        else {
            throw Problem(.requestMalformed, evidence: "installation is missing or longer than 256 characters")
        }
        let ramp = app.settings.mode == .off ? Ramp(.percent(0)) : app.settings.ramp?.policy ?? .open
        let decision = ramp.decide(installation: installation, app: app.settings.id, at: call.now)
        return .json(["attest": .bool(decision.attest), "notBeforeSeconds": .integer(decision.notBeforeSeconds)])
    }
}

extension Configuration.Ramp {
    /// The ramp as the policy knows it: by plan if users and a start are given, else by share, else open.
    var policy: Ramp {
        if let percent { return Ramp(.percent(percent), isPaused: paused) }
        guard let dailyActiveUsers else {
            // Only a start: closed before it, open after it.
            if let start { return Ramp(.plan(RampPlan(dailyUsers: 1), start: start), isPaused: paused) }
            return Ramp(.percent(100), isPaused: paused)
        }
        let limits = maxPerSecond.map { RampLimits(perSecond: $0) } ?? .advised
        let plan = RampPlan(dailyUsers: dailyActiveUsers, limits: limits)
        return Ramp(.plan(plan, start: start ?? Date(timeIntervalSince1970: 0)), isPaused: paused)
    }
}

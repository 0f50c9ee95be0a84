// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import TrustTokens
import Vocabulary

/// When installations attest, what those report that cannot, and what operators see of the risk of their app.
struct RiskHandler: Handler {
    let parts: ServiceParts

    var routes: [Route] {
        [
            Route("ramp", "GET", "/v1/apps/{app}/ramp", .app, ramp),
            Route("signal", "POST", "/v1/apps/{app}/signals", .app, signal),
            Route("risk", "GET", "/v1/apps/{app}/risk", .read, risk),
        ]
    }

    /// `GET /v1/apps/{app}/ramp?installation=ID`: the same installation always has the same place.
    @Sendable private func ramp(_ call: Call) async throws -> Answer {
        let app = try parts.apps.app(call)
        guard let installation = call.queryValue("installation"), !installation.isEmpty,
            installation.unicodeScalars.count <= 256
        else {
            throw Problem(.requestMalformed, evidence: "installation is missing or longer than 256 characters")
        }
        let ramp = app.settings.mode == .off ? Ramp(.percent(0)) : app.settings.ramp?.policy ?? .open
        let decision = ramp.decide(installation: installation, app: app.settings.id, at: call.now)
        return .json(["attest": .bool(decision.attest), "notBeforeSeconds": .integer(decision.notBeforeSeconds)])
    }

    /// The codes that an app may report: `DCError` by name, and what happens around it.
    private static let signalCodes: Set<String> = [
        "unsupported", "unknownSystemFailure", "featureUnsupported", "invalidInput", "invalidKey", "serverUnavailable",
        "network", "timeout", "throttled", "extension", "other",
    ]

    /// `POST /v1/apps/{app}/signals`: a word from a client that could not prove itself. Counted, never believed.
    @Sendable private func signal(_ call: Call) async throws -> Answer {
        let app = try parts.apps.app(call)
        let body = try RequestBody(call.body)
        let kind = try body.string("kind", limit: 32)
        guard kind == EventKind.unsupported || kind == EventKind.clientError else {
            throw Problem(.requestMalformed, evidence: "kind must be unsupported or clientError")
        }
        let code =
            try body.optionalString("code", limit: 64) ?? (kind == EventKind.unsupported ? "unsupported" : "other")
        guard RiskHandler.signalCodes.contains(code) else {
            throw Problem(.requestMalformed, evidence: "code is not in the list")
        }
        if let version = try body.optionalString("osVersion", limit: 32) {
            guard version.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else {
                throw Problem(.requestMalformed, evidence: "osVersion must be printable ASCII")
            }
        }
        await parts.signals.countOnce(app.settings.id, kind: kind, code: code, address: call.address, at: call.now)
        parts.observer.count(.signals, [("kind", kind), ("code", code)])
        return .empty(202)
    }

    @Sendable private func risk(_ call: Call) async throws -> Answer {
        let app = try parts.apps.app(call)
        await parts.signals.flush()
        let standing = try await parts.risk.standing(of: app.settings.id, at: call.now)
        let metrics: [JSONValue] = standing.metrics.map {
            ["environment": .string($0.environment), "metric": .integer($0.metric), "keys": .integer($0.keys)]
        }
        return .json([
            "app": .string(app.settings.id), "metrics": .array(metrics),
            "baseline": .optional(parts.risk.baselines[app.settings.id]?.threshold),
            "unsupported": [
                "ratio": .number(standing.support.recentRatio), "usual": .number(standing.support.usualRatio),
                "addresses": .integer(standing.unsupportedAddresses), "attested": .integer(standing.attestedAddresses),
                "windowHours": 24,
            ],
            "alerts": .array(
                standing.alerts.map { ["code": .string($0.code.rawValue), "message": .string($0.message)] }),
        ])
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

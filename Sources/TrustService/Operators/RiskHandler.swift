// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import HTTPService
import TrustTokens
import Vocabulary

/// What operators see of an app's risk.
struct RiskHandler: Handler {
    let apps: AppDirectory
    let signals: SignalBook
    let watch: RiskWatch

    var routes: [Route] { [Route("risk", "GET", "/v1/apps/{app}/risk", .read, risk)] }

    /// `GET /v1/apps/{app}/risk`.
    @Sendable private func risk(_ call: Call) async throws -> Answer {
        let app = try apps.app(call)
        await signals.flush()
        let standing = try await watch.standing(of: app.settings.id, at: call.now)
        let metrics: [JSONValue] = standing.metrics.map {
            ["environment": .string($0.environment), "metric": .integer($0.metric), "keys": .integer($0.keys)]
        }
        return .json([
            "app": .string(app.settings.id), "metrics": .array(metrics),
            "baseline": .optional(watch.baselines[app.settings.id]?.threshold),
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

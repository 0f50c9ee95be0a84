// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import StrictJSON
import TrustStores

/// Whether the service lives and is ready, what it counts, and its description.
struct HealthHandler: Handler {
    let probe: StoreProbe
    let observer: RequestObserver

    var routes: [Route] {
        [
            Route("live", "GET", "/livez", .open, live),
            Route("ready", "GET", "/readyz", .open, ready),
            Route("metrics", "GET", "/metrics", .metrics) { _ in metrics() },
            Route("openAPI", "GET", "/openapi.yaml", .app) { _ in
                .text(OpenAPIDocument.text, contentType: "application/yaml")
            },
        ]
    }

    /// `GET /livez`: the process answers.
    @Sendable private func live(_ call: Call) -> Answer { .json(["status": "live"]) }

    /// `GET /readyz`: the store commits a write, its schema is this program's, and the clock is right. The store is asked once a second at most,
    /// however many ask here.
    @Sendable private func ready(_ call: Call) async throws -> Answer {
        do {
            let reading = try await probe.check()
            try await watchClock(reading, at: call.now)
        } catch {
            observer.set("ready", 0)
            throw error
        }
        observer.set("ready", 1)
        return .json(["status": "ready"])
    }

    /// How far the clock may be off against the store, and the horizon ahead of the clock, while the node is ready.
    static let clockTolerance = StoreClock.largestOffset

    private func watchClock(_ reading: StoreReading, at now: Date) async throws {
        let lead = reading.horizonLead(at: now)
        observer.set("horizon.lead.seconds", lead.inSeconds)
        if let offset = reading.offset(of: now) {
            observer.set("clock.offset.seconds", offset.inSeconds)
            guard abs(offset.inSeconds) <= HealthHandler.clockTolerance.inSeconds else {
                throw Problem(
                    .storeClockOff,
                    retryAfterSeconds: 5,
                    evidence: "the clock is \(Int(offset.inSeconds)) s ahead of the store's"
                )
            }
        }
        guard lead <= HealthHandler.clockTolerance else {
            throw Problem(
                .storeClockOff,
                retryAfterSeconds: 5,
                evidence: "the store's horizon is \(Int(lead.inSeconds)) s ahead of the clock"
            )
        }
    }

    /// `GET /metrics`.
    private func metrics() -> Answer {
        .text(observer.registry.render(), contentType: "text/plain; version=0.0.4; charset=utf-8")
    }
}

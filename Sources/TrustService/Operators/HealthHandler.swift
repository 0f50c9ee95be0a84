// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CContracts
import Formats
import HTTPService
import TrustStores

/// Whether the service lives and is ready, what it counts, and its description.
struct HealthHandler: Handler {
    let parts: ServiceParts

    var routes: [Route] {
        [
            Route("live", "GET", "/livez", .open) { _ in .json(["status": "live"]) },
            Route("ready", "GET", "/readyz", .open, ready),
            Route("metrics", "GET", "/metrics", .metrics) { _ in
                .text(parts.observer.scrape(), contentType: "text/plain; version=0.0.4; charset=utf-8")
            },
            Route("openAPI", "GET", "/openapi.yaml", .app) { _ in
                .text(OpenAPIDocument.text, contentType: "application/yaml")
            },
        ]
    }

    /// `GET /readyz`: the store commits a write, its schema is this program's, and the clock is right.
    @Sendable private func ready(_ call: Call) async throws -> Answer {
        try await parts.readiness.check(at: call.now)
        guard let (code, seconds) = parts.readiness.clockFault?.summary else { return .json(["status": "ready"]) }
        return .json(["status": "ready", "clockFault": ["code": .string(code), "seconds": .integer(seconds)]])
    }
}

/// The contract as it is served at `/openapi.yaml`: the file `docs/openapi.yaml`, which the build puts into the program.
package enum OpenAPIDocument {
    // Safe: it lives as long as the program, and a zero byte ends it.
    package static let text = unsafe String(cString: sealward_service_contract())
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import TrustStores

extension ServiceCore {
    /// `GET /livez`: the process answers.
    func live(_ call: Call) -> Answer { .json(["status": "live"]) }

    /// `GET /readyz`: the store answers a read and a write.
    func ready(_ call: Call) async throws -> Answer {
        try await store.check()
        return .json(["status": "ready"])
    }

    /// `GET /metrics`.
    func metrics(_ call: Call) -> Answer {
        .text(observer.registry.render(), contentType: "text/plain; version=0.0.4; charset=utf-8")
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import HTTPService
import TrustStores
import Vocabulary

/// Counts what clients report that could not prove themselves.
struct SignalHandler: Handler {
    let apps: AppDirectory
    let signals: SignalBook
    let observer: RequestObserver

    var routes: [Route] { [Route("signal", "POST", "/v1/apps/{app}/signals", .app, signal)] }

    /// The codes that an app may report: `DCError` by name, and what happens around it.
    private static let signalCodes: Set<String> = [
        "unsupported", "unknownSystemFailure", "featureUnsupported", "invalidInput", "invalidKey", "serverUnavailable",
        "network", "timeout", "throttled", "extension", "other",
    ]

    /// `POST /v1/apps/{app}/signals`: a word from a client that could not prove itself. Counted, never believed.
    @Sendable private func signal(_ call: Call) async throws -> Answer {
        let app = try apps.app(call)
        let body = try RequestBody(call.body)
        let kind = try body.string("kind", limit: 32)
        guard kind == EventKind.unsupported || kind == EventKind.clientError else {
            throw Problem(.requestMalformed, evidence: "kind must be unsupported or clientError")
        }
        let code =
            try body.optionalString("code", limit: 64) ?? (kind == EventKind.unsupported ? "unsupported" : "other")
        guard SignalHandler.signalCodes.contains(code) else {
            throw Problem(.requestMalformed, evidence: "code is not in the list")
        }
        if let version = try body.optionalString("osVersion", limit: 32) {
            guard version.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else {
                throw Problem(.requestMalformed, evidence: "osVersion must be printable ASCII")
            }
        }
        await signals.countOnce(app.settings.id, kind: kind, code: code, address: call.address, at: call.now)
        observer.count(.signals, [("kind", kind), ("code", code)])
        return .empty(202)
    }
}

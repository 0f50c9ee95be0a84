// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import HTTPService
import TrustStores
import Vocabulary

/// Registers keys for apps.
struct AttestationHandler: Handler {
    let apps: AppDirectory
    let modes: ModeAnswers
    let proofs: ProofIntake
    let users: UserNames

    var routes: [Route] { [Route("attest", "POST", "/v1/apps/{app}/attestations", .app, attest)] }

    /// `POST /v1/apps/{app}/attestations`.
    @Sendable private func attest(_ call: Call) async throws -> Answer {
        let app = try apps.app(call)
        let body = try RequestBody(call.body)
        let presented = PresentedAttestation(
            keyId: try body.keyId(), attestation: try body.bytes("attestation"), challenge: try body.bytes("challenge"),
            clientData: try body.optionalClientData(), user: try body.user().map(users.stored))
        if app.settings.mode == .off { return .unjudged }
        return try await modes.judged(app, call, keyId: presented.keyId) {
            try await proofs.register(presented, app, call).map { registered in
                let key = registered.key
                return .json(
                    [
                        "keyId": .string(key.id.base64), "environment": .string(key.environment),
                        "validationCategory": .optional(key.validationCategory),
                        "bundleVersion": .optional(key.bundleVersion),
                    ],
                    status: registered.isNew ? 201 : 200
                )
            }
        }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPService

/// Lets operators replace the secrets of the store.
struct SecretHandler: Handler {
    let operators: OperatorService

    var routes: [Route] {
        [
            Route("rotateChallengeKey", "POST", "/v1/challenge-keys/rotate", .admin) { call in
                .json(try await operators.rotate(OperatorService.challenges, for: call.caller, at: call.now))
                    .about(.app(nil))
            },
            Route(AuditTarget.secretOperation, "POST", "/v1/secrets/{name}/rotate", .admin) { call in
                let name = call.parameters["name"] ?? ""
                return .json(try await operators.rotate(name, for: call.caller, at: call.now)).about(.secret(name))
            },
        ]
    }
}

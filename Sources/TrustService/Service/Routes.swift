// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings

extension ServiceCore {
    /// Every operation of the service, in the order of the contract.
    var routes: RouteTable {
        RouteTable(allRoutes.map(audited))
    }

    /// What servers and operators call is recorded once it was accepted.
    private func audited(_ route: Route) -> Route {
        switch route.access {
        case .open, .app, .metrics: return route
        case .server, .admin, .audit:
            return Route(route.operation, route.method, route.template, route.access) { call in
                let answer = try await route.handler(call)
                await record(call, answer)
                return answer
            }
        }
    }

    private var allRoutes: [Route] {
        [
            Route("authorize", "GET", "/v1/authorize", .open) { try await authorize($0) },
            Route("assert", "POST", "/v1/apps/{app}/assertions", .app) { try await assert($0) },
            Route("issueChallenge", "POST", "/v1/apps/{app}/challenges", .app) { try await issueChallenge($0) },
            Route("attest", "POST", "/v1/apps/{app}/attestations", .app) { try await attest($0) },
            Route("issueToken", "POST", "/v1/apps/{app}/tokens", .app) { try await issueToken($0) },
            Route("claimPromotion", "POST", "/v1/apps/{app}/promotions/{name}/claim", .app) {
                try await claimPromotion($0)
            },
            Route("signal", "POST", "/v1/apps/{app}/signals", .app) { try await signal($0) },
            Route("ramp", "GET", "/v1/apps/{app}/ramp", .app) { try await ramp($0) },
            Route("keySet", "GET", "/.well-known/jwks.json", .open) { _ in keySet(simulated: false) },
            Route("simulatedKeySet", "GET", "/simulator/.well-known/jwks.json", .open) { _ in keySet(simulated: true) },
            Route("consumeToken", "POST", "/v1/tokens/consume", .server) { try await consume($0) },
            Route("queryBits", "POST", "/v1/devicecheck/query", .server) { try await queryBits($0) },
            Route("updateBits", "POST", "/v1/devicecheck/update", .server) { try await updateBits($0) },
            Route("validateDevice", "POST", "/v1/devicecheck/validate", .server) { try await validateDevice($0) },
            Route("claimPromotionForServer", "POST", "/v1/promotions/{name}/claim", .server) {
                try await claimPromotionForServer($0)
            },
            Route("listKeys", "GET", "/v1/keys", .admin) { try await listKeys($0) },
            Route("showKey", "GET", "/v1/keys/{keyId}", .admin) { try await showKey($0) },
            Route("revokeKey", "POST", "/v1/keys/{keyId}/revoke", .admin) { try await revokeKey($0) },
            Route("deleteKey", "DELETE", "/v1/keys/{keyId}", .admin) { try await deleteKey($0) },
            Route("deleteUser", "DELETE", "/v1/users/{user}", .admin) { try await deleteUser($0) },
            Route("revokeKeys", "POST", "/v1/apps/{app}/revocations", .admin) { try await revokeKeys($0) },
            Route("rotateChallengeKey", "POST", "/v1/challenge-keys/rotate", .admin) {
                try await rotateChallengeKey($0)
            },
            Route("readAudit", "GET", "/v1/audit", .audit) { try await readAudit($0) },
            Route("risk", "GET", "/v1/apps/{app}/risk", .admin) { try await risk($0) },
            Route("live", "GET", "/livez", .open) { live($0) },
            Route("ready", "GET", "/readyz", .open) { try await ready($0) },
            Route("metrics", "GET", "/metrics", .metrics) { metrics($0) },
            Route("openAPI", "GET", "/openapi.yaml", .app) { _ in
                .text(OpenAPIDocument.text, contentType: "application/yaml")
            },
        ]
    }
}

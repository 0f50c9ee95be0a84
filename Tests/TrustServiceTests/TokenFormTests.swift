// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TrustService

/// What a library of others reads of a token.
private struct Claims: Decodable {
    var iss: String
    var aud: String
    var sub: String
    var jti: String
    var iat: Int
    var exp: Int
    var key: String
    var tier: String
    var env: String
    var sim: Bool
    var singleUse: Bool?
    var reasons: [String]
}

/// Tokens as others read them, with the published keys alone.
@Suite struct TokenFormTests {
    @Test(.enabled(if: PyJWT.isThere, PyJWT.needs), arguments: [false, true])
    func aLibraryOfOthersReadsIt(_ singleUse: Bool) async throws {
        try await RunningService.with { service in
            let token = try await AuthorizationTests.token(service, "shop", RunningService.app, singleUse: singleUse)
            let published = try await service.get("/simulator/.well-known/jwks.json")
            let claims = try PyJWT.claims(of: token, keys: published.body, as: Claims.self)
            #expect(claims.iss == "sealward/simulator" && claims.aud == "sealward")
            #expect(claims.sub == "TEAM123456.com.example.shop" && claims.sim && !claims.jti.isEmpty)
            #expect(claims.exp - claims.iat == (singleUse ? 300 : 3600))
            #expect(claims.singleUse == (singleUse ? true : nil))
        }
    }
}

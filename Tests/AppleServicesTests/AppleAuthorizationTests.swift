// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import Foundation
import Testing

@Suite struct AppleAuthorizationTests {
    private let team = Team()

    @Test func tokenNamesTeamAndKeyAndVerifies() async throws {
        let token = try await team.authorization().token(at: team.instant)
        let opened = try #require(try team.open(token))
        #expect(opened.header["alg"] as? String == "ES256")
        #expect(opened.header["kid"] as? String == "KEY7890123")
        #expect(opened.claims["iss"] as? String == "TEAM123456")
        #expect(opened.claims["iat"] as? Int == 1_795_250_000)
        #expect(opened.claims.count == 2)
    }

    @Test(arguments: [(0.0, true), (2399, true), (2400, false), (-1, false), (86_400, false)])
    func tokenIsKeptForItsLifetime(after seconds: Double, kept: Bool) async throws {
        let authorization = try await team.authorization()
        let first = try await authorization.token(at: team.instant)
        let second = try await authorization.token(at: team.instant.addingTimeInterval(seconds))
        #expect((first == second) == kept)
    }

    @Test func ofManyRefusalsOneMakesANewToken() async throws {
        let authorization = try await team.authorization()
        let refused = try await authorization.token(at: team.instant)
        let later = team.instant.addingTimeInterval(1)
        let renewed = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 {
                group.addTask { try await authorization.token(at: later, insteadOf: refused) }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(renewed.count == 1)
        #expect(!renewed.contains(refused))
    }

    @Test(arguments: ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "not a key"])
    func refusesWhatIsNoKey(pem: String) async {
        await #expect(throws: AppleAuthorizationFault.self) {
            try await AppleAuthorization(teamId: "T", keyId: "K", privateKeyPEM: pem)
        }
    }
}

@Suite struct AppleEndpointTests {
    @Test(arguments: [
        "https://data.appattest.apple.com", "https://data.appattest.apple.com/",
        "https://stand-in.test:8443/development",
        "http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:80/x", "http://127.8.9.10",
    ])
    func takes(text: String) throws {
        let endpoint = try #require(AppleEndpoint(text))
        #expect(!endpoint.baseURL.hasSuffix("/"))
        #expect(endpoint.url("/v1/x").hasSuffix("/v1/x"))
    }

    @Test(arguments: [
        "", "data.appattest.apple.com", "http://data.appattest.apple.com", "http://127.0.0.1.evil.test", "https://",
        "https://user@host", "https://host?x", "https://host#x", "https://host:0", "https://host:99999",
        "https://ho st",
        "ftp://127.0.0.1", "http://localhost.evil.test", "http://127.0.0.1:80@evil.test", "https://[::1",
        "http://0.0.0.0",
    ])
    func refuses(text: String) {
        #expect(AppleEndpoint(text) == nil)
    }
}

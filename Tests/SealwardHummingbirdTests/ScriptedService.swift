// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import Foundation
import NIOConcurrencyHelpers
import TrustTokens
import Vocabulary

@testable import SealwardHummingbird

/// A trust service of a script: keys to publish, answers to give, and every question that was asked.
final class ScriptedService: GateTransport, Sendable {
    struct State {
        var keys: [String: [P256.Signing.PrivateKey]] = [:]
        var isDown = false
        /// The list of revoked keys; the first production key signs it.
        var list = TestList()
        var authorize = GateAnswer(status: 204)
        var consume = GateAnswer(status: 200)
        var requests: [GateRequest] = []
        var date = Date(timeIntervalSince1970: 1_800_000_000)
        var uptime = Duration.zero
    }

    private let box = NIOLockedValueBox(State())
    static let base = "https://trust.example.com"
    static let app = "ABCDE12345.com.example.shop"

    struct Down: Error {}

    func change(_ body: (inout State) -> Void) { box.withLockedValue(body) }

    /// How often a path was asked for.
    func count(_ path: String) -> Int {
        box.withLockedValue { state in state.requests.count { $0.url.contains(path) } }
    }

    var last: GateRequest? { box.withLockedValue { $0.requests.last } }

    func send(_ request: GateRequest) async throws -> GateAnswer {
        try box.withLockedValue { state in
            state.requests.append(request)
            if state.isDown { throw Down() }
            if request.url.contains("/v1/authorize") { return state.authorize }
            if request.url.contains("/v1/tokens/consume") { return state.consume }
            let path = String(request.url.dropFirst(ScriptedService.base.count))
            if path == "/v1/revoked" {
                let keys = state.keys["/.well-known/jwks.json"] ?? []
                guard let key = state.list.signer ?? keys.first, state.list.isPublished else {
                    return GateAnswer(status: 404)
                }
                return GateAnswer(status: 200, body: Array(try state.list.text(key, at: state.date).utf8))
            }
            let keys = state.keys[path] ?? []
            let document: JSONValue = ["keys": .array(keys.map { ScriptedService.document($0.publicKey) })]
            return GateAnswer(status: 200, body: document.encoded())
        }
    }

    /// A gate that asks this service and lives on its clocks.
    func gate(_ change: (inout TokenGate.Configuration) -> Void = { _ in }) -> TokenGate {
        var configuration = TokenGate.Configuration(
            service: ScriptedService.base, issuer: ScriptedService.base, audience: "shop-api",
            apps: [ScriptedService.app])
        change(&configuration)
        return TokenGate(
            configuration, transport: self, uptime: { self.box.withLockedValue { $0.uptime } },
            now: { self.box.withLockedValue { $0.date } })
    }

    /// The bytes of the key of a ``TestToken``.
    static let keyBytes = Array("key".utf8)

    func pass(_ duration: Duration) {
        change {
            $0.uptime += duration
            $0.date += Double(duration.components.seconds)
        }
    }

    static func identifier(_ key: P256.Signing.PublicKey) -> String {
        Base64.encodeURL(SHA256.hash(data: key.rawRepresentation))
    }

    private static func document(_ key: P256.Signing.PublicKey) -> JSONValue {
        let raw = Array(key.rawRepresentation)
        return [
            "kty": "EC", "crv": "P-256", "use": "sig", "kid": .string(identifier(key)),
            "x": .string(Base64.encodeURL(raw.prefix(32))), "y": .string(Base64.encodeURL(raw.suffix(32))),
        ]
    }
}

/// A list of revoked keys as the service writes it, and each part open to change.
struct TestList {
    var isPublished = true
    var type: JSONValue? = "revoked+jwt"
    /// Of whom the keys are.
    var keys: [[UInt8]] = []
    var claims: [String: JSONValue] = ["iss": .string(ScriptedService.base)]
    var life = 300
    /// Another key than the service's.
    var signer: P256.Signing.PrivateKey?

    func text(_ key: P256.Signing.PrivateKey, at date: Date) throws -> String {
        var token = TestToken(key)
        token.header["typ"] = type
        let issued = Int(date.timeIntervalSince1970)
        let marks = keys.map { JSONValue.string(Base64.encodeURL(SHA256.hash(data: Data($0)).prefix(12))) }
        token.claims = ["iat": .integer(issued), "exp": .integer(issued + life), "keys": .array(marks)]
        token.claims.merge(claims) { $1 }
        return try token.text()
    }
}

/// A token as the service writes it, and each part open to change.
struct TestToken {
    var header: [String: JSONValue] = ["alg": "ES256", "typ": "JWT"]
    var claims: [String: JSONValue] = [
        "iss": .string(ScriptedService.base), "aud": "shop-api", "sub": .string(ScriptedService.app), "jti": "one",
        "iat": .integer(1_800_000_000), "exp": .integer(1_800_003_600), "key": "a2V5", "tier": "high",
        "env": "production", "sim": .bool(false),
    ]
    let key: P256.Signing.PrivateKey

    init(_ key: P256.Signing.PrivateKey) {
        self.key = key
        header["kid"] = .string(ScriptedService.identifier(key.publicKey))
    }

    func with(_ name: String, _ value: JSONValue?) -> TestToken {
        var token = self
        token.claims[name] = value
        return token
    }

    private static func part(_ members: [String: JSONValue]) -> String {
        let members = members.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, $0.value) }
        return Base64.encodeURL(JSONValue.object(members).encoded(pretty: false))
    }

    func text() throws -> String {
        let signed = TestToken.part(header) + "." + TestToken.part(claims)
        let signature = try key.signature(for: Data(signed.utf8)).rawRepresentation
        return signed + "." + Base64.encodeURL(signature)
    }
}

extension Result where Success == AttestedIdentity, Failure == GateRefusal {
    /// The code of a refusal, or "passed".
    var code: String {
        switch self {
        case .success: "passed"
        case .failure(let refusal): refusal.code
        }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// Makes and reads the device tokens of DeviceCheck: opaque to everybody but Apple, bound to a device, a team and an environment.
struct DeviceTokenIssuer: Sendable {
    /// What a token says.
    struct Content: Sendable, Codable, Equatable {
        let device: String
        let team: String
        let environment: SimulatedEnvironment
        let serial: Int
        /// Whole seconds since 1970, by Apple's clock.
        let issuedAt: Int
    }

    private let key: SymmetricKey
    /// Whether a second use of a token is refused. Apple asks for a fresh token for each request and says that one stays valid long
    /// enough to repeat a request, so by default it can be used again.
    var singleUse: Bool
    private var serial = 0
    private var spent: Set<Int> = []

    /// How long a token is accepted, in seconds.
    private static let lifetime = 3600

    init(seed: Seed, singleUse: Bool) {
        key = SymmetricKey(data: seed.bytes("device token key"))
        self.singleUse = singleUse
    }

    /// A new token: base64 of a MAC and what it covers.
    mutating func make(device: String, team: String, environment: SimulatedEnvironment, at instant: Date) -> String {
        serial += 1
        let content = Content(
            device: device, team: team, environment: environment, serial: serial,
            issuedAt: Int(instant.timeIntervalSince1970))
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let payload = (try? encoder.encode(content)) ?? Data()
        let tag = HMAC<SHA256>.authenticationCode(for: payload, using: key)
        return (Data(tag) + payload).base64EncodedString()
    }

    /// What a token says, or nil for one that is foreign, of another team or environment, too old, or spent.
    mutating func open(_ token: String, team: String, environment: SimulatedEnvironment, at instant: Date) -> Content? {
        guard token.utf8.count <= 4096, let bytes = Data(base64Encoded: token), bytes.count > 32 else { return nil }
        let payload = bytes.dropFirst(32)
        guard HMAC<SHA256>.isValidAuthenticationCode(bytes.prefix(32), authenticating: payload, using: key),
            let content = try? JSONDecoder().decode(Content.self, from: payload)
        else { return nil }
        guard content.team == team, content.environment == environment,
            Int(instant.timeIntervalSince1970) - content.issuedAt <= DeviceTokenIssuer.lifetime
        else { return nil }
        if singleUse, !spent.insert(content.serial).inserted { return nil }
        return content
    }
}

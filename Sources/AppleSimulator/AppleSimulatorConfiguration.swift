// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Crypto

/// What a simulated Apple starts with.
public struct AppleSimulatorConfiguration: Sendable {
    /// A team whose servers may ask.
    public struct Team: Sendable {
        /// Ten characters, the prefix of its apps.
        public let id: String
        /// Ten characters: `kid` of its authorization.
        public let keyId: String
        /// The public half of the key with DeviceCheck enabled.
        public let key: P256.Signing.PublicKey

        /// A team with one key.
        public init(id: String, keyId: String, key: P256.Signing.PublicKey) {
            self.id = id
            self.keyId = keyId
            self.key = key
        }
    }

    /// The number that all keys, ids, tokens and chosen faults are derived from.
    public var seed: UInt64 = 1
    /// The teams whose authorization is accepted.
    public var teams: [Team] = []
    /// How long after a refresh the next one is answered with 304 (field 19 of a receipt): 24 hours, as seen in real ones.
    public var refreshAfter: Duration = .seconds(86_400)
    /// Whether the second use of a device token is refused.
    public var singleUseDeviceTokens = false

    /// A simulator that accepts no team: fill ``teams``.
    public init() {}

    /// The private key of a team, derived from a seed: what `sealward simulate apple` writes as a `.p8` file.
    public static func teamKey(seed: UInt64, team: String) -> P256.Signing.PrivateKey {
        Seed(value: seed).signingKey("team \(team)")
    }
}

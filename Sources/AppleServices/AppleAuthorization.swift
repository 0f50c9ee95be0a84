// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
package import FoundationEssentials
import TrustTokens

/// A key that cannot authorize requests to Apple.
public struct AppleAuthorizationFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// One sentence without a full stop; never any part of the key.
    public let reason: String

    package init(reason: String) { self.reason = reason }

    public var description: String { reason }
}

/// Makes the ES256 tokens that authorize a team's requests to Apple, and keeps each as long as Apple advises.
///
/// Apple refuses a token that is older than an hour and asks not to make one for each request, so a token serves for its
/// lifetime and is then made again.
public actor AppleAuthorization {
    /// The team, ten characters: `iss`.
    package nonisolated let teamId: String
    /// The key's id, ten characters: `kid`.
    package nonisolated let keyId: String
    private let key: P256.Signing.PrivateKey
    private let lifetime: Duration
    private var current: (token: String, madeAt: Date)?

    /// - Parameters:
    ///   - teamId: The `iss` of the token: Apple's ten-character team id.
    ///   - keyId: The `kid` of the token: the id of the key with DeviceCheck enabled.
    ///   - privateKeyPEM: The contents of Apple's `.p8` file: a P-256 key as PKCS#8 in PEM.
    ///   - lifetime: how long a token serves. Apple's notification service, whose tokens these are like, asks for 20 to 60 minutes.
    /// - Throws: ``AppleAuthorizationFault`` if the text contains no P-256 private key, or an id is empty.
    public init(
        teamId: String, keyId: String, privateKeyPEM: String, lifetime: Duration = .seconds(2400)
    ) async throws(AppleAuthorizationFault) {
        guard !teamId.isEmpty else { throw AppleAuthorizationFault(reason: "the team id is empty") }
        guard !keyId.isEmpty else { throw AppleAuthorizationFault(reason: "the key id is empty") }
        do {
            key = try P256.Signing.PrivateKey(pemRepresentation: privateKeyPEM)
        } catch {
            throw AppleAuthorizationFault(reason: "the key file contains no P-256 private key in PEM (Apple's .p8)")
        }
        self.teamId = teamId
        self.keyId = keyId
        self.lifetime = lifetime
    }

    /// The token to use at `instant`: the current one while it is young enough, else a new one.
    ///
    /// - Parameter refused: the one that Apple has just refused. Of many requests that were refused with it only the first makes a new one.
    package func token(at instant: Date, insteadOf refused: String? = nil) throws(AppleAuthorizationFault) -> String {
        if let current, current.token != refused {
            let age = instant.timeIntervalSince(current.madeAt)
            // A clock that was set back must not keep a token from the future in use.
            if refused != nil || 0..<(lifetime / .seconds(1)) ~= age { return current.token }
        }
        let seconds = Int(min(max(instant.timeIntervalSince1970, 0), 253_402_300_799))
        do {
            let token = try CompactToken.text(
                ["iss": .string(teamId), "iat": .integer(seconds)], algorithm: "ES256", keyId: keyId
            ) {
                try key.signature(for: $0).rawRepresentation
            }
            current = (token, instant)
            return token
        } catch {
            throw AppleAuthorizationFault(reason: "the authorization could not be signed")
        }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// The kind of process that a session runs in: some never have App Attest, even if `isSupported` says so.
public struct HostProcess: Hashable, Sendable {
    /// Whether App Attest works in it, by Apple's documentation.
    public let canAttest: Bool

    /// An app.
    public static let app = HostProcess(canAttest: true)
    /// An App Clip: it attests as its full app, and shares its keys if both use one Keychain group.
    public static let appClip = HostProcess(canAttest: true)
    /// An Action extension; it has its own keys.
    public static let actionExtension = HostProcess(canAttest: true)
    /// An extensible single sign-on extension; it has its own keys.
    public static let singleSignOnExtension = HostProcess(canAttest: true)
    /// An extension of a watchOS app; it has its own keys.
    public static let watchExtension = HostProcess(canAttest: true)
    /// Any other extension: it uses the token that its app has stored in the Keychain group.
    public static let otherExtension = HostProcess(canAttest: false)
}

/// How the attestation's hash covers the challenge: the app's `binding` in the configuration of the service.
public enum ChallengeBinding: String, Sendable {
    /// SHA-256 of the challenge.
    case challenge
    /// The challenge itself.
    case raw
    /// SHA-256 of client data that contains the challenge.
    case clientData
}

/// A token for builds in Apple's Simulator, which has no App Attest. The service issues a marked token for it, if it is configured to.
public struct DebugToken: Hashable, Sendable, CustomStringConvertible {
    let token: String
    let resource: String

    /// Without the secret.
    public var description: String { "debug token for \(resource)" }
}

#if DEBUG || targetEnvironment(simulator)
    extension DebugToken {
        /// There is none in a release build for a device.
        ///
        /// - Parameters:
        ///   - token: the secret; never put it into a build that leaves the team.
        ///   - resource: `projects/{project}/apps/{app id}` of the service's App Check interface.
        public init(_ token: String, resource: String) {
            self.init(token: token, resource: resource)
        }
    }
#endif

/// A token of the service, as it goes into a request.
public struct AttestedToken: Hashable, Sendable {
    /// The token. It is a secret until it expires.
    public let value: String
    /// The header field for it: `Authorization`, or `X-Firebase-AppCheck` for a debug token.
    public let field: String
    /// Whether it can be used only once.
    public let isSingleUse: Bool
    /// Whether a proof of the device was given for it. A token without one passes only where the server asks for no tier.
    public private(set) var isAttested = true

    /// The value of the header field.
    public var fieldValue: String { field == AttestedToken.bearerField ? "Bearer \(value)" : value }

    static let bearerField = "Authorization"
    static let appCheckField = "X-Firebase-AppCheck"
}

/// What an app leaves for its extensions.
struct SharedToken: Codable, Sendable {
    let value: String
    let field: String
    /// By the device's clock, right or wrong: the reader has the same.
    let from: Double
    let seconds: Double
}

/// A token in memory.
struct CachedToken: Sendable {
    let token: AttestedToken
    /// Uptime from which on it is renewed, and from which on it is not used.
    let renewAt: Duration
    let endsAt: Duration

    /// - Parameter asked: the uptime before the service was asked: its seconds count from later on.
    init(_ token: AttestedToken, asked: Duration, life: Duration) {
        self.token = token
        renewAt = asked + life / 2
        // A request is under way for some time too.
        endsAt = asked + life - min(.seconds(30), life / 10)
    }
}

extension AttestedSession {
    /// What a session is for, and how long its calls may take.
    public struct Configuration: Sendable {
        /// The address of the service, for example `https://trust.example.com`.
        public var service: URL
        /// The backends that proofs and tokens may go to, as `host` or `host:port` in any case, beside the service itself. Requests to others are refused, so
        /// that no URL from outside takes a proof of this device along.
        public var hosts: Set<String>
        /// Whose key it is.
        public var scope: KeyScope
        /// The process that this runs in.
        public var process = HostProcess.app
        /// As the service is configured for the app.
        public var binding = ChallengeBinding.challenge
        /// How long one call may wait for Apple, the network or the service, until it throws ``SessionError/Kind/unavailable``.
        public var patience = Duration.seconds(30)
        /// An identifier of this installation, which stays the same: if set, the service's ramp decides when it attests for the first time.
        public var installation: String?
        /// For Apple's Simulator.
        public var debug: DebugToken?
        /// Whether tokens are stored in the Keychain group for extensions that cannot attest.
        public var sharesToken = false
        /// For keys that the service must bind to the user of the scope: asks the app's backend, which has a server token and knows the user,
        /// for a challenge with purpose `attest` (base64). Without it keys belong to no user on the service.
        public var userChallenge: (@Sendable () async throws -> UserChallenge)?

        /// Makes one from its required parts, which the properties describe.
        public init(service: URL, scope: KeyScope, hosts: Set<String>) {
            self.service = service
            self.hosts = hosts
            self.scope = scope
        }
    }

    /// A challenge that the app's backend got for its user: the members of the service's answer.
    public struct UserChallenge: Hashable, Sendable, Codable {
        package let challenge: String
        package let ttlSeconds: Double

        /// Makes one from its parts.
        ///
        /// - Parameters:
        ///   - challenge: base64, as issued.
        ///   - ttlSeconds: how long it lives.
        public init(challenge: String, ttlSeconds: Double) {
            self.challenge = challenge
            self.ttlSeconds = ttlSeconds
        }
    }
}

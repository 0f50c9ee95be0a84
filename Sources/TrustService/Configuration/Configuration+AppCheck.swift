// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension TrustServer.Configuration {
    /// The interface that answers as Firebase App Check does.
    public struct AppCheck: Sendable {
        /// What becomes of the keys of simulated devices.
        public enum Simulated: String, Sendable, CaseIterable {
            /// Their exchanges are refused with 403.
            case refuse
            /// They get tokens with `"sim": true`, signed with a key of their own. The program warns of it when it starts.
            case allow
        }

        /// A secret that a simulator or a build machine has in the place of a device.
        public struct DebugToken: Sendable, Equatable {
            package internal(set) var name: String
            package internal(set) var digest: [UInt8]
            package internal(set) var app: String
            package internal(set) var expires: Date

            /// The longest time that one may be good for, in days.
            package static let longestLife = 366

            /// Makes one from its parts.
            ///
            /// - Parameters:
            ///   - name: the name under which the tokens that it got are known: at most 64 printable ASCII characters without spaces.
            ///   - digest: SHA-256 of the debug token, 32 bytes.
            ///   - app: the configured id of the app that it is good for.
            ///   - expires: from this instant on it is refused, and what it got too; at most 366 days ahead.
            public init(name: String, digest: [UInt8], app: String, expires: Date) {
                self.name = name
                self.digest = digest
                self.app = app
                self.expires = expires
            }
        }

        /// The number of the Firebase project: digits.
        public var projectNumber: String
        /// The id of the Firebase project.
        public var projectId: String
        /// RSA private keys of 2048 to 8192 bits as PEM, one at least: the first signs, all are published.
        public var keyPEMs: [String]
        /// The configured ids of the apps by their App Check ids (`1:NUMBER:ios:HEX`).
        public var apps: [String: String]
        /// How long a token is valid: whole seconds, up to a week. Google's client renews it at half of that and five minutes.
        public var ttl: Duration = .seconds(3600)
        /// The accepted debug tokens; none is known by default.
        public var debugTokens: [DebugToken] = []
        /// Whether debug tokens are accepted although no simulator is trusted, as in production.
        public var allowDebugTokens = false
        /// What becomes of the keys of simulated devices.
        public var simulated = Simulated.refuse

        /// The interface with the defaults that the properties state.
        public init(projectNumber: String, projectId: String, keyPEMs: [String], apps: [String: String]) {
            self.projectNumber = projectNumber
            self.projectId = projectId
            self.keyPEMs = keyPEMs
            self.apps = apps
        }
    }
}

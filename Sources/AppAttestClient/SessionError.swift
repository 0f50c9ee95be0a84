// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Why a session has no proof for a request.
public struct SessionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the app can do about it. There are no other cases.
    public enum Kind: String, Sendable {
        /// This device or process cannot attest: go on without, the server decides.
        case unsupported
        /// Not now: try again after ``SessionError/retryAfter``. No key was lost.
        case unavailable
        /// The service, or a rule of this package, refuses: trying again does not help.
        case refused
    }

    /// What the app can do about it.
    public let kind: Kind
    /// The code that the service answered, the name of a `DCError`, or `network`, `service`, `storage`, `ramp`, `request.body-stream`,
    /// `request.url`, `request.host` (the configuration does not name it), `request.scheme` (not https), `token.none`.
    public let code: String
    /// How long the session will not try again by itself; nil if that is unknown.
    public let retryAfter: Duration?

    /// An error for a double of the session to throw in tests of an app.
    public init(_ kind: Kind, _ code: String, retryAfter: Duration? = nil) {
        self.kind = kind
        self.code = code
        self.retryAfter = retryAfter
    }

    public var description: String { "\(kind.rawValue): \(code)" }
}

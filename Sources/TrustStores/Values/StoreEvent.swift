// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppAttest
public import FoundationEssentials

/// One thing that happened to a key or an app, for operators.
public struct StoreEvent: Sendable, Equatable {
    /// When it happened.
    public var at: Date
    /// The configured id of the app.
    public var app: String
    /// The key that it is about; nil if there is none.
    public var keyId: KeyIdentifier?
    /// What happened, one word: `attested`, `refused`, `revoked`, `receipt`, `signal`, ...
    public var kind: String
    /// Why: a code of the contract, if there is one.
    public var code: String?
    /// Evidence for the operator; at most 1024 bytes are kept. Never a token, challenge, assertion or receipt.
    public var detail: String?

    /// An event to append to the record of an app.
    public init(
        at: Date, app: String, keyId: KeyIdentifier? = nil, kind: String, code: String? = nil, detail: String? = nil
    ) {
        self.at = at
        self.app = app
        self.keyId = keyId
        self.kind = kind
        self.code = code
        self.detail = detail
    }
}

/// How often something was seen for an app within one hour, over all nodes.
public struct SignalTally: Sendable, Equatable {
    /// The app's id in the configuration.
    public var app: String
    /// The start of the hour; any instant within it may be given.
    public var hour: Date
    /// What was counted: `attested`, `refused`, `unsupported`, `clientError`, ...
    public var kind: String
    /// A code from a fixed list; empty if there is none.
    public var code: String
    /// How many in that hour.
    public var count: Int

    /// Counts something once, or `count` times, in the hour of an instant.
    public init(app: String, hour: Date, kind: String, code: String = "", count: Int = 1) {
        self.app = app
        self.hour = hour
        self.kind = kind
        self.code = code
        self.count = count
    }
}

/// The kinds of events in a key's history and of hourly tallies, as stores keep them.
package enum EventKind {
    package static let attested = "attested"
    package static let revoked = "revoked"
    package static let restored = "restored"
    /// A receipt was renewed or refused.
    package static let receipt = "receipt"
    /// A proof was refused, or would have been if the app did not only monitor.
    package static let refused = "refused"
    /// A device attested many more keys than is usual.
    package static let alert = "alert"
    /// A network with a new key, counted once an hour.
    package static let attestedAddress = "attestedAddress"
    /// A client without App Attest, counted once an hour for each network.
    package static let unsupported = "unsupported"
    /// A client that met an error, counted once an hour for each network.
    package static let clientError = "clientError"
}

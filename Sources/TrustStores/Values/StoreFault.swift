// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Vocabulary

/// The store could not do what was asked: it is down, slow, full, or newer than this program.
///
/// A fault says nothing about whether the verb took effect: the answer may have been lost after the commit. Every verb may be asked again.
public struct StoreFault: Error, Sendable, ComparedByCode, CustomStringConvertible {
    /// `store.unavailable` (ask again), `store.newer` (this program is older than the file), `store.damaged`, `store.configuration`
    /// (the store cannot be used as it is named) or `store.tls` (a PostgreSQL on another machine, without `sslmode`).
    public let code: Code
    /// One sentence for the operator; never shown to an app.
    public let reason: String
    /// How long to wait before asking again, if asking again may help.
    public let retryAfter: Duration?

    package init(code: Code, reason: String, retryAfter: Duration? = nil) {
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter
    }

    /// The store does not answer now; the same call may work soon.
    public static func unavailable(_ reason: String, retryAfter: Duration = .seconds(1)) -> StoreFault {
        StoreFault(code: .storeUnavailable, reason: reason, retryAfter: retryAfter)
    }

    /// What was read cannot have been written by this program.
    public static func damaged(_ reason: String) -> StoreFault { StoreFault(code: .storeDamaged, reason: reason) }

    /// The store cannot be used as it is named: a malformed URL, a file of the wrong kind. Asking again does not help.
    public static func configuration(_ reason: String) -> StoreFault {
        StoreFault(code: .storeConfiguration, reason: reason)
    }

    public var description: String { "\(code): \(reason)" }
}

extension StoreFault {
    /// What the codes mean that only the operator sees. `store.unavailable` and `store.clock-off` are answers of the service too.
    package static let explanations: [CodeExplanation] = [
        .init(
            .storeDamaged, "the store contains data that cannot be right", .operator,
            "stop the service, keep a copy, and restore the last backup; sealward store check says what is wrong"),
        .init(
            .storeNewer, "the store was written by a newer version", .operator, "run the newer version, on every node"),
        .init(
            .storeConfiguration, "the configured store cannot be used: a malformed URL, or a file of the wrong kind",
            .operator, "correct `store` in the configuration"),
        .init(
            .storeTLS, "a PostgreSQL on another machine, and a URL that does not say whether TLS is used", .operator,
            "add sslmode=verify-full to the URL in `store`, or sslmode=disable if the network itself is protected"),
        .init(.receiptOlder, "a receipt older than the stored one", .nobody, "nothing: the stored one stays"),
    ]
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// One call of an operator or a backend that was accepted.
public struct AuditEntry: Sendable, Equatable {
    /// When it was made.
    public let at: Date
    /// The name of the credential.
    public let name: String
    /// What was done, for example `keys.revoke`.
    public let operation: String
    /// What it was done to. Never a token or secret.
    public let target: String
    /// Its outcome: `ok`, or `unknown` for a call that failed and may have changed something.
    public let outcome: String

    /// An entry as a store keeps it: of each text 1024 bytes are kept, and the instant to the millisecond.
    public init(at: Date, name: String, operation: String, target: String, outcome: String) {
        self.at = StoreTime.date(StoreTime.milliseconds(at))
        self.name = StoreText.stored(name)
        self.operation = StoreText.stored(operation)
        self.target = StoreText.stored(target)
        self.outcome = StoreText.stored(outcome)
    }
}

/// One entry with its place in the record.
public struct NumberedAuditEntry: Sendable, Equatable {
    package let number: Int64
    package let entry: AuditEntry

    /// Makes one from its parts.
    ///
    /// - Parameters:
    ///   - number: grows by one with each entry; what follows is read by `after: number`.
    ///   - entry: the entry.
    public init(number: Int64, entry: AuditEntry) {
        self.number = number
        self.entry = entry
    }
}

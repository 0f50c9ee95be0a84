// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// One call of an operator or a backend: accepted, or refused.
public struct AuditEntry: Sendable, Equatable {
    /// When it was made.
    public let at: Date
    /// The name of the credential; empty for one that is not known.
    public let name: String
    /// What was done, for example `keys.revoke`.
    public let operation: String
    /// What it was done to. Never a token or secret, and never a user's name.
    public let target: String
    /// Its outcome: `ok`, `refused:` and a code, or `unknown` for a call that failed and may have changed something.
    public let outcome: String
    /// The caller's address; nil for a command on the store.
    public let address: String?
    /// The identifier under which the service's log has the call.
    public let correlationId: String?
    /// The name of the console's session; nil for a call with a token.
    public let session: String?
    /// Why, as the caller says.
    public let reason: String?

    /// An entry as a store keeps it: of each text 1024 bytes are kept, and the instant to the millisecond.
    public init(
        at: Date, name: String, operation: String, target: String, outcome: String, address: String? = nil,
        correlationId: String? = nil, session: String? = nil, reason: String? = nil
    ) {
        self.at = StoreTime.date(StoreTime.milliseconds(at))
        self.name = StoreText.stored(name)
        self.operation = StoreText.stored(operation)
        self.target = StoreText.stored(target)
        self.outcome = StoreText.stored(outcome)
        self.address = address.map(StoreText.stored)
        self.correlationId = correlationId.map(StoreText.stored)
        self.session = session.map(StoreText.stored)
        self.reason = reason.map(StoreText.stored)
    }
}

/// One entry with its place in the record.
public struct NumberedAuditEntry: Sendable, Equatable {
    /// Grows by one with each entry; what follows is read by `after: number`.
    public let number: Int64
    /// SHA-256 of the ``line`` before; nil in lines that are older than the chain.
    public let previous: [UInt8]?
    /// The entry.
    public let entry: AuditEntry

    /// An entry as a store reads it back.
    public init(number: Int64, previous: [UInt8]? = nil, entry: AuditEntry) {
        self.number = number
        self.previous = previous
        self.entry = entry
    }
}

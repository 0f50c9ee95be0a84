// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Something that an operator of a store should know and no caller is told: the source of a log line and of a metric.
///
/// A store reports each one to the closure that it was opened with, from any thread and as often as it happens; whoever logs samples.
public struct StoreObservation: Sendable {
    /// What happened.
    public struct Kind: Sendable, Hashable {
        /// Lower case with hyphens, for the label of a metric; never reused with another meaning.
        public let name: String
        /// One fixed sentence for a log.
        public let sentence: String
        /// Whether an operator may have to act.
        public let isWarning: Bool

        init(_ name: String, _ sentence: String, isWarning: Bool = true) {
            self.name = name
            self.sentence = sentence
            self.isWarning = isWarning
        }
    }

    /// What was observed.
    public let kind: Kind
    /// What is special about this one, in one line; may quote the server. Empty if the kind says everything.
    public let detail: String
    /// The value of a gauge; nil for what is only counted.
    public let value: Int?

    package init(_ kind: Kind, detail: String = "", value: Int? = nil) {
        self.kind = kind
        self.detail = detail
        self.value = value
    }
}

extension StoreObservation.Kind {
    package static let connected = Self("connected", "The store opened a connection.", isWarning: false)
    package static let unreachable = Self("unreachable", "The store's server cannot be reached.")
    package static let connectionLost = Self("connection-lost", "A connection to the store's server broke.")
    /// The server gave no answer within the limit; the connection is set aside until it does.
    package static let overdue = Self("overdue", "The store gave no answer within its limit.")
    /// A connection was set aside in the middle of a transaction: what it has locked stays locked until the server ends it.
    package static let locksHeld = Self("locks-held", "An abandoned transaction still holds locks.")
    /// How many connections are set aside now. A gauge.
    package static let setAside = Self("set-aside", "Connections wait for an overdue answer.", isWarning: false)
    /// How many callers wait for a connection now. A gauge.
    package static let waiting = Self("waiting", "Callers wait for the store.", isWarning: false)
    package static let lineFull = Self("line-full", "Too many callers wait for the store; more are refused.")
    package static let waitedTooLong = Self("waited-too-long", "A caller waited too long for the store.")
    /// The server refused what many callers asked with one statement; each is served alone.
    package static let batchRefused = Self(
        "batch-refused", "The store's server refused a batch; its callers are served one by one.")
    package static let otherServer = Self(
        "other-server", "A server was refused: it is not the store's current primary.")
    /// What a server may not tell to this role, so that a check is left out.
    package static let unchecked = Self("unchecked", "A check of the store's server is skipped.")
    package static let notice = Self("notice", "The store's server sent a notice.")
    package static let migrating = Self(
        "migrating", "The store's schema is being migrated to a newer version.", isWarning: false)
    package static let migrated = Self("migrated", "The store has the newest schema.", isWarning: false)
    /// The store's files may be read or replaced by others, or could be until now.
    package static let exposedFile = Self("exposed-file", "The store's file is open to other users.")

    /// All kinds that an operator may have to act on.
    package static let warnings: [Self] = [
        unreachable, connectionLost, overdue, locksHeld, lineFull, waitedTooLong, batchRefused, otherServer, unchecked,
        notice, exposedFile,
    ]
}

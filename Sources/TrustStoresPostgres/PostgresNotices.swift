// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    import Vocabulary
    import TrustStores

    /// Takes the notices of one connection, which libpq would print to standard error. Called on the connection's own thread.
    final class PostgresNotices {
        private let facts: PostgresFacts
        /// How many warnings came so far.
        private(set) var warnings = 0
        /// How many of them came from the wait for synchronous standbys, or do not say where they come from.
        private(set) var doubts = 0

        init(_ facts: PostgresFacts) { self.facts = facts }

        /// - Parameter source: the file of the server's source that says it.
        func take(_ severity: String?, _ error: ServerError, source: String?) {
            let severity = severity ?? "NOTICE"
            if severity == "WARNING" {
                warnings += 1
                if source.map({ $0.hasSameBytes(as: "syncrep.c") }) ?? true { doubts += 1 }
            }
            facts.observe(.notice, facts.address.safe("\(severity): \(error.message) (\(error.state))"))
        }
    }
#endif

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TrustStores

/// Takes the notices of one connection, which libpq would print to standard error. Called on the connection's own thread.
final class PostgresNotices {
    private let facts: PostgresFacts
    /// How many warnings came so far.
    private(set) var warnings = 0

    init(_ facts: PostgresFacts) { self.facts = facts }

    func take(_ severity: String?, _ error: ServerError) {
        let severity = severity ?? "NOTICE"
        if severity == "WARNING" { warnings += 1 }
        facts.observe(.notice, facts.address.safe("\(severity): \(error.message) (\(error.state))"))
    }
}

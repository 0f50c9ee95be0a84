// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    import CLibpq
    import TrustStores

    /// Takes the notices of one connection, which libpq would print to standard error. Called on the connection's own thread.
    final class PostgresNotices {
        private let facts: PostgresFacts
        /// How many warnings came so far.
        private(set) var warnings = 0

        init(_ facts: PostgresFacts) { self.facts = facts }

        /// Takes all notices of the connection from now on; lives as long as the connection.
        func receive(from handle: OpaquePointer) {
            PQsetNoticeReceiver(
                handle,
                { pointer, result in
                    guard let pointer, let result else { return }
                    Unmanaged<PostgresNotices>.fromOpaque(pointer).takeUnretainedValue().take(result)
                },
                Unmanaged.passUnretained(self).toOpaque()
            )
        }

        private func take(_ result: OpaquePointer) {
            // The severity that is not translated.
            let severity = PQresultErrorField(result, Int32(UInt8(ascii: "V"))).map { String(cString: $0) } ?? "NOTICE"
            let error = ServerError(result)
            if severity == "WARNING" { warnings += 1 }
            facts.observe(.notice, facts.address.safe("\(severity): \(error.message) (\(error.state))"))
        }
    }
#endif

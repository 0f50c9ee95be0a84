// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    import Foundation
    import Synchronization
    import TrustStores

    /// Looks for a primary among the other servers of the URL while one is silent: a machine without power refuses nothing, and whoever
    /// waited for it would learn of the promotion only after every deadline.
    ///
    /// What it finds goes to ``PostgresLineage``, which the waits ask: they end once a newer primary is known.
    final class PostgresLookout: Sendable {
        /// How long a server is silent before the others are asked.
        static let patience = Duration.seconds(1)
        /// How long one of the others may take.
        static let limit = Duration.seconds(1)
        /// Between two rounds.
        private static let pause = Duration.milliseconds(300)

        private let isLooking = Mutex(false)

        /// Asks the other servers on a thread of its own, of which there is one at a time; to be called as long as the server is silent.
        func look(besides silent: PostgresAddress.Host, _ facts: PostgresFacts) {
            let isFirst = isLooking.withLock { isLooking in
                defer { isLooking = true }
                return !isLooking
            }
            guard isFirst else { return }
            let thread = Thread { [self] in
                ask(facts.address.hosts.filter { $0 != silent }, facts)
                Thread.sleep(forTimeInterval: PostgresLookout.pause / .seconds(1))
                isLooking.withLock { $0 = false }
            }
            thread.name = "sealward-lookout"
            thread.start()
        }

        /// Connects to one after another, until one is a primary; the connection itself is not used.
        private func ask(_ hosts: [PostgresAddress.Host], _ facts: PostgresFacts) {
            for host in hosts {
                for address in (try? host.addresses()) ?? [] {
                    if facts.closingDeadline != nil { return }
                    let found = try? PostgresConnection(
                        host, hostaddr: address, facts: facts, limit: PostgresLookout.limit)
                    if found != nil { return }
                }
            }
        }
    }
#endif

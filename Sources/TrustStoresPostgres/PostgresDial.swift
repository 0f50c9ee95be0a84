// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    import Foundation
    import TrustStores

    /// Opens one connection on a thread of its own: the first server that is a primary, each address with its own limit.
    /// The one that was the primary last is asked before the others, which have the order of the string.
    ///
    /// On a thread of its own, because the resolver of names cannot be told when to stop, and because several servers may take longer
    /// than one caller waits. A link has at most one of these; callers who come later wait for the same one.
    final class PostgresDial: @unchecked Sendable {
        private let facts: PostgresFacts
        private let done = DispatchSemaphore(value: 0)
        /// Written by the thread before it signals, read by the link after the signal.
        private var outcome: Result<PostgresConnection, StoreFault> = .failure(.unavailable("not yet connected"))

        init(_ facts: PostgresFacts) {
            self.facts = facts
            let thread = Thread { [self] in
                outcome = connect()
                done.signal()
            }
            thread.name = "sealward-dial"
            thread.start()
        }

        /// The connection or why there is none; nil if neither is known by the deadline. Not asked again after it gave something.
        func wait(until deadline: ContinuousClock.Instant) -> Result<PostgresConnection, StoreFault>? {
            while true {
                let rest = facts.end(of: deadline) - .now
                let slice = min(rest, PostgresConnection.slice)
                if slice <= .zero { return done.wait(timeout: .now()) == .success ? outcome : nil }
                if done.wait(timeout: .now() + .nanoseconds(Int(slice / .nanoseconds(1)))) == .success {
                    return outcome
                }
            }
        }

        private func connect() -> Result<PostgresConnection, StoreFault> {
            var reasons: [String] = []
            for host in facts.lineage.ordered(facts.address.hosts) {
                do {
                    for address in try host.addresses() {
                        if facts.closingDeadline != nil { return .failure(.unavailable("the store is closing")) }
                        do {
                            return .success(try PostgresConnection(host, hostaddr: address, facts: facts))
                        } catch let broken as BrokenConnection {
                            reasons.append(broken.reason)
                        }
                    }
                } catch let fault as StoreFault {
                    reasons.append(fault.reason)
                } catch {
                    reasons.append("\(error)")
                }
            }
            let shown = reasons.prefix(4).joined(separator: "; ")
            return .failure(.unavailable("PostgreSQL cannot be reached: \(shown)"))
        }
    }
#endif

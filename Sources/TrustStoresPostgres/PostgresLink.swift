// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TrustStores
import Vocabulary

/// One thread's connection, opened when it is needed and again after it broke. Touched by that thread alone.
///
/// A connection whose server is silent is neither canceled nor closed but set aside until the server says something. Its transaction
/// may be in the middle of its COMMIT: to cancel a wait for a synchronous standby would show others what no standby has, and to close
/// the connection would leave the server's process behind, and the next one, until the server has none left. A link sets a bounded
/// number aside; then it refuses work until one of them is answered.
final class PostgresLink: @unchecked Sendable {
    private let facts: PostgresFacts
    private var connection: PostgresConnection? {
        didSet {
            let change = (connection == nil ? 0 : 1) - (oldValue == nil ? 0 : 1)
            if change != 0 { facts.health.countOpen(change) }
        }
    }
    private var aside: [PostgresConnection] = []
    /// The assertions that are accepted together now, if that is what the thread does.
    var batch = AdvanceBatch()
    /// The keys that are read together now, likewise.
    var keys = KeyBatch()

    /// How many connections of one link the server may keep at once: one that is silent, and one beside it that may find the server
    /// well. So a node never has more than twice its readers and writers.
    static let mostConnections = 2

    init(_ facts: PostgresFacts) { self.facts = facts }

    func drop() {
        connection = nil
        if !aside.isEmpty { facts.countAside(-aside.count) }
        aside = []
    }

    /// Runs the body on a connection that works. What was not yet committed when a connection broke is tried once more on a new
    /// one: the server has rolled it back.
    func run<Outcome>(within limit: Duration, _ body: (PostgresConnection) throws -> Outcome) throws -> Outcome {
        let deadline = ContinuousClock.now + limit
        var conflicts = 0
        var isSecondTry = false
        while true {
            do {
                let connection = try opened(by: deadline)
                connection.deadline = deadline
                return try body(connection)
            } catch let broken as BrokenConnection {
                lose(broken)
                if broken.mayHaveCommitted || broken.isSilent || isSecondTry {
                    throw StoreFault.unavailable(broken.reason)
                }
                isSecondTry = true
            } catch is TransactionConflict where conflicts < 10 {
                conflicts += 1
            } catch let conflict as TransactionConflict {
                throw StoreFault.unavailable("PostgreSQL keeps reporting conflicts: \(conflict.reason)")
            }
        }
    }

    private func lose(_ broken: BrokenConnection) {
        guard let lost = connection else { return }
        connection = nil
        if broken.isSilent {
            aside.append(lost)
            facts.observe(.overdue, broken.mayHaveCommitted ? "a commit" : "a statement")
            if broken.isInTransaction {
                facts.observe(.locksHeld, broken.mayHaveCommitted ? "a commit" : "a statement")
            }
            facts.countAside(1)
        } else {
            facts.observe(.connectionLost, broken.reason)
        }
    }

    /// Closes what was set aside and has been answered since, and what waits for a primary that a newer one has replaced: that one may be silent
    /// for good, while its system keeps the connection.
    private func lookAside() {
        let before = aside.count
        aside.removeAll { $0.hasNews || $0.isReplaced }
        if aside.count != before { facts.countAside(aside.count - before) }
    }

    private func opened(by deadline: ContinuousClock.Instant) throws -> PostgresConnection {
        if !aside.isEmpty { lookAside() }
        if let connection, !connection.isReplaced { return connection }
        connection = nil
        // Those who are silent last; and not at all while as many connections as may be wait for them.
        let silent = aside.map(\.host)
        let all = facts.lineage.ordered(facts.address.hosts)
        let hosts =
            all.filter { !silent.contains($0) }
            + (aside.count < PostgresLink.mostConnections ? all.filter(silent.contains) : [])
        if hosts.isEmpty {
            throw StoreFault.unavailable(
                "PostgreSQL has not answered earlier requests yet; is a standby holding up commits?")
        }
        if facts.health.isDown { throw StoreFault.unavailable("PostgreSQL could not be reached a moment ago") }
        var isSecondTry = false
        while true {
            do {
                let opened = try dialed(hosts)
                connection = opened
                facts.observe(.connected)
                // It may have taken longer than this caller waits; it is for the next one then.
                guard ContinuousClock.now < deadline else {
                    throw StoreFault.unavailable("PostgreSQL cannot be reached in time")
                }
                return opened
            } catch let fault as StoreFault where connection == nil {
                facts.observe(.unreachable, fault.reason)
                // Other connections are open: one attempt that failed is not the server's end.
                guard let pause = facts.health.failed(), !isSecondTry, ContinuousClock.now + pause < deadline else {
                    throw fault
                }
                isSecondTry = true
                SystemThread.sleep(pause)
            }
        }
    }

    /// Connects to the first server that is a primary, each address with its own limit.
    private func dialed(_ hosts: [PostgresAddress.Host]) throws -> PostgresConnection {
        var reasons: [String] = []
        for host in hosts {
            do {
                for address in try host.addresses() {
                    if facts.closingDeadline != nil { throw StoreFault.unavailable("the store is closing") }
                    do { return try PostgresConnection(host, hostaddr: address, facts: facts) } catch let broken
                        as BrokenConnection
                    {
                        reasons.append(broken.reason)
                    }
                }
            } catch let fault as StoreFault {
                reasons.append(fault.reason)
            }
        }
        throw StoreFault.unavailable("PostgreSQL cannot be reached: \(reasons.prefix(4).joined(separator: "; "))")
    }
}

/// The connection is of no use any more.
struct BrokenConnection: Error {
    let reason: String
    /// Whether a COMMIT was on its way: then nobody knows.
    var mayHaveCommitted = false
    /// Whether a transaction had begun, whose locks the server keeps until it ends it.
    var isInTransaction = false
    /// Whether the server only did not answer in time, and may still do what it was asked.
    var isSilent = false
}

/// The server ended the transaction because of another one; it may be run again.
struct TransactionConflict: Error {
    let reason: String
}

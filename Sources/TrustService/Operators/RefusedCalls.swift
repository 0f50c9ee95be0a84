// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Synchronization
import TrustStores
import Vocabulary

/// Refused calls of the current minute: of those that are alike the first is recorded at once, and the number of the others when the minute is
/// over. Strangers cannot fill the store: they get few lines a minute, however many addresses they have.
final class RefusedCalls: Sendable {
    /// The most kinds of refused calls that have lines of their own, a minute. The others share one.
    enum Limit {
        static let strangers = 4
        static let operators = 32
    }

    private struct Minute {
        var number: Int64 = 0
        /// The newest entry of a kind (name, operation, outcome and address), and how many more there were than the one that is recorded.
        var kinds: [[UTF8Key]: (entry: AuditEntry, more: Int)] = [:]
    }

    private let minute = Mutex(Minute())

    /// Counts a refused call.
    ///
    /// - Parameter address: the caller's, or what counts as one.
    /// - Returns: what is to be recorded now.
    func add(_ entry: AuditEntry, from address: String) -> [AuditEntry] {
        minute.withLock { minute in
            var entries = RefusedCalls.ended(&minute, at: entry.at)
            let isStranger = entry.name.isEmpty
            let kind = [entry.name, entry.operation, entry.outcome, address].map { UTF8Key($0) }
            if let known = minute.kinds[kind] {
                minute.kinds[kind] = (entry, known.more + 1)
                return entries
            }
            let count = minute.kinds.values.count { $0.entry.name.isEmpty == isStranger }
            if count < (isStranger ? Limit.strangers : Limit.operators) {
                minute.kinds[kind] = (entry, 0)
                entries.append(entry)
                return entries
            }
            let other = AuditEntry(
                at: entry.at, name: isStranger ? "" : "several", operation: "several", target: "app=*",
                outcome: "refused")
            let others = [other.name, other.operation, other.outcome, ""].map { UTF8Key($0) }
            minute.kinds[others] = (other, (minute.kinds[others]?.more ?? 0) + 1)
            return entries
        }
    }

    /// What is to be recorded of a minute that is over.
    func repeated(before now: Date) -> [AuditEntry] {
        minute.withLock { RefusedCalls.ended(&$0, at: now) }
    }

    private static func ended(_ minute: inout Minute, at now: Date) -> [AuditEntry] {
        let number = Int64(exactly: (now.timeIntervalSince1970 / 60).rounded(.down)) ?? 0
        guard number != minute.number else { return [] }
        let kinds = minute.kinds.values
        minute = Minute(number: number)
        return kinds.filter { $0.more > 0 }.sorted { $0.entry.at < $1.entry.at }.map { entry, more in
            AuditEntry(
                at: entry.at, name: entry.name, operation: entry.operation,
                target: "\(entry.target) repeated:\(more)", outcome: entry.outcome, address: entry.address,
                correlationId: entry.correlationId, session: entry.session, reason: entry.reason)
        }
    }
}

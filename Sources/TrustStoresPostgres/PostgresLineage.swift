// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Which cluster a server belongs to, and on which of its histories it writes.
struct PostgresIdentity: Sendable, Equatable {
    /// The number that `initdb` gave the cluster; nil if the role may not read it.
    let system: String?
    /// Counts promotions: a standby that becomes primary takes the next one.
    let timeline: UInt32
}

/// The newest primary that this process has seen. An older one that comes back after a failover is refused, and so is another cluster.
///
/// Kept in memory: a process that starts knows nothing, and believes the first primary that it reaches.
final class PostgresLineage: Sendable {
    /// The newest one, and where it was reached last.
    private let seen = Mutex<(newest: PostgresIdentity?, host: PostgresAddress.Host?)>((nil, nil))

    /// Remembers the server, or gives the reason to refuse it.
    func admit(_ identity: PostgresIdentity, at host: PostgresAddress.Host) -> String? {
        seen.withLock { seen in
            if let known = seen.newest {
                if let old = known.system, let new = identity.system, old != new {
                    return "is another cluster (\(new)) than the store's (\(old))"
                }
                if identity.timeline < known.timeline {
                    return "is on timeline \(identity.timeline), and timeline \(known.timeline) has been seen: "
                        + "an old primary that a newer one replaced; stop it"
                }
            }
            seen.newest = PostgresIdentity(system: seen.newest?.system ?? identity.system, timeline: identity.timeline)
            seen.host = host
            return nil
        }
    }

    /// Whether no newer primary has been seen since.
    func isNewest(_ identity: PostgresIdentity) -> Bool {
        seen.withLock { $0.newest.map { identity.timeline >= $0.timeline } ?? true }
    }

    /// The servers in the order in which they are asked: the one first that was the primary last, so that nobody waits for one that
    /// was replaced and is silent.
    func ordered(_ hosts: [PostgresAddress.Host]) -> [PostgresAddress.Host] {
        guard let last = seen.withLock({ $0.host }) else { return hosts }
        return hosts.filter { $0 == last } + hosts.filter { $0 != last }
    }
}

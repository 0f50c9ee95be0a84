// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Synchronization
import TLSModel

/// The key of each group that the last hellos sent, for the next ones: in a fleet a pair of X25519MLKEM768 for each hello takes a thirteenth
/// of the processor time of a target.
///
/// A probe ends with the handshake and sends nothing that such a key protects, so an old key gives nothing away. What is lost is that a
/// server could tell two hellos of one run from those of two runs, which their source address and time tell as well.
final class RecentKeyShares: Sendable {
    /// How long a key is used.
    static let lifetime = TimeAmount.seconds(10)
    /// In how many hellos, at most.
    static let most = 64

    private struct Kept {
        let share: KeyShare
        let until: NIODeadline
        var uses: Int
    }

    private let kept = Mutex<[NamedGroup: Kept]>([:])

    /// The key for a hello.
    ///
    /// - Parameters:
    ///   - make: makes a fresh one; nil for a group that is not supported.
    ///   - now: when the hello is sent.
    func share(_ group: NamedGroup, at now: NIODeadline, make: (NamedGroup) -> KeyShare?) -> KeyShare? {
        let known = kept.withLock { kept -> KeyShare? in
            guard let entry = kept[group], entry.uses < RecentKeyShares.most, now < entry.until else { return nil }
            kept[group]?.uses += 1
            return entry.share
        }
        if let known { return known }
        // Outside of the lock: two hellos may both make one, and the later one stays.
        guard let share = make(group) else { return nil }
        kept.withLock { $0[group] = Kept(share: share, until: now + RecentKeyShares.lifetime, uses: 1) }
        return share
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Synchronization

/// Intermediates that were verified once, by the SHA-256 of their DER, so that each attestation costs one P-384 signature and not two.
///
/// Only what was verified against the anchors enters, so nobody can fill it with certificates of their own. It is bounded all the
/// same: what expired leaves first, then the oldest. An intermediate that differs in one bit has another hash and is verified anew.
final class RememberedAuthorities: Sendable {
    private struct State {
        var authorities: [SHA256Digest: Authority] = [:]
        var order: [SHA256Digest] = []
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = max(1, limit) }

    func authority(for hash: SHA256Digest) -> Authority? {
        state.withLock { $0.authorities[hash] }
    }

    /// Keeps an intermediate that was verified at this time, and drops those that have expired by then.
    func remember(_ authority: Authority, for hash: SHA256Digest, at instant: Date) {
        state.withLock { state in
            let expired = state.authorities.filter { $0.value.notAfter < instant }
            for known in expired.keys { state.authorities[known] = nil }
            if !expired.isEmpty { state.order.removeAll { expired[$0] != nil } }
            if state.authorities.updateValue(authority, forKey: hash) == nil { state.order.append(hash) }
            while state.order.count > limit { state.authorities[state.order.removeFirst()] = nil }
        }
    }

    func forget(_ hash: SHA256Digest) {
        state.withLock { state in
            state.authorities[hash] = nil
            state.order.removeAll { $0 == hash }
        }
    }

    var count: Int { state.withLock { $0.authorities.count } }
    /// How many are queued for leaving: always as many as are remembered.
    var queued: Int { state.withLock { $0.order.count } }
}

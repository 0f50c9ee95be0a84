// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Synchronization

/// Intermediates that were verified once, by the SHA-256 of their DER, so that each attestation costs one P-384 signature and not two.
///
/// Only what was verified against the anchors enters, so nobody can fill it with certificates of their own. It is bounded all the
/// same: the oldest leaves first. An intermediate that differs in one bit has another hash and is verified anew.
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

    func remember(_ authority: Authority, for hash: SHA256Digest) {
        state.withLock { state in
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
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import HTTPService
import Logging
import Synchronization
import TrustStores
import Vocabulary

/// A key as it was read from the store, ready to check signatures. By reference, as it is kept and handed around.
final class KnownKey: Sendable {
    let stored: StoredKey
    let publicKey: AttestationPublicKey
    let readAt: Date

    /// - Throws: ``Problem`` if the stored point is not on the curve.
    init(_ stored: StoredKey, readAt: Date) throws(Problem) {
        self.stored = stored
        self.readAt = readAt
        do throws(MalformedInput) {
            publicKey = try AttestationPublicKey(x963Representation: stored.publicKeyBytes)
        } catch {
            throw Problem(.internalError, evidence: "the stored key cannot be read")
        }
    }
}

/// Keys whose assertions were accepted lately, so that the next one need not read its key.
///
/// What is kept may be out of date, and nothing rests on it alone: ``ProofIntake/accept(_:_:_:prepare:)`` has the store compare it, in the
/// transaction that accepts. So a revocation on any node counts at once.
final class KnownKeys: Sendable {
    private let observer: RequestObserver
    private let kept = BoundedCache<KeyIdentifier, KnownKey>(capacity: capacity)
    /// How the cache was used until the last report.
    private let reported = Mutex(BoundedCache<KeyIdentifier, KnownKey>.Use())

    /// How many keys are kept: about a kilobyte each.
    private static let capacity = 16_384
    /// How long what was read of a key is used, seconds.
    static let lifetime: TimeInterval = 600

    init(observer: RequestObserver) { self.observer = observer }

    /// A key of an app that was read at most ten minutes ago; nil after the clock went back too.
    func key(_ id: KeyIdentifier, of app: String, at now: Date) -> KnownKey? {
        guard let known = kept[id], known.stored.app.hasSameBytes(as: app), known.isRecent(at: now) else { return nil }
        return known
    }

    func keep(_ key: KnownKey) { kept.keep(key, for: key.stored.id) { !$0.isRecent(at: key.readAt) } }

    /// Forgets a key that the store no longer has.
    func forget(_ id: KeyIdentifier) { if kept[id] != nil { kept.forget(id) } }

    /// Drops what is too old, so that no deleted key stays in memory, and reports how the others were used.
    func sweep(at now: Date) {
        kept.forget { !$0.isRecent(at: now) }
        let use = kept.use
        let before = reported.withLock { reported in
            defer { reported = use }
            return reported
        }
        observer.set("keys.known", Double(kept.count))
        observer.count("keys.known.asked", by: use.asked - before.asked)
        observer.count("keys.known.found", by: use.found - before.found)
        observer.count("keys.known.dropped", by: use.dropped - before.dropped)
        guard use.dropped > before.dropped,
            observer.perHour.note("keys.known.dropped", at: now.timeIntervalSince1970).passes
        else { return }
        observer.log.notice(
            "More keys are in use than are kept in memory; the others are read from the store for each assertion.",
            metadata: ["limit": "\(KnownKeys.capacity)"])
    }
}

extension KnownKey {
    fileprivate func isRecent(at now: Date) -> Bool {
        (0...KnownKeys.lifetime).contains(now.timeIntervalSince(readAt))
    }
}

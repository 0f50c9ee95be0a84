// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import Vocabulary

@testable import TrustStores

extension InMemoryTrustStore {
    func challengeKeys(orElse candidate: [UInt8], at instant: Date) async throws -> [ChallengeKey] {
        try locked { state in
            if state.challengeKeys.isEmpty {
                let secret = state.secrets[UTF8Key(ChallengeCodec.secretName)] ?? candidate
                state.challengeKeys = [
                    ChallengeKey(generation: 1, secret: secret, signsFrom: StoreTime.date(0), acceptedUntil: nil)
                ]
            }
            return state.challengeKeys
        }
    }

    func rotateChallengeKey(_ rotation: ChallengeKeyRotation, at instant: Date) async throws -> RotationOutcome {
        try locked { state in
            let keys = state.challengeKeys.filter { $0.acceptedUntil.map { $0 > instant } ?? true }
            guard let newest = keys.first else { throw StoreFault.damaged("there is no challenge key to replace") }
            if newest.signsFrom > instant { return .tooSoon(until: newest.signsFrom) }
            if keys.count >= ChallengeKey.limit {
                return .tooSoon(until: keys.compactMap(\.acceptedUntil).min() ?? rotation.acceptsOldUntil)
            }
            let next = ChallengeKey(
                generation: newest.generation + 1, secret: rotation.secret,
                signsFrom: StoreTime.date(StoreTime.milliseconds(rotation.signsFrom)), acceptedUntil: nil)
            let last = StoreTime.date(StoreTime.milliseconds(rotation.acceptsOldUntil))
            state.challengeKeys =
                [next]
                + keys.map { key in
                    ChallengeKey(
                        generation: key.generation, secret: key.secret, signsFrom: key.signsFrom,
                        acceptedUntil: key.acceptedUntil ?? last)
                }
            return .rotated(generation: next.generation)
        }
    }

    func keys(matching filter: KeyFilter, after cursor: KeyCursor?, limit: Int) async throws -> KeyPage {
        let limit = min(max(1, limit), KeyPage.largest)
        return try locked { state in
            let found = state.keys.values.map(\.key)
                .filter { filter.includes($0) && (cursor?.isBefore($0, byIdAlone: filter.user != nil) ?? true) }
                .sorted { KeyCursor($0).isBefore($1, byIdAlone: filter.user != nil) }
            return KeyPage(found, limit: limit)
        }
    }

    func keyCounts() async throws -> [KeyCount] {
        try locked { state in
            var counts: [[UTF8Key]: Int] = [:]
            for key in state.keys.values.map(\.key) where key.revokedAt == nil {
                let name = [key.environment, key.app, key.simulated ? "1" : "0"].map { UTF8Key($0) }
                counts[name, default: 0] += 1
            }
            return counts.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { name, count in
                KeyCount(app: name[1].text, environment: name[0].text, simulated: name[2] == "1", keys: count)
            }
        }
    }

    func deleteKey(_ id: KeyIdentifier) async throws -> Bool { try locked { $0.delete(id) } }

    func deleteKeys(ofUser user: String, app: String?) async throws -> Int {
        let filter = KeyFilter(app: app, user: user)
        return try locked { state in
            let ids = state.keys.values.map(\.key).filter(filter.includes).map(\.id)
            return ids.count { state.delete($0) }
        }
    }

    func revokeKeys(
        of app: String, matching rule: RevocationRule, bound: RevocationBound, code: String?, at instant: Date
    ) async throws -> RevocationResult {
        let filter = rule.filter(app: app)
        return try locked { state in
            let ids = state.keys.values.map(\.key)
                .filter { $0.revokedAt == nil && filter.includes($0) && rule.includes($0) }.map(\.id)
            guard bound.admits(ids.count) else { return .unchanged(ids.count) }
            return .revoked(ids.count { state.revoke($0, code: code, at: instant) == .revoked })
        }
    }

    func revokedKeys(since instant: Date, limit: Int) async throws -> RevokedKeys {
        let start = StoreTime.milliseconds(instant)
        return try locked { state in
            let keys = state.keys.values.compactMap { entry in
                entry.key.revokedAt.map { (id: entry.key.id, at: StoreTime.milliseconds($0)) }
            }
            let tombstones = state.tombstones.map { (name: $0.key, day: $0.value) }
            return RevokedKeys(
                keys.filter { $0.at >= start }, tombstones.filter { $0.day >= Tombstone.day(of: start) }, limit: limit)
        }
    }

    func append(_ entries: [AuditEntry]) async throws {
        try locked { state in
            for entry in entries { state.audit.append(state.auditEnd.append(entry)) }
        }
    }

    func audit(after number: Int64?, limit: Int) async throws -> [NumberedAuditEntry] {
        let limit = min(max(0, limit), 10_000)
        return try locked { Array($0.audit.drop { $0.number <= number ?? 0 }.prefix(limit)) }
    }

    func newestAuditNumber() async throws -> Int64 { try locked { $0.auditEnd.number } }

    func reserve(
        _ claim: PromotionClaim, tokens: PromotionTokens, countingGrantsFrom grantStart: Date, for duration: Duration,
        at instant: Date
    ) async throws -> PromotionStanding {
        let grantsFrom = StoreTime.milliseconds(grantStart)
        return try locked { $0.reserve(claim, tokens, grantsFrom: grantsFrom, for: duration, at: instant) }
    }

    func note(_ note: String, on reservation: PromotionReservation) async throws -> Bool {
        try locked { $0.note(note, on: reservation) }
    }

    func release(_ reservation: PromotionReservation, at instant: Date) async throws {
        try locked { $0.release(reservation, at: instant) }
    }

    func answer(
        _ reservation: PromotionReservation, with answer: PromotionAnswer, at instant: Date
    ) async throws -> PromotionSettlement {
        try locked { $0.answer(reservation, with: answer, at: instant) }
    }
}

extension KeyFilter {
    func includes(_ key: StoredKey) -> Bool {
        (app.map { $0.hasSameBytes(as: key.app) } ?? true) && (user == nil || StoreText.areSame(user, key.user))
            && (environment.map { $0.hasSameBytes(as: key.environment) } ?? true)
    }
}

extension KeyCursor {
    /// Whether the key comes later in the list.
    fileprivate func isBefore(_ key: StoredKey, byIdAlone: Bool) -> Bool {
        let isBeforeById = id.bytes.lexicographicallyPrecedes(key.id.bytes)
        if byIdAlone { return isBeforeById }
        let (left, right) = ([environment, app].map { UTF8Key($0) }, [key.environment, key.app].map { UTF8Key($0) })
        return left == right ? isBeforeById : left.lexicographicallyPrecedes(right)
    }
}

extension MemoryState {
    fileprivate mutating func delete(_ id: KeyIdentifier) -> Bool {
        guard let key = keys.removeValue(forKey: id)?.key else { return false }
        if let instant = key.revokedAt {
            tombstones[Tombstone.hash(of: id)] = Tombstone.day(of: StoreTime.milliseconds(instant))
        }
        for index in events.indices where events[index].keyId == id {
            (events[index].keyId, events[index].detail) = (nil, nil)
        }
        return true
    }
}

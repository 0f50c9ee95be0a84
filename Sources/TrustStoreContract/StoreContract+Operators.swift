// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import TrustStores

extension StoreContract {
    static let operators: [Case] = [
        Case("keys are listed page by page, each once, by any filter", listing),
        Case("unrevoked keys are counted by kind", kinds),
        Case("one of many deletes a key, with its receipts and all that leads to it in its events", deletion),
        Case("all keys of a user go, of one app or of all; a grant stays without the name", userDeletion),
        Case("the audit is read without gaps while two nodes write", audit),
        Case("of many first callers one challenge key is kept, and of many rotations one happens", challengeKeys),
        Case("a secret that is replaced is another one on every node, and its mark changes", replacedSecret),
        Case("a caller that sees the challenge of an attestation spent also sees its key", attestationStanding),
        Case("more keys than one transaction takes are revoked and deleted, all of them", batches),
        Case("two users whose names only look alike are two users", lookAlikes),
    ]

    static let revocations = each(
        "keys are revoked together, each once, within one app",
        of: [RevocationRule.user("ann"), .environment("development"), .simulated, .attestedBefore(Sample.now + 30)],
        groupRevocation)

    /// Keys of two apps, two environments and three users; every fifth is simulated.
    private static func keys(_ count: Int, in store: any TrustStore) async throws -> [KeyRegistration] {
        var stored: [KeyRegistration] = []
        for index in 0..<count {
            let registration = Sample.registration(
                app: index % 2 == 0 ? "a" : "b", user: index % 3 == 0 ? "ann" : index % 3 == 1 ? "bob" : nil,
                environment: index % 4 == 0 ? "development" : "production", simulated: index % 5 == 0)
            let instant = Sample.now + Double(index)
            _ = try await store.insert(registration, spending: Sample.challenge(), at: instant)
            stored.append(registration)
        }
        return stored
    }

    private static func walk(_ filter: KeyFilter, _ store: any TrustStore) async throws -> [StoredKey] {
        var found: [StoredKey] = []
        var cursor: KeyCursor?
        repeat {
            let page = try await store.keys(matching: filter, after: cursor, limit: 7)
            try expect(page.keys.count <= 7)
            found += page.keys
            // As a client gives it back.
            cursor = try page.next.map { try require(KeyCursor($0.text)) }
        } while cursor != nil
        return found
    }

    static func listing(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let stored = try await keys(60, in: store)
        let all = try await walk(KeyFilter(), store)
        try expect(all.count == 60 && Set(all.map(\.id)).count == 60)
        try expect(all.map(\.environment), is: all.map(\.environment).sorted())
        for app in [nil, "a", "b", "c", "a\0"] {
            for user in [nil, "ann", "bob", "eve", "ann\0"] {
                for environment in [nil, "production", "development", "x"] {
                    let filter = KeyFilter(app: app, user: user, environment: environment)
                    let wanted = stored.filter { key in
                        (app ?? key.app) == key.app && (user == nil || user == key.user)
                            && (environment ?? key.environment) == key.environment
                    }
                    let found = try await walk(filter, store)
                    try expect(
                        found.count == wanted.count && Set(found.map(\.id)) == Set(wanted.map(\.id)), "\(filter)")
                }
            }
        }
        try expect(KeyCursor("") == nil && KeyCursor("AAAA") == nil && KeyCursor("not base64!") == nil)
        // A key that is deleted between two pages does not end the walk.
        let page = try await store.keys(matching: KeyFilter(), after: nil, limit: 7)
        let next = try require(page.next)
        try expect(try await store.deleteKey(try require(page.keys.last).id))
        try expect(try await store.keys(matching: KeyFilter(), after: next, limit: 100).keys.count, is: 53)
    }

    static func kinds(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let stored = try await keys(20, in: store)
        let first = try require(stored.first)
        try expect(try await store.revoke(first.id, code: nil, at: Sample.now), is: .revoked)
        let counts = try await store.keyCounts()
        try expect(counts.map(\.keys).reduce(0, +), is: 19)
        try expect(counts.first, is: KeyCount(app: "a", environment: "development", simulated: false, keys: 4))
        try expect(counts.count { $0.simulated }, is: 2)
    }

    static func deletion(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let id = try await Sample.storeWithKey(in: fixture)
        let other = try await Sample.storeWithKey(in: fixture)
        for key in [id, other] {
            try await nodes[0].record(
                StoreEvent(at: Sample.now, app: "app", keyId: key, kind: "refused", detail: "ann"))
        }
        let outcomes = try await race(20) { try await nodes[$0 % 2].deleteKey(id) }
        try expect(outcomes.count { $0 }, is: 1)
        try expect(try await nodes[1].key(id), is: nil)
        try expect(try await nodes[1].receipts(of: id, limit: 9).isEmpty)
        try expect(try await nodes[1].history(of: id, limit: 9).isEmpty)
        try expect(try await nodes[1].history(of: other, limit: 9).map(\.detail), is: [nil, "ann"])
        try expect(try await nodes[1].receipts(of: other, limit: 9).count, is: 1)
        try expect(try await nodes[0].advance(id, to: 1), is: .refused(.keyUnknown))
    }

    static func userDeletion(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        _ = try await keys(60, in: nodes[0])
        let subject = try require(PromotionSubject(user: "ann"))
        let reservation = try await nodes[0].reserved(try Sample.claim(of: subject))
        _ = try await nodes[0].answer(reservation, with: Self.granted, at: Sample.now)
        try expect(try await nodes[0].deleteKeys(ofUser: "ann", app: "a"), is: 10)
        let rest = try await race(6) { try await nodes[$0 % 2].deleteKeys(ofUser: "ann", app: nil) }
        try expect(rest.reduce(0, +), is: 10)
        try expect(try await nodes[1].keys(matching: KeyFilter(user: "ann"), after: nil, limit: 9).keys.isEmpty)
        try expect(try await walk(KeyFilter(), nodes[1]).count, is: 40)
        try expect(try await nodes[1].deleteKeys(ofUser: "ann\0", app: nil), is: 0)
        let again = try Sample.claim(transaction: "again", of: subject)
        try expect(try await nodes[1].standing(again), is: .alreadyGranted(Sample.now))
    }

    static func groupRevocation(_ fixture: StoreFixture, _ rule: RevocationRule) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let stored = try await keys(60, in: nodes[0])
        let wanted = stored.enumerated().filter { index, key in
            guard key.app == "a" else { return false }
            return switch rule {
            case .user(let user): key.user == user
            case .environment(let environment): key.environment == environment
            case .simulated: key.simulated
            case .attestedBefore: index < 30
            }
        }.map(\.element.id)
        // A dry run, and a bound that does not admit the number, change nothing.
        for bound in [RevocationBound.dryRun, .exactly(wanted.count + 1), .exactly(0), .atMost(wanted.count - 1)] {
            let result = try await nodes[0].revokeKeys(
                of: "a", matching: rule, bound: bound, code: nil, at: Sample.now + 98)
            guard case .unchanged(let count) = result else { throw ContractViolation("\(bound): \(result)") }
            if bound == .dryRun { try expect(count, is: wanted.count) }
        }
        try expect(try await walk(KeyFilter(), nodes[1]).allSatisfy { $0.revokedAt == nil })
        // Of callers that expect all of them exactly one revokes them, and no one revokes a part.
        let bounds = [RevocationBound.exactly(wanted.count), .atMost(wanted.count)]
        let results = try await race(6) { index in
            try await nodes[index % 2].revokeKeys(
                of: "a", matching: rule, bound: bounds[index / 2 % 2], code: "operator", at: Sample.now + 99)
        }
        try expect(results.count { $0 == .revoked(wanted.count) } == 1 && !wanted.isEmpty)
        for result in results {
            if case .revoked(let count) = result { try expect(count == wanted.count || count == 0) }
        }
        let revoked = try await walk(KeyFilter(), nodes[1]).filter { $0.revokedAt == Sample.now + 99 }
        try expect(Set(revoked.map(\.id)), is: Set(wanted))
        let history = try await nodes[1].history(of: try require(wanted.first), limit: 9)
        try expect(history.map(\.kind) == ["attested", "revoked"] && history.last?.code == "operator")
    }

    static func audit(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let reader = Task { () async throws -> [NumberedAuditEntry] in
            var seen: [NumberedAuditEntry] = []
            let end = ContinuousClock.now + .seconds(30)
            while seen.count < 300, ContinuousClock.now < end {
                seen += try await nodes[0].audit(after: seen.last?.number, limit: 50)
                await Task.yield()
            }
            return seen
        }
        _ = try await race(100) { index in
            try await nodes[index % 2].append((0..<3).map { Sample.auditEntry("target \(index)-\($0)") })
        }
        let seen = try await reader.value
        try expect(seen.map(\.number), is: Array(1...300))
        try expect(Set(seen.map(\.entry.target)).count, is: 300)
        try await nodes[0].append([])
        try expect(try await nodes[1].newestAuditNumber(), is: 300)
        let odd = AuditEntry(
            at: Sample.now, name: "a\0b", operation: "o", target: String(repeating: "é", count: 600), outcome: "ok",
            address: "192.0.2.1", correlationId: "c", session: "s", reason: "why")
        try await nodes[1].append([odd])
        // Each line has the hash of the line before, whichever node wrote it.
        let lines = try await nodes[1].audit(after: nil, limit: 400)
        try expect(lines.first?.previous, is: [UInt8](repeating: 0, count: 32))
        try expect(lines.dropFirst().map(\.previous) == lines.dropLast().map(\.hash))
        let last = try require(try await nodes[0].audit(after: 300, limit: 9).first)
        try expect(last.entry == odd && odd.name == "a\u{FFFD}b" && odd.target.utf8.count == 1024)
        try expect(try await nodes[0].audit(after: 301, limit: 9).isEmpty)
        try expect(try await nodes[0].audit(after: nil, limit: -1).isEmpty)
    }

    static func replacedSecret(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        try expect(try await nodes[0].replaceSecret(named: "token", by: [1]), is: false)
        try expect(try await nodes[0].secret(named: "token", orElse: [2]), is: [2])
        let mark = try await nodes[1].secretsMark()
        try expect(try await nodes[0].secretsMark(), is: mark)
        try expect(try await nodes[1].replaceSecret(named: "token", by: [3]), is: true)
        try expect(try await nodes[0].secret(named: "token", orElse: [4]), is: [3])
        try expect(try await nodes[0].secretsMark() != mark)
    }

    static func challengeKeys(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let first = try await race(30) { index in
            try await nodes[index % 2].challengeKeys(orElse: Sample.bytes(32), at: Sample.now)
        }
        try expect(first.allSatisfy { $0 == first[0] } && first[0].map(\.generation) == [1])
        let outcomes = try await race(30) { index in
            let rotation = ChallengeKeyRotation(
                secret: Sample.bytes(32), signsFrom: Sample.now + 30, acceptsOldUntil: Sample.now + 400)
            return try await nodes[index % 2].rotateChallengeKey(rotation, at: Sample.now)
        }
        try expect(outcomes.count { $0 == .rotated(generation: 2) }, is: 1)
        try expect(outcomes.count { $0 == .tooSoon(until: Sample.now + 30) }, is: 29)
        let keys = try await nodes[1].challengeKeys(orElse: [], at: Sample.now)
        try expect(keys.map(\.generation) == [2, 1] && keys[1].secret == first[0][0].secret)
        try expect(keys.map(\.acceptedUntil) == [nil, Sample.now + 400] && keys[0].signsFrom == Sample.now + 30)
        // However often it is asked, the limit holds; expired ones are forgotten.
        for index in 1...20 {
            let instant = Sample.now + Double(index * 31)
            _ = try await nodes[0].rotateChallengeKey(
                ChallengeKeyRotation(
                    secret: Sample.bytes(32), signsFrom: instant + 30, acceptsOldUntil: instant + 1000), at: instant)
        }
        try expect(try await nodes[1].challengeKeys(orElse: [], at: Sample.now).count, is: ChallengeKey.limit)
    }

    static func attestationStanding(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        for _ in 0..<20 {
            let registration = Sample.registration()
            let challenge = Sample.challenge()
            let seen = try await race(20) { index -> Bool in
                if index % 2 == 0 {
                    let outcome = try await nodes[index / 2 % 2].insert(
                        registration,
                        spending: challenge,
                        // Half of them come when the challenge is over.
                        at: index % 4 == 0 ? Sample.now : Sample.now + 300
                    )
                    return outcome != .refused(.challengeUsed)
                }
                let node = nodes[index / 2 % 2]
                let standing = try await node.attestationStanding(of: registration.id, challenge: challenge)
                return standing.isSpent == (standing.key != nil)
            }
            try expect(seen.allSatisfy { $0 })
        }
    }

    static func batches(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        for _ in 0..<2 {
            _ = try await race(550) { index in
                try await store.insert(Sample.registration(user: "ann"), spending: Sample.challenge(), at: Sample.now)
            }
        }
        @Sendable func revoke(_ bound: RevocationBound) async throws -> RevocationResult {
            try await store.revokeKeys(
                of: "app", matching: .environment("production"), bound: bound, code: nil, at: Sample.now)
        }
        try expect(try await revoke(.dryRun), is: .unchanged(1100))
        try expect(try await revoke(.exactly(1101)), is: .unchanged(1100))
        // Of several at once one revokes all, and no other says that it revoked any.
        let made = try await race(4) { _ in try await revoke(.exactly(1100)) }
        try expect(made.count { $0 == .revoked(1100) }, is: 1)
        try expect(made.count { if case .unchanged = $0 { true } else { false } }, is: 3)
        try expect(try await revoke(.exactly(1100)), is: .unchanged(0))
        try expect(try await revoke(.atMost(100)), is: .revoked(0))
        try expect(try await revoke(.exactly(0)), is: .revoked(0))
        try expect(try await store.deleteKeys(ofUser: "ann", app: nil), is: 1100)
        try expect(try await store.keys(matching: KeyFilter(), after: nil, limit: 9).keys.isEmpty)
    }

    static func lookAlikes(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let first = Sample.registration(user: composed)
        _ = try await store.insert(first, spending: Sample.challenge(), at: Sample.now)
        let second = Sample.registration(id: first.id, user: decomposed, digest: first.attestationDigest)
        let outcome = try await store.insert(second, spending: Sample.challenge(), at: Sample.now)
        try expect(outcome, is: .refused(.otherUser))
        try expect(try await store.keyCount(ofUser: decomposed, app: "app", since: Sample.now), is: 0)
        try expect(try await store.deleteKeys(ofUser: decomposed, app: nil), is: 0)
        try expect(try await store.deleteKeys(ofUser: composed, app: nil), is: 1)
        let hour = StoreTime.date(StoreTime.hour(Sample.now))
        try await store.add([composed, decomposed].map { SignalTally(app: $0, hour: hour, kind: "attested") })
        try expect(try await store.tallies(app: composed, from: hour, to: hour + 1).map(\.count), is: [1])
        try expect(try await store.secret(named: composed, orElse: [1]), is: [1])
        try expect(try await store.secret(named: decomposed, orElse: [2]), is: [2])
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import Synchronization
import TestSupport
import Testing
import TrustStoreContract
import Vocabulary

@testable import TrustStores

@Suite struct SweepCostTests {
    /// Stores keys with one receipt each, as SQL alone does it soonest.
    private func fill(_ store: SQLTrustStore, keys: Int) async throws {
        try await store.engine.transact { session in
            try session.run(
                """
                INSERT INTO key_receipts (key_id, created_at, stored_at, bytes)
                WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < $1)
                SELECT CAST('key ' || number AS BLOB), 1, 1, CAST('receipt' AS BLOB) FROM numbers
                """,
                .integer(Int64(keys))
            )
            return .commit(())
        }
    }

    @Test("a sweep does not visit the receipts of quiet keys")
    func quiet() async throws {
        let store = try SQLTrustStore.sqlite(at: TemporaryDirectory.shared.path("quiet.sqlite"))
        try await fill(store, keys: 100_000)
        let plan = try await store.engine.read { session in
            try session.run(
                """
                EXPLAIN QUERY PLAN SELECT key_id, created_at FROM key_receipts
                WHERE superseded_at IS NOT NULL AND stored_at < $1 ORDER BY stored_at LIMIT $2
                """,
                .integer(.max),
                .integer(5000)
            ).rows.map { try $0.text(3) }
        }
        // The partial index contains superseded receipts alone: here none.
        #expect(plan.count == 1 && plan[0].contains("INDEX receipts_by_superseding"), "\(plan)")
        _ = try await store.settleClock(at: Sample.now)
        try await store.record(StoreEvent(at: Sample.now, app: "a", kind: "k"))
        let start = ContinuousClock.now
        let report = try await store.sweep(at: Sample.now, keeping: Retention())
        #expect(report.receipts == 0 && report.clockFault == nil)
        #expect(Measuring.isOff || ContinuousClock.now - start < .milliseconds(500))
        await store.close()
    }
}

@Suite struct KeyCountTests {
    /// Stores keys of four kinds, as SQL alone does it soonest.
    private static func fill(_ store: SQLTrustStore, keys: Int, bytes: String) async throws {
        try await store.engine.transact { session in
            try session.run(
                SQLText(
                    """
                    INSERT INTO attested_keys (id, public_key, app, identity, environment, simulated, attestation_digest,
                    attested_at, counter, seen, largest_gap, leased_until, fence, failures)
                    WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < $1)
                    SELECT \(bytes), \(bytes), CASE number % 2 WHEN 0 THEN 'a' ELSE 'b' END, 'identity',
                    CASE number % 4 WHEN 0 THEN 'development' ELSE 'production' END, 0, \(bytes), 1, 1, 1, 0, 0, 0, 0 FROM numbers
                    """
                ),
                .integer(Int64(keys))
            )
            return .commit(())
        }
    }

    @Test("100,000 keys are counted from an index alone, on both databases", arguments: StoreBackend.persistent)
    func counted(_ backend: StoreBackend) async throws {
        let store = try #require(try await backend.make().store as? SQLTrustStore)
        let isSQLite = backend.testDescription == "SQLite"
        let bytes =
            isSQLite ? "CAST(printf('%032d', number) AS BLOB)" : "convert_to(lpad(number::text, 32, '0'), 'UTF8')"
        try await Self.fill(store, keys: 100_000, bytes: bytes)
        let start = ContinuousClock.now
        let counts = try await store.keyCounts()
        print("100,000 keys counted on \(backend.testDescription) in \(ContinuousClock.now - start)")
        #expect(counts.map(\.keys) == [25_000, 25_000, 50_000])
        let place: [SQLValue] = [.text("a"), .text("b"), .bytes([1])]
        for (text, values) in [
            (KeyCountText.last, place + [.integer(10)]), (KeyCountText.page, place + place),
            (KeyCountText.rest, place),
        ] {
            let plan = try await store.engine.look { session in
                let asked = SQLText((isSQLite ? "EXPLAIN QUERY PLAN " : "EXPLAIN ") + text.postgres)
                return try session.run(asked, values).rows.map { try $0.text(isSQLite ? 3 : 0) }
            }
            if isSQLite {
                #expect(plan.first?.contains("USING COVERING INDEX keys_by_kind (") == true, "\(plan)")
            } else {
                // Until the first vacuum the planner may prefer the table; the index has all columns that are asked for.
                #expect(plan.contains { $0.contains("Scan") }, "\(plan)")
            }
        }
        // One key of an app is found without counting.
        #expect(try await store.keys(matching: KeyFilter(app: "b"), after: nil, limit: 1).keys.count == 1)
        #expect(try await store.keys(matching: KeyFilter(app: "c"), after: nil, limit: 1).keys.isEmpty)
        await store.close()
    }
}

/// A value that is longer than any of ours is not read into memory.
@Suite struct HugeRowTests {
    @Test("a row of 160 MB is a fault before it is read, and the store goes on", arguments: StoreBackend.persistent)
    func huge(_ backend: StoreBackend) async throws {
        let store = try #require(try await backend.make().store as? SQLTrustStore)
        let length = backend.testDescription == "SQLite" ? 15_000_000 : 160_000_000
        _ = try await store.secret(named: "huge", orElse: [1])
        try await store.engine.transact { session in
            let value =
                backend.testDescription == "SQLite"
                ? "zeroblob(\(length))" : "convert_to(repeat('x', \(length)), 'UTF8')"
            if backend.testDescription != "SQLite" { try session.run("SET LOCAL statement_timeout = 0") }
            try session.run(SQLText("UPDATE store_secrets SET value = \(value) WHERE name = 'huge'"))
            return .commit(())
        }
        if backend.testDescription == "SQLite" {
            // Whoever writes beyond the limit by this program is refused; a longer row comes only from another program.
            await #expect(throws: (any Error).self) {
                try await store.engine.transact { session in
                    .commit(
                        try session.run("UPDATE store_secrets SET value = zeroblob(17000000) WHERE name = 'huge'")
                            .changes)
                }
            }
            #expect(try await store.secret(named: "huge", orElse: []).count == length)
        } else {
            let before = Self.peakKilobytes()
            let fault = await #expect(throws: StoreFault.self) { _ = try await store.secret(named: "huge", orElse: []) }
            #expect(fault?.reason == "PostgreSQL sends more than any answer can contain")
            #expect(Self.peakKilobytes() - before < 280_000)
        }
        _ = try await store.secret(named: "small", orElse: [1])
        #expect(try await store.key(Sample.keyId()) == nil)
        await store.close()
    }

    /// The most memory that this process ever had.
    private static func peakKilobytes() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
}

@Suite struct StoreProbeTests {
    @Test("however many ask, a store is checked once a second, and all get that answer")
    func shared() async throws {
        let clock = FixtureClock().storeClock(hasServer: false)
        let time = FixtureClock()
        let store = try SQLTrustStore.sqlite(at: TemporaryDirectory.shared.path("probe.sqlite"), clock: clock)
        let probe = SharedAnswer(interval: .seconds(1), uptime: time.storeClock(hasServer: false).uptime) {
            try await store.check()
        }
        func checks() async throws -> Int64? {
            try await store.engine.read { try $0.row("SELECT count FROM store_checks")?.integer(0) }
        }
        _ = try await race(200) { _ in try await probe.value() }
        #expect(try await checks() == 1)
        time.advance(.milliseconds(999))
        _ = try await race(50) { _ in try await probe.value() }
        #expect(try await checks() == 1)
        time.advance(.milliseconds(1))
        _ = try await race(50) { _ in try await probe.value() }
        #expect(try await checks() == 2)
        await store.close()
        _ = try await probe.value()
        time.advance(.seconds(1))
        for _ in 0..<3 { await #expect(throws: StoreFault.unavailable("")) { _ = try await probe.value() } }
    }

    @Test("a check changes a row", arguments: StoreBackend.persistent)
    func writes(_ backend: StoreBackend) async throws {
        let store = try #require(try await backend.make().store as? SQLTrustStore)
        for expected in 1...3 as ClosedRange<Int64> {
            try await store.check()
            let count = try await store.engine.read { try $0.row("SELECT count FROM store_checks")?.integer(0) }
            #expect(count == expected)
        }
    }

    #if canImport(Glibc)
        /// Runs in a process of its own: the limit is the process's.
        @Sendable static func fill(_ path: String) async throws {
            signal(SIGXFSZ, SIG_IGN)
            let store = try SQLTrustStore.sqlite(at: path)
            try await store.check()
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            var limit = rlimit()
            guard getrlimit(resource, &limit) == 0 else { throw StoreFault.unavailable("no limit can be read") }
            var tight = limit
            // No file may grow, as on a disk that is full.
            tight.rlim_cur = 4096
            guard setrlimit(resource, &tight) == 0 else { throw StoreFault.unavailable("no limit can be set") }
            var isReady = true
            do { try await store.check() } catch is StoreFault { isReady = false }
            guard setrlimit(resource, &limit) == 0, !isReady else {
                throw StoreFault.damaged("a store that cannot grow says that it is ready")
            }
            try await store.check()
            await store.close()
        }

        @Test("on a disk that takes nothing more a store is not ready; once it does again, the store is")
        func full() async throws {
            let path = TemporaryDirectory.shared.path("full.sqlite")
            await #expect(processExitsWith: .success) { [path = path as String] in
                try await StoreProbeTests.fill(path)
            }
        }
    #endif
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import TrustStores
@testable import TrustStoresSQLite

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
        let store = try SQLTrustStore.sqlite(at: TemporaryFolder.shared.file("quiet.sqlite"))
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
        #expect(ContinuousClock.now - start < .milliseconds(500))
        await store.close()
    }
}

@Suite struct StoreProbeTests {
    @Test("however many ask, a store is checked once a second, and all get that answer")
    func shared() async throws {
        let clock = FixtureClock().storeClock(hasServer: false)
        let time = FixtureClock()
        let store = try SQLTrustStore.sqlite(at: TemporaryFolder.shared.file("probe.sqlite"), clock: clock)
        let probe = StoreProbe(store, clock: time.storeClock(hasServer: false))
        func checks() async throws -> Int64? {
            try await store.engine.read { try $0.row("SELECT count FROM store_checks")?.integer(0) }
        }
        _ = try await race(200) { _ in try await probe.check() }
        #expect(try await checks() == 1)
        time.advance(.milliseconds(999))
        _ = try await race(50) { _ in try await probe.check() }
        #expect(try await checks() == 1)
        time.advance(.milliseconds(1))
        _ = try await race(50) { _ in try await probe.check() }
        #expect(try await checks() == 2)
        await store.close()
        _ = try await probe.check()
        time.advance(.seconds(1))
        for _ in 0..<3 { await #expect(throws: StoreFault.unavailable("")) { _ = try await probe.check() } }
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
            let path = TemporaryFolder.shared.file("full.sqlite")
            await #expect(processExitsWith: .success) { [path = path as String] in
                try await StoreProbeTests.fill(path)
            }
        }
    #endif
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import BenchReport
import Foundation
import TrustMaterial
import TrustStores
import TrustStoresPostgres

/// Measures accepted assertions a second at the store alone: one caller at a time, then 64 waiting.
///
///     store-bench [--folder FOLDER] [--postgres URL] [--seconds N]
///
/// FOLDER must be on the disk that is to be measured; a memory disk would flush for nothing. Every accepted assertion is counted again
/// in the store afterwards, so that nothing is measured that did not happen. Ends with status 1 where 64 waiting callers are not at
/// least four times as fast as one on SQLite; PostgreSQL is reported.
@main
struct StoreBench {
    static let required = 4.0

    static func main() async throws {
        // Ended out here, where the store of the run is gone: `exit` runs no `defer`.
        if try await !holds(BenchArguments()) { exit(1) }
    }

    /// Measures, prints, and tells whether the required figure was reached.
    private static func holds(_ arguments: BenchArguments) async throws -> Bool {
        let seconds = arguments["--seconds"].flatMap(Double.init) ?? 5
        let folder = arguments["--folder"] ?? FileManager.default.currentDirectoryPath
        let path = folder + "/store-bench-\(UUID().uuidString).sqlite"
        defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) } }
        print(
            String(format: "%-34@ %10.1f microseconds", "one flush of this disk" as NSString, try flush(folder) * 1e6)
        )
        let sqlite = try SQLTrustStore.sqlite(at: path)
        let ratio = try await measure("SQLite, WAL, synchronous=FULL", sqlite, seconds)
        await sqlite.close()
        if let url = arguments["--postgres"] {
            let postgres = try await SQLTrustStore.postgres(url)
            let ratio = try await measure("PostgreSQL, synchronous_commit=on", postgres, seconds)
            figure("commits with 64 waiting against one, PostgreSQL", ratio, .none)
            await postgres.close()
        }
        return figure("commits with 64 waiting against one, SQLite FULL", ratio, .atLeast(required))
    }

    /// Seconds that the disk takes to make one appended page durable: the reference beside which the rates are read.
    static func flush(_ folder: String) throws -> Double {
        let path = folder + "/store-bench-\(UUID().uuidString).flush"
        let file = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
        guard file >= 0 else { throw BenchFault("no file can be made in \(folder)") }
        defer {
            close(file)
            unlink(path)
        }
        let page = [UInt8](repeating: 7, count: 4096)
        let start = ContinuousClock.now
        for _ in 0..<200 {
            guard write(file, page, page.count) == page.count, fdatasync(file) == 0 else {
                throw BenchFault("the disk does not flush")
            }
        }
        return seconds(ContinuousClock.now - start) / 200
    }

    static func measure(_ name: String, _ store: SQLTrustStore, _ duration: Double) async throws -> Double {
        let material = try await Material(store: store, at: Date(timeIntervalSince1970: 1_795_000_000))
        let keys = try await material.holders(64, in: store).map(\.keyId)
        let alone = try await rate(1, keys, store, material, duration)
        let waiting = try await rate(64, keys, store, material, duration)
        print(
            String(
                format: "%-34@ %10.0f/s one at a time, %.0f/s with 64 waiting, ratio %.2f",
                name as NSString,
                alone,
                waiting,
                waiting / alone
            )
        )
        return waiting / alone
    }

    /// Accepted assertions a second of so many callers, each with a key of its own.
    static func rate(
        _ callers: Int,
        _ keys: [KeyIdentifier],
        _ store: SQLTrustStore,
        _ material: Material,
        _ duration: Double
    ) async throws -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        let end = start + .seconds(duration)
        let accepted = try await withThrowingTaskGroup(of: Int.self) { group in
            for caller in 0..<callers {
                group.addTask {
                    let first = try await Self.counter(of: keys[caller], in: store)
                    var counter = first
                    while clock.now < end {
                        counter += 1
                        let outcome = try await store.advance(
                            CounterAdvance(
                                keyId: keys[caller],
                                counter: counter,
                                mode: .strict,
                                challenge: try material.challenge(for: keys[caller])
                            ),
                            at: material.now
                        )
                        guard case .advanced(let previous) = outcome, previous == counter - 1 else {
                            throw BenchFault("an assertion was not accepted: \(outcome)")
                        }
                    }
                    guard try await Self.counter(of: keys[caller], in: store) == counter else {
                        throw BenchFault("the store does not hold what it accepted")
                    }
                    return Int(counter - first)
                }
            }
            return try await group.reduce(0, +)
        }
        return Double(accepted) / seconds(clock.now - start)
    }

    private static func counter(of key: KeyIdentifier, in store: SQLTrustStore) async throws -> UInt32 {
        guard let stored = try await store.key(key) else { throw BenchFault("a key is gone") }
        return stored.counter
    }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }
}

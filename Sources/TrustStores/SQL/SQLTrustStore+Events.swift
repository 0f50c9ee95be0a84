// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppAttest
package import FoundationEssentials
import Vocabulary

extension SQLTrustStore {
    package func record(_ event: StoreEvent) async throws {
        try await transact { session in
            try session.insert(event)
            return .commit(())
        }
    }

    package func history(of id: KeyIdentifier, limit: Int) async throws -> [StoreEvent] {
        try await read { session in
            try session.run(Text.history, .bytes(id.bytes), .integer(Int64(min(max(0, limit), 10_000)))).rows
                .reversed()
                .map { row in
                    StoreEvent(
                        at: try row.date(0), app: try row.text(1), keyId: id, kind: try row.text(2),
                        code: try row.optionalText(3), detail: try row.optionalText(4))
                }
        }
    }

    package func add(_ tallies: [SignalTally]) async throws {
        // One order everywhere, so that two nodes never wait for each other.
        let sorted = tallies.filter { $0.count > 0 }
            .map { ([$0.app, $0.kind, $0.code].map { UTF8Key($0) }, StoreTime.hour($0.hour), $0.count) }
            .sorted { $0.0 == $1.0 ? $0.1 < $1.1 : $0.0.lexicographicallyPrecedes($1.0) }
        if sorted.isEmpty { return }
        try await transact { session in
            for (names, hour, count) in sorted {
                try session.run(
                    Text.add, .text(names[0].text), .integer(hour), .text(names[1].text), .text(names[2].text),
                    .integer(Int64(count)))
            }
            return .commit(())
        }
    }

    package func tallies(app: String, from start: Date, to end: Date) async throws -> [SignalTally] {
        let first = StoreTime.hour(start)
        let last = StoreTime.milliseconds(end)
        return try await read { session in
            try session.run(Text.tallies, .text(app), .integer(first), .integer(last)).rows.map { row in
                SignalTally(
                    app: app, hour: try row.date(0), kind: try row.text(1), code: try row.text(2),
                    count: Int(try row.integer(3)))
            }
        }
    }

    private enum Text {
        static let history: SQLText =
            "SELECT at, app, kind, code, detail FROM key_events WHERE key_id = $1 ORDER BY id DESC LIMIT $2"
        static let add: SQLText = """
            INSERT INTO hourly_tallies (app, hour, kind, code, count) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (app, hour, kind, code) DO UPDATE SET count = hourly_tallies.count + excluded.count
            """
        static let tallies: SQLText = """
            SELECT hour, kind, code, count FROM hourly_tallies WHERE app = $1 AND hour >= $2 AND hour < $3
            ORDER BY hour, kind, code
            """
    }
}

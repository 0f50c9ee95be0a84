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
        var sums: [TallyName: Int] = [:]
        for tally in tallies where tally.count > 0 { sums[TallyName(tally), default: 0] += tally.count }
        if sums.isEmpty { return }
        // One order everywhere, so that two nodes never wait for each other.
        let sorted = sums.sorted { ($0.key.app, $0.key) < ($1.key.app, $1.key) }
        try await transact { session in
            for (name, count) in sorted {
                try session.run(
                    Text.add, .text(name.app.text), .integer(name.hour), .text(name.kind.text), .text(name.code.text),
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

    /// Statements of this file.
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

/// The name of one tally, in the order in which tallies are listed, by its bytes as a database compares.
struct TallyName: Hashable, Comparable {
    let app: UTF8Key
    let hour: Int64
    let kind: UTF8Key
    let code: UTF8Key

    init(_ tally: SignalTally) {
        app = UTF8Key(tally.app)
        hour = StoreTime.hour(tally.hour)
        kind = UTF8Key(tally.kind)
        code = UTF8Key(tally.code)
    }

    static func < (left: TallyName, right: TallyName) -> Bool {
        (left.hour, left.kind, left.code) < (right.hour, right.kind, right.code)
    }
}

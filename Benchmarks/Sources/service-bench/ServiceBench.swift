// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import BenchReport
import DeviceSimulator
import Foundation
import TrustMaterial
import TrustStores
import TrustStoresPostgres

/// Assertions by HTTP against an empty POST of the same size, with wrk on the same cores in the same run.
///
///     service-bench [--program SEALWARD] [--folder FOLDER] [--postgres URL] [--seconds N] [--each N] [--connections N]
///     service-bench --overload SECONDS [--program SEALWARD] [--folder FOLDER] [--postgres URL] [--bodies N] [--cores LIST]
///                   [--above N]
///
/// The assertions are made beforehand, one key for each connection; each is sent once, and one refused answer fails the bench. What is
/// measured is what a phone waits for: the signature, and the counter and the challenge committed in one transaction. The empty POST
/// sends the same bodies to a path that answers without looking at them; tokens are asked for with assertions of the same kind. Ends with
/// status 1 where SQLite with synchronous=FULL gives less than 0.3 of it, or PostgreSQL less than 0.2, or either fewer tokens than half of
/// its accepted assertions. The second form measures what happens with more load than the node can handle (``Overload``).
@main
struct ServiceBench {
    static let required = (sqlite: 0.3, postgres: 0.2, tokens: 0.5)
    static let rounds = 3

    static func main() async throws {
        // Ended out here, where the folder of the run is gone: `exit` runs no `defer`.
        if try await !holds(BenchArguments()) { exit(1) }
    }

    /// Measures, prints, and tells whether the required figure was reached.
    private static func holds(_ arguments: BenchArguments) async throws -> Bool {
        let beside = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let program = arguments["--program"] ?? beside.appendingPathComponent("sealward").path
        let folder = URL(fileURLWithPath: arguments["--folder"] ?? FileManager.default.currentDirectoryPath)
            .appendingPathComponent("service-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        if let seconds = arguments.number("--overload") {
            let count = arguments.number("--bodies") ?? seconds * 60_000
            let overload = Overload(
                program: program,
                folder: folder,
                seconds: seconds,
                cores: arguments["--cores"] ?? "0",
                count: count,
                above: arguments.number("--above") ?? 3
            )
            if let url = arguments["--postgres"] {
                return try await overload.holds("PostgreSQL", .postgres(url), url)
            }
            let file = "\(folder.path)/store.sqlite"
            return try await overload.holds("SQLite FULL", .sqlite(at: file), "sqlite:\(file)")
        }
        guard let wrk = ["/usr/bin/wrk", "/usr/local/bin/wrk"].first(where: FileManager.default.isExecutableFile) else {
            print("service-bench: skipped, because the program wrk is not there (apt-get install wrk)")
            return true
        }
        let connections = arguments.number("--connections") ?? 128
        let seconds = arguments.number("--seconds") ?? 3
        let each = arguments.number("--each") ?? seconds * 30_000 / connections
        let path = "sqlite:\(folder.path)/store.sqlite"
        let sqlite = try SQLTrustStore.sqlite(at: "\(folder.path)/store.sqlite")
        let measured = try await measure("SQLite FULL", sqlite, path, program, wrk, folder, connections, seconds, each)
        var holds = measured.holds("SQLite FULL", required.sqlite)
        if let url = arguments["--postgres"] {
            let postgres = try await SQLTrustStore.postgres(url)
            let measured = try await measure(
                "PostgreSQL",
                postgres,
                url,
                program,
                wrk,
                folder,
                connections,
                seconds,
                each
            )
            holds = measured.holds("PostgreSQL", required.postgres) && holds
        }
        return holds
    }

    /// What was measured on one store, as the medians of the rounds.
    struct Ratios {
        /// Accepted assertions a second against empty POSTs.
        let assertions: Double
        /// Tokens a second against accepted assertions.
        let tokens: Double

        /// Prints both figures, and tells whether they are as required.
        func holds(_ store: String, _ required: Double) -> Bool {
            let isEnough = figure("assertions against empty POST, \(store)", assertions, .atLeast(required))
            let tokensAre = ServiceBench.required.tokens
            return figure("tokens against accepted assertions, \(store)", tokens, .atLeast(tokensAre)) && isEnough
        }
    }

    static func measure(
        _ name: String,
        _ store: SQLTrustStore,
        _ url: String,
        _ program: String,
        _ wrk: String,
        _ folder: URL,
        _ connections: Int,
        _ seconds: Int,
        _ each: Int
    ) async throws -> Ratios {
        let material = try await Material(store: store, at: Date())
        let holders = try await material.holders(connections, in: store)
        await store.close()
        let server = try ServedProgram(program, in: folder, store: url, authority: material.authority)
        defer { server.stop() }
        let load = Load(wrk: wrk, folder: folder, base: server.base, connections: connections, seconds: seconds)
        var (empty, assertions, tokens) = ([Double](), [Double](), [Double]())
        /// What a second accepts at a path, with assertions that were not sent before.
        func accepted(_ route: String, _ turn: Int) async throws -> Double {
            for (index, holder) in holders.enumerated() {
                var lines = ""
                for number in turn * each..<(turn + 1) * each {
                    lines += try await material.assertionBody(holder, number: number) + "\n"
                }
                try Data(lines.utf8).write(to: folder.appendingPathComponent("bodies-\(index)"))
            }
            // Before the assertions, because the reference stands on both sides of them.
            if route == "assertions" { empty.append(try load.run("/v1/nothing").rate) }
            let run = try load.run("/v1/apps/\(Material.appId)/\(route)")
            guard run.refused == 0 else {
                throw BenchFault("\(run.refused) of the \(route) were refused; --each \(each) may be too few")
            }
            return run.rate
        }
        for round in 0..<rounds {
            tokens.append(try await accepted("tokens", 2 * round))
            assertions.append(try await accepted("assertions", 2 * round + 1))
        }
        empty.append(try load.run("/v1/nothing").rate)
        // Each round against the mean of the empty POSTs before and after it: the machine's speed drifts.
        let ratios = assertions.indices.map { 2 * assertions[$0] / (empty[$0] + empty[$0 + 1]) }
        let ratio = ratios.sorted()[rounds / 2]
        print(
            String(
                format: "%-12@ empty POST %.0f/s, accepted assertions %.0f/s, ratio %.3f (%@), tokens %.0f/s",
                name as NSString,
                empty.sorted()[empty.count / 2],
                assertions.sorted()[rounds / 2],
                ratio,
                ratios.map { String(format: "%.3f", $0) }.joined(separator: ", ") as NSString,
                tokens.sorted()[rounds / 2]
            )
        )
        let shares = zip(tokens, assertions).map { $0 / $1 }
        return Ratios(assertions: ratio, tokens: shares.sorted()[rounds / 2])
    }
}

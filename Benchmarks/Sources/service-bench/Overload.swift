// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import BenchReport
import Foundation
import TrustMaterial
import TrustStores

/// More assertions than a node can handle, from clients that do not wait for each other: the latency of what is accepted against that with
/// little load, in the same run.
///
/// The service has one core and the clients another one, if there are two, so that the clients take no time from it. `Benchmarks/tools/open-loop` finds how
/// much the service can do, then sends 0.6 of that, three times as much (or another number of times), and 0.6 again.
struct Overload {
    /// The most that the median may grow.
    static let required = 10.0
    /// Keys among which the assertions are spread, so that those of one key come one after the other.
    static let keys = 4000

    let program: String
    let folder: URL
    let seconds: Int
    /// The cores of the service, as taskset names them; the clients have the second one.
    let cores: String
    /// How many assertions are made beforehand.
    let count: Int
    /// How many times what the service can do is sent.
    let above: Int

    private struct Result: Decodable {
        struct Phase: Decodable {
            let name: String
            let rate: Int
            let statuses: [String: Int]
            let acceptedPerSecond: Int
            let median: Double?
            let p99: Double?
            let settled99: Double?
            let refused99: Double?
            let watched: [String: Int]
            let health99: Double?
            let generatorLate: Double
            let memory: [Int]
            let descriptors: [Int]
            let wrong: [String: Int]
        }
        let capacity: Int
        let phases: [Phase]
    }

    /// Measures, prints, and tells whether everything is as it should be.
    func holds(_ name: String, _ store: SQLTrustStore, _ url: String) async throws -> Bool {
        let material = try await Material(store: store, at: Date())
        let holders = try await material.holders(Overload.keys, in: store)
        await store.close()
        let bodies = folder.appendingPathComponent("bodies")
        guard FileManager.default.createFile(atPath: bodies.path, contents: nil) else {
            throw BenchFault("\(bodies.path) cannot be written")
        }
        let file = try FileHandle(forWritingTo: bodies)
        for number in 0..<count / Overload.keys {
            var lines = ""
            for holder in holders { lines += try await material.assertionBody(holder, number: number) + "\n" }
            try file.write(contentsOf: Data(lines.utf8))
        }
        try file.close()
        let server = try ServedProgram(
            program,
            in: folder,
            store: url,
            authority: material.authority,
            before: Overload.core(cores)
        )
        defer { server.stop() }
        let result = try openLoop(server, bodies)
        guard result.phases.count == 3 else { throw BenchFault("open-loop did not measure three phases") }
        print("\(name): \(result.capacity) assertions a second from connections that never pause")
        for phase in result.phases {
            func number(_ value: Double?) -> String { value.map { String(format: "%.1f", $0) } ?? "-" }
            let statuses = phase.statuses.sorted { $0.key < $1.key }.map { "\($0.value) x \($0.key)" }
            print(
                """
                \(phase.name): \(phase.rate)/s sent, \(phase.acceptedPerSecond)/s accepted (median \(number(phase.median)) ms, 99% \(number(phase.p99)) ms, after \
                the first second \(number(phase.settled99)) ms), \
                \(statuses.joined(separator: ", ")); 99% of refusals in \(number(phase.refused99)) ms, of /livez and /metrics in \(number(phase.health99)) ms; \
                memory \(phase.memory[0]) to \(phase.memory[1]) KiB, descriptors \(phase.descriptors[0]) to \(phase.descriptors[1]); the clients were up to \(number(phase.generatorLate)) ms late
                """
            )
        }
        let (calm, overload, after) = (result.phases[0], result.phases[1], result.phases[2])
        guard let before = calm.median, let during = overload.median else {
            throw BenchFault("nothing was accepted")
        }
        var holds = figure(
            "accepted assertions at \(above) times the capacity against 0.6 of it, median, \(name)",
            during / before,
            .atMost(Overload.required)
        )
        func complain(_ sentence: String) {
            print("WRONG: \(sentence)")
            holds = false
        }
        for phase in result.phases {
            for (what, count) in phase.wrong { complain("\(phase.name): \(what) (\(count) times)") }
            for (what, count) in phase.watched where !what.hasSuffix(" 200") {
                complain("\(phase.name): \(what) (\(count) times)")
            }
        }
        if overload.statuses["503", default: 0] == 0 { complain("nothing was refused") }
        if Double(overload.acceptedPerSecond) < 0.5 * Double(result.capacity) {
            complain("less than half of the capacity was used")
        }
        if after.memory[1] > overload.memory[1] + 16_384 { complain("memory grew") }
        return holds
    }

    private func openLoop(_ server: ServedProgram, _ bodies: URL) throws -> Result {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("tools/open-loop")
        let run = Process()
        run.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        run.arguments =
            Overload.core("1") + [
                script.path, server.base, "/v1/apps/\(Material.appId)/assertions", bodies.path, "--process",
                String(server.processIdentifier), "--seconds", String(seconds), "--above", String(above),
            ]
        let pipe = Pipe()
        run.standardOutput = pipe
        try run.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        run.waitUntilExit()
        guard run.terminationStatus == 0 else { throw BenchFault("open-loop ended with \(run.terminationStatus)") }
        return try JSONDecoder().decode(Result.self, from: data)
    }

    /// The words before a command that keep it on one core; none on a machine with a single one.
    static func core(_ number: String) -> [String] {
        let taskset = "/usr/bin/taskset"
        guard ProcessInfo.processInfo.processorCount > 1, FileManager.default.isExecutableFile(atPath: taskset)
        else { return [] }
        return [taskset, "-c", number]
    }
}

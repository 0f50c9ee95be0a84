// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Findings
import Foundation
import Testing

@testable import TrustService

private let environment = ProcessInfo.processInfo.environment
private let wrk = ["/usr/bin/wrk", "/usr/local/bin/wrk"].first { FileManager.default.isExecutableFile(atPath: $0) }

/// Assertions by HTTP on SQLite FULL against an empty POST of the same size, with wrk on the same two cores in the same run.
///
/// Each measurement takes three seconds; more assertions than can be accepted in that time are made beforehand, and one that is sent
/// twice counts as an error.
///
/// `SEALWARD_BENCH=1` runs it; `SEALWARD_PROGRAM` names a release build of `sealward`.
@Suite(
    .serialized,
    .enabled(if: environment["SEALWARD_BENCH"] != nil, "set SEALWARD_BENCH=1"),
    .enabled(if: wrk != nil, "needs the program wrk")
)
struct ServiceBench {
    @Test func assertionsAreAtLeastThreeTenthsOfEmptyPosts() async throws {
        let connections = 16
        let each = Int(environment["SEALWARD_BENCH_EACH"] ?? "") ?? 1500
        let folder = try ServeProcess.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let long = #", "challenges": {"ttlSeconds": 86400}"#
        let file = try ServeProcess.write(folder, store: "sqlite:\(folder.path)/s.sqlite", extra: long)
        let process = try await ServeProcess(file, environment: ["SEALWARD_LOG_LEVEL": "error"])
        let service = process.service
        // One key for each connection; assertions made beforehand, issuing outside of what is measured.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for connection in 0..<connections {
                group.addTask {
                    let phone = await Phone(service, system: .iOS("26.1"))
                    let keyId = try await phone.attested()
                    var lines = ""
                    for _ in 0..<each { lines += try await phone.assertion(keyId).rendered(pretty: false) + "\n" }
                    try Data(lines.utf8).write(to: folder.appendingPathComponent("bodies-\(connection)"))
                }
            }
            try await group.waitForAll()
        }
        let script = """
            local number = 0
            function setup(thread) thread:set("id", number); number = number + 1 end
            function init(args)
              bodies = {}; sent = 0
              for line in io.lines("\(folder.path)/bodies-" .. id) do bodies[#bodies + 1] = line end
              path = args[1]
            end
            function request()
              sent = sent + 1
              local body = bodies[(sent - 1) % #bodies + 1]
              return wrk.format("POST", path, {["Content-Type"] = "application/json"}, body)
            end
            function done(summary, latency, requests)
              io.write(string.format("rate %.1f\\n", summary.requests / summary.duration * 1e6))
              io.write(string.format("errors %d\\n", summary.errors.status))
            end
            """
        let lua = folder.appendingPathComponent("bodies.lua")
        try Data(script.utf8).write(to: lua)
        func measure(_ path: String) throws -> (rate: Double, errors: Int) {
            let run = Process()
            run.executableURL = URL(fileURLWithPath: try #require(wrk))
            run.arguments = ["-t\(connections)", "-c\(connections)", "-d3s", "-s", lua.path, service.base, "--", path]
            let pipe = Pipe()
            run.standardOutput = pipe
            try run.run()
            let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            run.waitUntilExit()
            func number(_ name: String) -> Double {
                text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
                    .flatMap { Double($0.dropFirst(name.count + 1)) } ?? -1
            }
            return (number("rate"), Int(number("errors")))
        }
        // The empty POST: the same bodies to a path that answers at once, after the body was read.
        let empty = try measure("/v1/apps/none/assertions")
        let assertions = try measure("/v1/apps/shop/assertions")
        let again = try measure("/v1/apps/none/assertions")
        let best = max(empty.rate, again.rate)
        print(
            "service bench: empty POST \(best)/s, assertions \(assertions.rate)/s (\(assertions.errors) refused), ratio \(assertions.rate / best)"
        )
        #expect(assertions.errors == 0)
        #expect(assertions.rate >= 0.3 * best)
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct RampCommandTests {
    /// Runs `sealward ramp` and gives its status and standard output.
    static func ramp(_ arguments: [String]) throws -> (status: Int32, output: Data) {
        let process = Process()
        process.executableURL = BuiltProgram.url
        process.arguments = ["ramp"] + arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, output)
    }

    @Test("the plan as JSON adds up", arguments: [(1_000_000, 36), (1_000_000_000, 2790)])
    func json(_ users: Int, _ hours: Int) throws {
        let (status, output) = try Self.ramp(["--daily-users", "\(users)", "--format", "json"])
        #expect(status == 0)
        let document = try #require(try JSONSerialization.jsonObject(with: output) as? [String: Any])
        #expect(document["schema"] as? String == "sealward.ramp/1")
        let plan = try #require(document["plan"] as? [[String: Any]])
        #expect(plan.count == hours && document["hours"] as? Int == hours)
        #expect(plan.compactMap { $0["attestations"] as? Int }.reduce(0, +) == users)
        #expect(plan.last?["total"] as? Int == users)
    }

    @Test("the words name the days that Apple's advice comes to")
    func text() throws {
        let million = try Self.ramp(["--daily-users", "1000000"])
        #expect(million.status == 0 && String(decoding: million.output, as: UTF8.self).contains("1.5 days"))
        let milliard = try Self.ramp(["--daily-users", "1000000000", "--per-second", "100"])
        let words = String(decoding: milliard.output, as: UTF8.self)
        #expect(words.contains("116 days") && words.contains("about 30 days"))
    }

    @Test(
        "what makes no sense is a usage error",
        arguments: [
            [], ["--daily-users", "0"], ["--daily-users", "x"], ["--daily-users", "5", "--per-second", "0"],
            ["--daily-users", "99999999999999999999999"], ["--daily-users", "5", "--format", "xml"],
        ]
    )
    func usage(_ arguments: [String]) throws { #expect(try Self.ramp(arguments).status == 64) }
}

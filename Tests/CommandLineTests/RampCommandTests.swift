// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct RampCommandTests {
    private static func ramp(_ arguments: [String]) throws -> ProgramRun { try ProgramRun(["ramp"] + arguments) }

    @Test("the plan as JSON adds up", arguments: [(1_000_000, 36), (1_000_000_000, 2790)])
    func json(_ users: Int, _ hours: Int) throws {
        let run = try Self.ramp(["--daily-users", "\(users)", "--format", "json"])
        #expect(run.status == 0)
        let document = run.json
        #expect(document["schema"] as? String == "sealward.ramp/1")
        let plan = try #require(document["plan"] as? [[String: Any]])
        #expect(plan.count == hours && document["hours"] as? Int == hours)
        #expect(plan.compactMap { $0["attestations"] as? Int }.reduce(0, +) == users)
        #expect(plan.last?["total"] as? Int == users)
    }

    @Test("the words name the days that Apple's advice comes to")
    func text() throws {
        let million = try Self.ramp(["--daily-users", "1000000"])
        #expect(million.status == 0 && million.output.contains("1.5 days"))
        let billion = try Self.ramp(["--daily-users", "1000000000", "--per-second", "100"])
        let words = billion.output
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

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Testing

@Suite struct HistoryPageTests {
    private static func page(_ times: [Int64]) -> String {
        let points = times.map { (at: $0, result: "PASS") }
        let changes = times.dropFirst().map {
            (at: $0, field: "verdict", before: "FAIL", after: "PASS")
        }
        let target = (name: "a.example", points: points, changes: Array(changes))
        let span = (times.first ?? 0)...max(times.first ?? 0, times.last ?? 0)
        return HistoryPage(version: "1", runs: times.count, span: span, targets: [target], omitted: 0).html()
    }

    @Test("Runs of one day are told apart by their times, those of other days by the day")
    func runsOfOneDay() {
        // 2026-11-27 08:00:00, five seconds later, and the day after.
        let page = Self.page([1_795_766_400, 1_795_766_405, 1_795_852_800])
        for words in [
            "2026-11-27 08:00:00 UTC PASS</title>", "2026-11-27 08:00:05 UTC PASS</title>", "2026-11-28 PASS</title>",
            "<td>2026-11-27 08:00:05 UTC</td>", "<td>2026-11-28</td>", "from 2026-11-27 08:00:00 UTC to 2026-11-28",
        ] { #expect(page.contains(words), "\(words)") }
    }

    @Test("Times that no calendar has end nothing")
    func absurdTimes() {
        for times: [Int64] in [[.min, .max], [.min, .min + 1], [-1, 1], [.max - 1, .max]] {
            #expect(Self.page(times).contains("a.example"))
        }
    }
}

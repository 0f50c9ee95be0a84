// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FuzzDriver
import Vocabulary

/// Every format of a report about a file whose path, keys and texts are the input. Nothing may crash, no format that has lines may get
/// one more, and JSON stays JSON.
FuzzDriver.run(corpus: "report") { input in
    let texts = input.split(separator: 0, maxSplits: 4, omittingEmptySubsequences: false)
        .map { String(decoding: $0, as: UTF8.self) }
    func text(_ place: Int) -> String { texts.indices.contains(place) ? texts[place] : "" }
    let finding = Finding(
        rule: "ATS001",
        severity: .error,
        location: SourceLocation(line: 1, column: 1),
        keyPath: [text(0), text(1)],
        message: text(2),
        fix: text(3)
    )
    let report = FindingsReport(
        version: "1",
        rules: [],
        files: [(text(4), [finding])],
        unreadable: [(text(1), text(2))]
    )
    func lines(_ text: String) -> Int {
        text.unicodeScalars.count { [0x0A, 0x0D, 0x85, 0x2028, 0x2029].contains($0.value) }
    }
    precondition(lines(report.github()) == 1, "a workflow command has a second line")
    precondition(lines(report.xcode()) == 1, "a line for Xcode has a second one")
    let rows = report.markdown().unicodeScalars.split(separator: "\n").count { String($0).hasPrefix("| error | ") }
    precondition(rows == 1, "a row of the table is lost or doubled")
    let page = report.junit() + report.html()
    precondition(!page.unicodeScalars.contains { $0.value < 0x20 && ![0x09, 0x0A, 0x0D].contains($0.value) })
    _ = report.sarif().rendered()
    _ = report.text(colored: false)
}

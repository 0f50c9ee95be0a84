// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import FuzzDriver
import Vocabulary

/// Lines of a list of targets: what is taken is read again in the same way, and its name in a report is one line of plain text.
FuzzDriver.run(corpus: "target") { input in
    var list = TargetList()
    for line in input.split(separator: 0x0A) {
        guard let target = try? list.append(String(decoding: line, as: UTF8.self)) else { continue }
        guard let again = try? list.target(at: list.count - 1), let name = try? list.name(at: list.count - 1) else {
            preconditionFailure("a target that was taken cannot be read")
        }
        precondition(again.displayURL.hasSameBytes(as: target.displayURL))
        precondition(!name.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "a control character in a name")
    }
}

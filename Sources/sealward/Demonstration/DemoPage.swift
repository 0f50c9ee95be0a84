// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import SimulatedFleet

/// What the demonstration prints, line by line as it is known.
package struct DemoPage {
    /// Everything that was printed.
    package private(set) var text = ""
    private let print: (String) -> Void

    /// - Parameter print: is given each line, with its end, at once.
    package init(print: @escaping (String) -> Void) { self.print = print }

    package mutating func line(_ line: String) {
        text += line + "\n"
        print(line + "\n")
    }

    package mutating func heading(_ heading: String) {
        if !text.isEmpty { line("") }
        line(heading)
        line("")
    }

    package mutating func table(_ rows: [[String]]) {
        for row in FleetTally.table(rows).split(separator: "\n") { line("  " + row) }
    }
}

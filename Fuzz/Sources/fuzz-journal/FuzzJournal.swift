// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import Foundation
import FuzzDriver

/// A state file of `ats check` that anything may have happened to: it is refused, or what was read of it is there again when it is opened
/// once more.
@main enum FuzzJournal {
    /// How many places the list has.
    static let places = 100
    static let path = FileManager.default.temporaryDirectory.appending(path: "fuzz-journal-\(getpid())").path

    static func main() {
        FuzzDriver.run(corpus: "journal") { input in
            unlink(path)
            defer { unlink(path) }
            precondition(FileManager.default.createFile(atPath: path, contents: Data(input)))
            guard let first = try? results(), let second = try? results() else { return }
            precondition(first == second, "the same file is read in two ways")
            for result in first {
                precondition(result.place >= 0 && result.place < places)
                guard let line = result.line else { preconditionFailure("a result without a line") }
                precondition(line.offset > 0 && line.count > 0 && line.offset + line.count < input.count)
                precondition(!result.text.contains(0x1B), "a result that steers a terminal")
            }
        }
    }

    static func results() throws -> [CheckResult] {
        var list = TargetList()
        for number in 0..<places { try list.append("h\(number).example") }
        let journal = try CheckJournal(path, of: list, conditions: [])
        var results: [CheckResult] = []
        try journal.replay(Array(0..<UInt32(places))) { result in
            guard let line = result.line else { preconditionFailure("a result without a line") }
            let text = try journal.text(at: line)
            precondition(text == result.text)
            results.append(result)
        }
        return results
    }
}

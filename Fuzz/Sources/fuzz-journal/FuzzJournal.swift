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
            guard let first = try? records(), let second = try? records() else { return }
            precondition(first == second, "the same file is read in two ways")
            for record in first {
                precondition(record.place >= 0 && record.place < places)
                precondition(record.piece.offset >= 0 && record.piece.count >= 0)
                precondition(
                    record.piece.offset + record.piece.count < input.count,
                    "a result beyond the end of the file"
                )
            }
        }
    }

    static func records() throws -> [CheckJournal.Record] {
        let journal = try CheckJournal(path, conditions: [])
        var records: [CheckJournal.Record] = []
        try journal.replay(count: places) { record in
            let bytes = try journal.bytes(at: record.piece)
            precondition(bytes.count == record.piece.count)
            records.append(record)
        }
        return records
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A result that is written piece by piece: to standard output, or to the file of `--output`.
final class ResultStream {
    private let handle: FileHandle
    private let name: String
    private let isFile: Bool

    /// - Throws: `CommandFault` where the file cannot be created.
    init(path: String?) throws {
        name = path ?? "standard output"
        isFile = path != nil
        guard let path else {
            handle = .standardOutput
            return
        }
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let opened = FileHandle(forWritingAtPath: path)
        else { throw CommandFault("\(path): cannot be written; choose another file with --output.") }
        handle = opened
    }

    /// - Throws: `CommandFault` where the disk is full or the reader is gone.
    func write(_ text: String) throws {
        do {
            try handle.write(contentsOf: Data(text.utf8))
        } catch {
            throw CommandFault("\(name): cannot be written (\(error.localizedDescription)).")
        }
    }

    func close() throws { if isFile { try handle.close() } }
}

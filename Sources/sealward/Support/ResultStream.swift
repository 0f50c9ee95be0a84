// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import Vocabulary

/// A result that is written piece by piece: to standard output, or to the file of `--output`.
final class ResultStream {
    private let file: OutputFile
    private let path: String?

    /// - Parameter others: files that the command reads or keeps, and that must not be overwritten.
    /// - Throws: `CommandFault` where the file cannot be created.
    init(path: String?, sparing others: [String] = []) throws {
        self.path = path
        file = try CommandIO.open(path, sparing: others)
    }

    /// Writes text in which nothing is a command for a build machine.
    ///
    /// - Throws: what ``CommandIO/write(_:to:named:)`` throws.
    func write(_ text: String) throws { try write(Array(text.commandSafe.utf8)) }

    /// - Throws: what ``CommandIO/write(_:to:named:)`` throws.
    func write(_ bytes: [UInt8]) throws { try CommandIO.write(bytes, to: file, named: path) }

    /// A value on one line.
    ///
    /// - Throws: what ``CommandIO/write(_:to:named:)`` throws.
    func write(line value: JSONValue) throws {
        try write(value.encoded(pretty: false) + [0x0A])
    }

    /// - Throws: `CommandFault` where the file system says only now that something was not written.
    func close() throws { try CommandIO.check(file, named: path) }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import Glibc
import Vocabulary

/// A file or stream that a command writes to; a file is closed with its last owner.
final class OutputFile: Sendable {
    static let standardOutput = OutputFile(STDOUT_FILENO)
    static let standardError = OutputFile(STDERR_FILENO)

    private let descriptor: CInt

    /// - Parameter descriptor: becomes the file's own.
    init(_ descriptor: CInt) { self.descriptor = descriptor }

    deinit { if descriptor > STDERR_FILENO { close(descriptor) } }

    /// Writes all bytes.
    ///
    /// - Returns: 0, or the number of the fault.
    func write(_ bytes: [UInt8]) -> CInt { SystemFile.write(bytes, to: descriptor) }

    /// Asks the system for faults that some file systems tell only when a file is closed.
    ///
    /// - Returns: 0, or the number of the fault.
    func check() -> CInt {
        guard descriptor > STDERR_FILENO, case let copy = dup(descriptor), copy >= 0 else { return 0 }
        return close(copy) == 0 ? 0 : errno
    }

    /// Writes a text whose loss is no fault.
    func say(_ text: String) { _ = write(Array(text.utf8)) }
}

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

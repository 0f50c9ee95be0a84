// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
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

    /// - Parameter others: files that the command is going to read, or keeps: they are not overwritten either.
    init(path: String?, sparing others: [String] = [], replacesInput: Bool = false) throws {
        self.path = path
        file = try ResultStream.open(path, sparing: others, replacesInput: replacesInput)
    }

    /// A file that is overwritten, or standard output where no path is given.
    ///
    /// What is there stays what it is, as with `>` of a shell: a link, a named pipe or a device is written to and never replaced by a file
    /// of its name. A named pipe without a reader is refused at once.
    ///
    /// What the command has read is never overwritten, whatever name or link leads to it.
    private static func open(
        _ path: String?, sparing others: [String], replacesInput: Bool
    ) throws -> OutputFile {
        guard let path else { return .standardOutput }
        // Cut only once it is known to be no other file.
        let flags = O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY
        let descriptor = SystemFile.open(path, flags, mode: 0o666)
        guard descriptor >= 0 else {
            throw CommandFault("\(path): cannot be written; choose another file with --output.")
        }
        // From here on a reader of a pipe may take its time.
        _ = fcntl(descriptor, F_SETFL, 0)
        let file = OutputFile(descriptor)
        guard SystemFile.isRegular(descriptor) else { return file }
        if !replacesInput && InputFile.wasRead(descriptor)
            || others.contains(where: { SystemFile.leads($0, to: descriptor) })
        {
            throw CommandFault("\(path): is a file that this command uses itself; choose another one with --output.")
        }
        guard ftruncate(descriptor, 0) == 0 else {
            throw CommandFault("\(path): cannot be written; choose another file with --output.")
        }
        return file
    }

    /// Writes text in which nothing is a command for a build machine.
    func write(_ text: String) throws { try write(Array(text.commandSafe.utf8)) }

    /// - Throws: `ExitCode` without a word where the reader of a pipe went away, as `head` does; ``CommandFault`` for a full disk and the like.
    func write(_ bytes: [UInt8]) throws {
        if path == nil, let capture = CommandCapture.current { return capture.add(output: Data(bytes)) }
        try check(file.write(bytes))
    }

    /// A value on one line.
    func write(line value: JSONValue) throws { try write(value.encoded(pretty: false) + [0x0A]) }

    /// - Throws: `CommandFault` where the file system says only now that something was not written.
    func close() throws { try check(file.check()) }

    private func check(_ fault: CInt) throws {
        if fault == EPIPE { throw ExitCode(Outcome.undetermined.rawValue) }
        guard fault == 0 else {
            throw CommandFault("\(path ?? "standard output"): cannot be written (\(SystemFile.message(fault))).")
        }
    }
}

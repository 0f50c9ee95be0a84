// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

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

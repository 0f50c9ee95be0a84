// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Why a file is not read, as the end of a sentence that begins with its name: `is a named pipe, not a file`.
package struct InputFault: Error, Equatable, CustomStringConvertible {
    package let reason: String
    package var description: String { reason }

    package init(_ reason: String) { self.reason = reason }

    package static let missing = InputFault("there is no such file")

    fileprivate static let notKept = InputFault("cannot be kept in a temporary file; save it and name the file")
}

/// An open file, or a stream that the caller of the program opened: the one way in which the program opens what it reads.
///
/// A path is looked at before it is opened (`lstat`, then `stat` for a link), and only a regular file is: a named pipe, a device, a socket
/// and a folder are refused by what they are, without being opened. Streams are the exception that people ask for by name:
/// `/dev/stdin`, `/dev/fd/N` and `/proc/self/fd/N`, which is what a shell puts for `<(...)`. They are read to their end like `-`.
package final class InputFile {
    private let descriptor: CInt
    /// The size in bytes; 0 for a stream.
    package private(set) var size: Int
    /// Whether bytes can only be read once, from the start to the end.
    package private(set) var isStream: Bool

    private init(descriptor: CInt, size: Int, isStream: Bool) {
        self.descriptor = descriptor
        self.size = size
        self.isStream = isStream
    }

    deinit { _ = Glibc.close(descriptor) }

    /// Opens a file, or a stream by its number.
    ///
    /// - Parameter folder: where given, a link must lead to a file below this folder, which is an absolute path without links.
    package static func open(_ path: String, below folder: String? = nil) throws(InputFault) -> InputFile {
        if let number = streamNumber(path) { return try stream(number) }
        if let fault = refusal(of: path, below: folder) { throw fault }
        // The open does not block, whatever replaced the file since the check.
        let descriptor = SystemFile.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else {
            let isForbidden = errno == EACCES || errno == EPERM
            let reason = isForbidden ? "; check its permissions" : " (\(SystemFile.message(errno)))"
            throw InputFault("cannot be read\(reason)")
        }
        guard let information = SystemFile.status(of: descriptor), information.st_mode & S_IFMT == S_IFREG else {
            _ = Glibc.close(descriptor)
            throw InputFault("is no longer a file")
        }
        note(information)
        return InputFile(descriptor: descriptor, size: Int(clamping: information.st_size), isStream: false)
    }

    // MARK: What was read

    private struct Identity: Hashable {
        let device: dev_t
        let number: ino_t
    }

    /// Files that this process has opened to read. Whole folders with more of them are not read by one command.
    private static let readFiles = Mutex<Set<Identity>>([])
    private static let mostNoted = 1 << 18

    private static func note(_ status: stat) {
        readFiles.withLock { read in
            if read.count < mostNoted { read.insert(Identity(device: status.st_dev, number: status.st_ino)) }
        }
    }

    /// Notes that a file is read by other means than this type.
    package static func note(_ path: String) {
        if let status = SystemFile.status(of: path, followingLinks: true) { note(status) }
    }

    /// Whether this process has read an open file, by whatever name, and would lose what is in it by writing.
    package static func wasRead(_ descriptor: CInt) -> Bool {
        guard let status = SystemFile.status(of: descriptor), status.st_size > 0 else { return false }
        return readFiles.withLock {
            $0.count >= mostNoted || $0.contains(Identity(device: status.st_dev, number: status.st_ino))
        }
    }

    /// Standard input. A file there, at its first byte, can be read at any offset.
    ///
    /// - Throws: also if it was taken before, because a second reader would get nothing.
    package static func standardInput() throws(InputFault) -> InputFile {
        guard !wasTaken.exchange(true, ordering: .relaxed) else {
            throw InputFault("was read for another input already; give - once, and name files for the others")
        }
        return try stream(STDIN_FILENO)
    }

    private static let wasTaken = Atomic(false)

    /// Keeps all of standard input in a file without a name, which takes its place: from here on it can be read again after ``rewindStandardInput()``.
    ///
    /// - Parameter limit: the most bytes that it may have.
    package static func keepStandardInput(limit: Int) throws(InputFault) {
        try standardInput().spooled(after: [], limit: limit).becomesStandardInput()
    }

    /// Puts words in the place of standard input.
    package static func keepStandardInput(words: [UInt8]) throws(InputFault) {
        let file = InputFile(descriptor: SystemFile.temporary(), size: 0, isStream: true)
        guard file.descriptor >= 0, SystemFile.write(words, to: file.descriptor) == 0 else { throw .notKept }
        try file.becomesStandardInput()
    }

    private func becomesStandardInput() throws(InputFault) {
        guard dup2(descriptor, STDIN_FILENO) >= 0 else { throw .notKept }
        InputFile.isKept.store(true, ordering: .relaxed)
        InputFile.rewindStandardInput()
    }

    private static let isKept = Atomic(false)

    /// Lets standard input be read once more, if it was kept: the place in a file of the caller is the caller's, as in `while read FILE`.
    package static func rewindStandardInput() {
        guard isKept.load(ordering: .relaxed) else { return }
        _ = lseek(STDIN_FILENO, 0, SEEK_SET)
        wasTaken.store(false, ordering: .relaxed)
    }

    /// Why a path is not opened; nil for a regular file, or a link to one.
    package static func refusal(of path: String, below folder: String? = nil) -> InputFault? {
        guard var information = SystemFile.status(of: path, followingLinks: false) else {
            return errno == EACCES ? InputFault("cannot be read; check its permissions") : .missing
        }
        let isLink = information.st_mode & S_IFMT == S_IFLNK
        if isLink {
            guard let target = SystemFile.status(of: path, followingLinks: true) else {
                return InputFault("is a broken link")
            }
            information = target
            if let folder, !leads(path, below: folder) {
                return InputFault("is a link that leads out of the searched folder; name its target to read it")
            }
        }
        guard let kind = oddKind(information.st_mode) else { return nil }
        if kind == folderKind { return InputFault("is a folder; name a file") }
        return InputFault(isLink ? "is a link to \(kind), not to a file" : "is \(kind), not a file")
    }

    /// Whether an open file or folder belongs to the user that this process acts for; nil if the system does not say.
    package static func isOwn(_ descriptor: CInt) -> Bool? {
        SystemFile.status(of: descriptor).map { $0.st_uid == geteuid() }
    }

    private static func leads(_ path: String, below folder: String) -> Bool {
        guard let target = SystemFile.resolved(path) else { return false }
        let start = folder.utf8.last == 0x2F ? folder : folder + "/"
        return target.utf8.starts(with: start.utf8)
    }

    private static let folderKind = "a folder"

    /// What a path names where that is not a regular file.
    private static func oddKind(_ mode: mode_t) -> String? {
        switch mode & S_IFMT {
        case S_IFREG: nil
        case S_IFDIR: folderKind
        case S_IFIFO: "a named pipe"
        case S_IFCHR, S_IFBLK: "a device"
        case S_IFSOCK: "a socket"
        default: "a special file"
        }
    }

    /// The descriptor of the open stream that a path names.
    private static func streamNumber(_ path: String) -> CInt? {
        if path.hasSameBytes(as: "/dev/stdin") { return STDIN_FILENO }
        for start in ["/dev/fd/", "/proc/self/fd/"] where path.utf8.starts(with: start.utf8) {
            let digits = path.utf8.dropFirst(start.utf8.count)
            guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return CInt(String(decoding: digits, as: UTF8.self))
        }
        return nil
    }

    private static func stream(_ number: CInt) throws(InputFault) -> InputFile {
        let descriptor = fcntl(number, F_DUPFD_CLOEXEC, 3)
        guard descriptor >= 0 else { throw .missing }
        guard let information = SystemFile.status(of: descriptor), information.st_mode & S_IFMT == S_IFREG else {
            return InputFile(descriptor: descriptor, size: 0, isStream: true)
        }
        note(information)
        guard lseek(descriptor, 0, SEEK_CUR) == 0 else {
            return InputFile(descriptor: descriptor, size: 0, isStream: true)
        }
        return InputFile(descriptor: descriptor, size: Int(clamping: information.st_size), isStream: false)
    }

    /// A file without a name that takes the rest of a stream after `head`, so that it can be read at any place.
    ///
    /// - Parameter limit: the most bytes that the stream may have.
    package func spooled(after head: [UInt8], limit: Int) throws(InputFault) -> InputFile {
        let copy = SystemFile.temporary()
        guard copy >= 0 else { throw .notKept }
        let file = InputFile(descriptor: copy, size: 0, isStream: true)
        var total = 0
        var part = head
        repeat {
            guard part.count <= limit - total else {
                throw InputFault("is larger than \(limit) bytes, the limit for this input")
            }
            total += part.count
            guard SystemFile.write(part, to: copy) == 0 else { throw .notKept }
            part = try next(1 << 18)
        } while !part.isEmpty
        file.size = total
        file.isStream = false
        return file
    }

    /// Exactly `count` bytes from `offset`; nil if the file is shorter, cannot be read, or is a stream.
    package func bytes(at offset: Int, count: Int) -> [UInt8]? {
        guard !isStream, offset >= 0, count >= 0, count <= size, offset <= size - count else { return nil }
        let result = SystemFile.read(descriptor, at: offset, count: count).bytes
        return result.count == count ? result : nil
    }

    /// The next bytes, at most `count`; none at the end.
    package func next(_ count: Int) throws(InputFault) -> [UInt8] {
        var fault: CInt = 0
        // Safe: the system writes no more than is left after `done`, and `done` counts what it wrote.
        let result = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            done = 0
            while done < count {
                let got = unsafe read(descriptor, buffer.baseAddress?.advanced(by: done), count - done)
                if got > 0 {
                    done += got
                } else if got == 0 {
                    return
                } else if errno == EAGAIN {
                    var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                    _ = unsafe poll(&wait, 1, -1)
                } else if errno != EINTR {
                    fault = errno
                    return
                }
            }
        }
        guard fault == 0 else { throw InputFault("cannot be read (\(SystemFile.message(fault)))") }
        return result
    }

    /// All bytes from here on, or one byte more than `limit` where there are more: a longer input is never held.
    package func contents(limit: Int) throws(InputFault) -> [UInt8] {
        // One byte more than the stated size, so that a file of unknown size is read too.
        let first = min(max(min(size, limit), 4095) + 1, limit + 1)
        var result = try next(first)
        var isEnd = result.count < first
        while !isEnd, result.count <= limit {
            let more = try next(min(1 << 16, limit + 1 - result.count))
            isEnd = more.isEmpty
            result += more
        }
        return result
    }
}

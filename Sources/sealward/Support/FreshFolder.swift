// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Vocabulary

/// A folder for secrets: empty when it was taken, and from then on open to its owner alone.
///
/// Creates files and never replaces any. It uses the descriptor of the folder, not its path, so a link cannot redirect them.
/// If not all of them can be written, those that were are removed again.
final class FreshFolder {
    /// A file to create. Its mode is 0600.
    struct File {
        let name: String
        let contents: [UInt8]

        init(_ name: String, _ text: String) { self.init(name, Array(text.utf8)) }

        init(_ name: String, _ contents: [UInt8]) {
            self.name = name
            self.contents = contents
        }
    }

    private let path: String
    private let descriptor: Int32
    private let wasMade: Bool
    private var written: [String] = []

    /// Makes the folder or takes one that is there and empty, and writes all files or none.
    ///
    /// Of any number of runs for one folder at once exactly one succeeds: the first file is the claim, and only one of them can create it.
    ///
    /// - Parameter files: gets the absolute path of the folder.
    static func fill(_ path: String, with files: (_ folder: String) throws -> [File]) throws {
        let folder = try FreshFolder(path)
        do {
            guard let place = SystemFile.resolved(folder.path) else { throw folder.fault(folder.path, errno) }
            for file in try files(place) { try folder.write(file) }
            guard fsync(folder.descriptor) == 0 else { throw folder.fault(path, errno) }
        } catch {
            folder.undo()
            throw error
        }
    }

    private init(_ path: String) throws(CommandFault) {
        var trimmed = path
        // With a slash at its end a symbolic link would be followed.
        while trimmed.utf8.count > 1, trimmed.utf8.last == UInt8(ascii: "/") { trimmed.removeLast() }
        guard !trimmed.isEmpty, !trimmed.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw CommandFault(
                "\(path.terminalSafe): cannot be the name of a folder; choose one without control characters.")
        }
        self.path = trimmed
        wasMade = SystemFile.makeFolder(trimmed)
        func unusable() -> CommandFault { FreshFolder.fault(trimmed, errno, "choose another folder") }
        if !wasMade, errno != EEXIST { throw unusable() }
        descriptor = SystemFile.open(trimmed, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw errno == ELOOP || errno == ENOTDIR
                ? CommandFault("\(trimmed.terminalSafe): is not a folder; name one that is empty or does not exist.")
                : unusable()
        }
        guard let isOwn = InputFile.isOwn(descriptor) else { throw unusable() }
        guard isOwn else {
            throw CommandFault("\(trimmed.terminalSafe): belongs to another user; choose a folder of your own.")
        }
        try requireEmpty()
        guard fchmod(descriptor, 0o700) == 0 else { throw unusable() }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private func requireEmpty() throws(CommandFault) {
        let copy = dup(descriptor)
        // Safe: the stream is used by this function alone, closed at its end, and an entry is copied before the next is read.
        guard copy >= 0, let stream = unsafe fdopendir(copy) else {
            let number = errno
            if copy >= 0 { close(copy) }
            throw FreshFolder.fault(path, number, "choose another folder")
        }
        defer { unsafe closedir(stream) }
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) {
                unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." {
                throw CommandFault(
                    "\(path.terminalSafe): is not empty (\(name.terminalSafe) is there); choose an empty folder, nothing is overwritten."
                )
            }
        }
    }

    private func write(_ file: File) throws(CommandFault) {
        let place = path + "/" + file.name
        // Safe: the system reads a terminated copy of the name, which lives for the call.
        let target = unsafe openat(descriptor, file.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard target >= 0 else {
            guard errno == EEXIST else { throw fault(place, errno) }
            throw CommandFault("\(place.terminalSafe): exists already; somebody else is writing into this folder.")
        }
        defer { close(target) }
        written.append(file.name)
        let number = SystemFile.write(file.contents, to: target)
        guard number == 0 else { throw fault(place, number) }
        // Whatever the umask is.
        guard fchmod(target, 0o600) == 0, fsync(target) == 0 else { throw fault(place, errno) }
    }

    /// Removes what was written, the claim last.
    private func undo() {
        // Safe: the system reads terminated copies of the names, which live for the call.
        for name in written.reversed() { unsafe unlinkat(descriptor, name, 0) }
        if wasMade { unsafe rmdir(path) }
    }

    private func fault(_ place: String, _ number: Int32) -> CommandFault {
        FreshFolder.fault(place, number, "nothing was kept")
    }

    private static func fault(_ place: String, _ number: Int32, _ fix: String) -> CommandFault {
        CommandFault("\(place.terminalSafe): cannot be written (\(SystemFile.message(number))); \(fix).")
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Vocabulary

/// The file of a store, before SQLite opens it: that it is one, and that nobody else may read or replace it. It contains keys.
package enum SQLiteFile {
    /// Makes the file with mode 0600, whatever the process's umask, if there is none; SQLite gives its neighbors the same mode.
    ///
    /// A file that everybody may read is closed to them. One that only its group may read stays so, because backups are made that way.
    ///
    /// - Throws: `store.configuration` for a path that is no file, or that everybody may replace; `store.unavailable`
    ///   if the file cannot be made.
    package static func prepare(_ path: String, observe: (StoreObservation) -> Void) throws {
        let real = try resolved(path)
        try checkFolder(of: path, observe: observe)
        if real != path { try checkFolder(of: real, observe: observe) }
        try createIfAbsent(real)
        for suffix in suffixes { try close(real + suffix, observe: observe) }
    }

    /// What SQLite puts beside a file, and the file itself.
    private static let suffixes = ["", "-wal", "-shm", "-journal"]

    /// Refuses what is no regular file, on which SQLite may wait for ever, and a rollback journal that names another file: SQLite would delete
    /// that file when it takes the transaction back.
    ///
    /// SQLite writes the name, its length and its sum in front of the magic at the end (sqlite.org, "Database File Format" section 3; the
    /// super-journal of a transaction over several files, which nothing here makes).
    ///
    /// - Throws: `store.configuration`.
    static func check(_ path: String) throws {
        // SQLite keeps the others beside the file that a link leads to.
        let real = SystemFile.resolved(path) ?? path
        for suffix in suffixes { _ = try regular(real + suffix) }
        let journal = real + "-journal"
        guard let status = try regular(journal) else { return }
        let descriptor = SystemFile.open(journal, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { Glibc.close(descriptor) }
        let end = 16
        let size = Int(clamping: status.st_size)
        guard size >= end else { return }
        let tail = SystemFile.read(descriptor, at: size - end, count: end).bytes
        if tail.dropFirst(8).elementsEqual(journalMagic), tail.prefix(4).contains(where: { $0 != 0 }) {
            throw StoreFault.configuration(
                "\(path): the -journal beside it names another file, which SQLite would delete; this program writes no such journal, so do not use this copy"
            )
        }
    }

    private static let journalMagic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]

    /// Where a symbolic link leads to; any other path as it is.
    private static func resolved(_ path: String) throws -> String {
        guard let status = SystemFile.status(of: path, followingLinks: false), status.st_mode & S_IFMT == S_IFLNK else {
            return path
        }
        guard let real = SystemFile.resolved(path) else {
            throw StoreFault.configuration("\(path): is a broken link; name the file itself")
        }
        return real
    }

    private static func checkFolder(of path: String, observe: (StoreObservation) -> Void) throws {
        // A group is chosen, for example by whoever mounts a volume.
        if let everybody = FileRights.replacers(of: path, groups: false) {
            throw StoreFault.configuration("\(path): \(everybody)")
        }
        let folder = path.contains("/") ? path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex) : "."
        let name = folder.isEmpty ? "/" : String(folder)
        // One that is not there is told when the file is made.
        if let status = SystemFile.status(of: name, followingLinks: true), status.st_mode & S_IWOTH != 0 {
            observe(StoreObservation(.exposedFile, detail: "everybody may add files to \(name)"))
        }
    }

    /// Never opens a file that is there: to close it again would end the locks that this process has on it.
    private static func createIfAbsent(_ path: String) throws {
        if SystemFile.status(of: path, followingLinks: false) != nil { return }
        let descriptor = SystemFile.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
        if descriptor >= 0 {
            fchmod(descriptor, 0o600)
            Glibc.close(descriptor)
        } else if errno != EEXIST {
            let hint = errno == ENOENT ? "; make its folder first" : ""
            throw StoreFault.unavailable("\(path): cannot be created: \(SystemFile.message(errno))\(hint)")
        }
    }

    /// What the system says about a path; nil if nothing is there.
    ///
    /// - Throws: `store.configuration` for what is no regular file.
    private static func regular(_ path: String) throws -> stat? {
        guard let status = SystemFile.status(of: path, followingLinks: false) else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return status
        case S_IFDIR: throw StoreFault.configuration("\(path): is a folder; name a file")
        default: throw StoreFault.configuration("\(path): is not a regular file; name one")
        }
    }

    /// Closes one file to everybody but its owner and its group.
    private static func close(_ path: String, observe: (StoreObservation) -> Void) throws {
        guard let status = try regular(path) else { return }
        if status.st_mode & S_IRWXO != 0 {
            // Safe: the system reads a terminated copy of the path, which lives for the call.
            let isClosed = unsafe chmod(path, 0o600) == 0
            let detail =
                isClosed ? "everybody could read \(path); it has the mode 0600 now" : "everybody may read \(path)"
            observe(StoreObservation(.exposedFile, detail: detail))
        } else if status.st_mode & S_IRWXG != 0 {
            observe(StoreObservation(.exposedFile, detail: "its group may read \(path)"))
        }
    }
}

/// Knows a store's file and its log again, once they are open: what is committed to a file that was moved, replaced or removed meanwhile
/// is lost with the end of the process, so it must not be answered.
///
/// Touched by the writer alone.
final class SQLiteFileIdentity: @unchecked Sendable {
    private struct Place: Equatable {
        let device: UInt64
        let inode: UInt64

        init?(_ path: String) {
            guard let status = SystemFile.status(of: path, followingLinks: true) else { return nil }
            (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
        }
    }

    private let file: String
    private let log: String
    private let place: Place?
    /// SQLite makes the log when it first needs it.
    private var logPlace: Place?

    /// - Parameter path: the file, which is open by now.
    init(_ path: String) {
        // SQLite puts the log beside the file that a link leads to.
        file = SystemFile.resolved(path) ?? path
        log = file + "-wal"
        place = Place(file)
        logPlace = Place(log)
    }

    /// - Throws: `store.unavailable` if another file lies where the store's was, or none.
    func check() throws {
        guard let place else { return }
        if Place(file) != place {
            throw StoreFault.unavailable("\(file): was moved, replaced or removed; put it back, or restart the service")
        }
        let found = Place(log)
        if let logPlace, found != logPlace {
            throw StoreFault.unavailable("\(log): was moved, replaced or removed; restart the service")
        }
        logPlace = found
    }
}

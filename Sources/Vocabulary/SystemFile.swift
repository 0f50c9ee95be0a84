// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import Glibc

/// The system's calls about files: what they need of raw memory stays in here.
package enum SystemFile {
    /// Opens a path: the descriptor, which the caller owns; negative if that fails, and `errno` says why.
    ///
    /// - Parameter mode: the mode of a file that is made.
    package static func open(_ path: String, _ flags: CInt, mode: mode_t = 0o600) -> CInt {
        guard isWhole(path) else { return -1 }
        // Safe: the system reads a terminated copy of the path, which lives for the call.
        return unsafe Glibc.open(path, flags, mode)
    }

    /// Makes a folder for its owner alone: whether it did, and if not `errno` says why.
    package static func makeFolder(_ path: String) -> Bool {
        guard isWhole(path) else { return false }
        // Safe: the system reads a terminated copy of the path, which lives for the call.
        return unsafe mkdir(path, 0o700) == 0
    }

    /// Gives a whole file its name, which nothing may have yet, so that it is there after a loss of power; the old name goes.
    ///
    /// - Returns: 0, or the number of the fault: `EEXIST` if something has the name.
    package static func name(_ old: String, _ new: String) -> CInt {
        guard isWhole(old), isWhole(new) else { return EINVAL }
        // Safe: the system reads terminated copies of the paths, which live for the call.
        guard unsafe link(old, new) == 0 else { return errno }
        remove(old)
        let end = new.lastIndex(of: "/").map { new.index(after: $0) } ?? new.startIndex
        let folder = open(end == new.startIndex ? "." : String(new[..<end]), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if folder >= 0 {
            fsync(folder)
            close(folder)
        }
        return 0
    }

    package static func remove(_ path: String) {
        guard isWhole(path) else { return }
        // Safe: the system reads a terminated copy of the path, which lives for the call.
        _ = unsafe unlink(path)
    }

    /// What the system says about a path; nil if it says nothing, and `errno` says why.
    package static func status(of path: String, followingLinks: Bool) -> stat? {
        guard isWhole(path) else { return nil }
        // Safe: the system fills a value of its own type, and reads a terminated copy of the path.
        var status = stat()
        let result = unsafe followingLinks ? stat(path, &status) : lstat(path, &status)
        return result == 0 ? status : nil
    }

    /// What the system says about an open file; nil if it says nothing, and `errno` says why.
    package static func status(of descriptor: CInt) -> stat? {
        var status = stat()
        // Safe: the system fills a value of its own type.
        return unsafe fstat(descriptor, &status) == 0 ? status : nil
    }

    /// Whether what is at a path, behind links too, has a POSIX access control list.
    package static func hasAccessList(_ path: String) -> Bool {
        guard let place = resolved(path), let all = try? FileManager.default.attributesOfItem(atPath: place) else {
            return false
        }
        let extended = all[FileAttributeKey(rawValue: "NSFileExtendedAttributes")] as? [String: Data]
        return extended?["system.posix_acl_access"] != nil
    }

    /// Whether an open file is a regular one: no folder, pipe, socket or device.
    package static func isRegular(_ descriptor: CInt) -> Bool {
        status(of: descriptor).map { $0.st_mode & S_IFMT } == S_IFREG
    }

    /// Whether there is a folder at a path, and no link to one.
    package static func isFolder(_ path: String) -> Bool {
        status(of: path, followingLinks: false).map { $0.st_mode & S_IFMT } == S_IFDIR
    }

    /// The size of the regular file at a path, and no link to one; nil for anything else.
    package static func fileSize(_ path: String) -> Int? {
        guard let status = status(of: path, followingLinks: false), status.st_mode & S_IFMT == S_IFREG else {
            return nil
        }
        return Int(clamping: status.st_size)
    }

    /// Whether a path leads, through links or by another name, to an open file.
    package static func leads(_ path: String, to descriptor: CInt) -> Bool {
        guard let open = status(of: descriptor), let found = status(of: path, followingLinks: true) else {
            return false
        }
        return found.st_dev == open.st_dev && found.st_ino == open.st_ino
    }

    /// The primary group of a user; nil if the system does not know the user.
    package static func primaryGroup(of user: uid_t) -> gid_t? {
        // Safe: the system fills a value of its own type, and the texts that it names are in a buffer of the stated size; neither is kept.
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1 << 14) { buffer in
            var entry = unsafe passwd()
            var found: UnsafeMutablePointer<passwd>?
            guard let start = buffer.baseAddress,
                unsafe getpwuid_r(user, &entry, start, buffer.count, &found) == 0, unsafe found != nil
            else { return nil }
            return unsafe entry.pw_gid
        }
    }

    /// The absolute path without links; nil if there is no such file.
    package static func resolved(_ path: String) -> String? {
        guard isWhole(path) else { return nil }
        // Safe: without a buffer of the caller's the system gives a terminated text, which is copied before it is freed.
        guard let text = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(text) }
        return unsafe String(cString: text)
    }

    /// Whether the system would read all of a path: it takes a zero byte for the end, and would open another file.
    private static func isWhole(_ path: String) -> Bool {
        guard path.utf8.contains(0) else { return true }
        errno = EINVAL
        return false
    }

    /// A new file without a name, which is gone with its last descriptor; negative if that fails, and `errno` says why.
    package static func temporary() -> CInt {
        var template = Array(
            FileManager.default.temporaryDirectory.appendingPathComponent("sealward-XXXXXX").path.utf8CString)
        // Safe: the template is terminated, and the system writes only over its six last characters.
        let descriptor = unsafe mkstemp(&template)
        guard descriptor >= 0 else { return descriptor }
        _ = unsafe unlink(template)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return descriptor
    }

    /// Writes all bytes, at an offset or where the descriptor is. Waits for the reader of a full pipe even if the pipe is not to block: that is
    /// a setting of all who share it, and a parent may have made it.
    ///
    /// - Returns: 0, or the number of the fault.
    package static func write(_ bytes: [UInt8], to descriptor: CInt, at offset: Int? = nil) -> CInt {
        // Safe: the system reads no more than is left after `done`, which never passes the end.
        unsafe bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let start = unsafe buffer.baseAddress?.advanced(by: done)
                let left = buffer.count - done
                let count =
                    if let offset {
                        unsafe pwrite(descriptor, start, left, off_t(offset + done))
                    } else {
                        unsafe Glibc.write(descriptor, start, left)
                    }
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN {
                    var full = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    // Safe: one entry is lent, and one is announced.
                    _ = unsafe poll(&full, 1, -1)
                    continue
                }
                guard count > 0 else { return count < 0 ? errno : ENOSPC }
                done += count
            }
            return 0
        }
    }

    /// The bytes from an offset on: fewer than `count` at the end of the file, or if reading failed, with the number of the fault.
    package static func read(_ descriptor: CInt, at offset: Int, count: Int) -> (bytes: [UInt8], fault: CInt) {
        var fault: CInt = 0
        // Safe: the system writes no more than is left after `done`, and `done` counts what it wrote.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            done = 0
            while done < count {
                let start = unsafe buffer.baseAddress?.advanced(by: done)
                let got = unsafe pread(descriptor, start, count - done, off_t(offset + done))
                if got < 0, errno == EINTR { continue }
                if got < 0 { fault = errno }
                guard got > 0 else { return }
                done += got
            }
        }
        return (bytes, fault)
    }

    /// What the system calls a fault, for example "No space left on device".
    package static func message(_ number: CInt) -> String {
        // Safe: the text is terminated, and copied at once.
        unsafe String(cString: strerror(number))
    }
}

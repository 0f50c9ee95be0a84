// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// The users besides its owner who may read or write a file that a command trusts.
package enum FileRights {
    /// Who besides its owner and root may write to a file, or put another one in its place, and what to do; nil for nobody, and for what is no
    /// regular file.
    ///
    /// Everybody may not, and no group but the owner's primary one and root's. In a folder with the sticky bit only owners replace files.
    package static func writers(of path: String) -> String? {
        guard let status = regular(path) else { return nil }
        if let others = others(path, status) { return "\(others) may write to it; give it the mode 0600" }
        return replacers(of: path)
    }

    /// The same for who may put a file in the place of one that is there or will be.
    ///
    /// - Parameter groups: whether a group counts, or only everybody.
    package static func replacers(of path: String, groups: Bool = true) -> String? {
        for place in folders(onTheWayTo: path) {
            if let status = SystemFile.status(of: place, followingLinks: true), status.st_mode & S_ISVTX == 0,
                let others = others(place, status, groups: groups)
            {
                return "\(others) may replace it in the folder \(place); run chmod go-w on the folder"
            }
        }
        return nil
    }

    /// A file, or a folder on the way to it, that belongs to another user than root and this process's, who can change it whatever its mode is;
    /// nil for none, and for what is no regular file.
    package static func foreign(_ path: String) -> (place: String, owner: UInt32)? {
        guard regular(path) != nil else { return nil }
        for place in folders(onTheWayTo: path) + [path] {
            if let owner = SystemFile.status(of: place, followingLinks: true)?.st_uid, owner != 0, owner != geteuid() {
                return (place, owner)
            }
        }
        return nil
    }

    private static func others(_ path: String, _ status: stat, groups: Bool = true) -> String? {
        if status.st_mode & S_IWOTH != 0 { return "everybody" }
        guard groups, status.st_mode & S_IWGRP != 0 else { return nil }
        // Then the group's rights in the mode are the most that the list gives to anybody.
        if SystemFile.hasAccessList(path) { return "whoever its access control list names" }
        let own = SystemFile.primaryGroup(of: status.st_uid) ?? (status.st_uid == geteuid() ? getegid() : status.st_uid)
        guard status.st_gid != 0, status.st_gid != own else { return nil }
        return "the group \(status.st_gid)"
    }

    /// Whether everybody may read a file, or a group; that of a file of root's was chosen, as for a service without rights.
    package static func othersMayRead(_ path: String) -> Bool {
        guard let status = regular(path) else { return false }
        return status.st_mode & (status.st_uid == 0 ? S_IROTH : S_IRGRP | S_IROTH) != 0
    }

    /// What the system says of a regular file; nil for a pipe, a device or standard input.
    private static func regular(_ path: String) -> stat? {
        guard path != "-", let status = SystemFile.status(of: path, followingLinks: true),
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        return status
    }

    /// The folders in which the system looks up each part of a path and of every link on the way, from the root on: whoever may write to one
    /// decides where the way leads.
    private static func folders(onTheWayTo path: String) -> [String] {
        var rest = [path] + (path.hasPrefix("/") ? [] : [FileManager.default.currentDirectoryPath])
        rest = rest.flatMap(parts)
        var (place, found, links) = ("", [String](), 0)
        while let name = rest.popLast() {
            found.append(place.isEmpty ? "/" : place)
            if name == ".." {
                place = String(place.prefix(upTo: place.lastIndex(of: "/") ?? place.startIndex))
            } else if links < linkLimit,
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: place + "/" + name)
            {
                links += 1
                if target.hasPrefix("/") { place = "" }
                rest += parts(target)
            } else if name != "." {
                place += "/" + name
            }
        }
        return found
    }

    /// The most links that Linux follows on one way.
    private static let linkLimit = 40

    /// The parts of a path, the last one first.
    private static func parts(_ path: String) -> [String] { path.split(separator: "/").reversed().map(String.init) }
}

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
        guard let (file, status) = regular(path) else { return nil }
        if let others = others(status) { return "\(others) may write to it; give it the mode 0600" }
        // The folders of the file, and those of a link to it.
        for var place in [folder(of: file), SystemFile.resolved(folder(of: path)) ?? "/"] {
            while true {
                if let status = SystemFile.status(of: place, followingLinks: true), status.st_mode & S_ISVTX == 0,
                    let others = others(status)
                {
                    return "\(others) may replace it in the folder \(place); run chmod go-w on the folder"
                }
                if place == "/" { break }
                place = folder(of: place)
            }
        }
        return nil
    }

    private static func others(_ status: stat) -> String? {
        if status.st_mode & S_IWOTH != 0 { return "everybody" }
        let own = SystemFile.primaryGroup(of: status.st_uid) ?? (status.st_uid == geteuid() ? getegid() : status.st_uid)
        guard status.st_mode & S_IWGRP != 0, status.st_gid != 0, status.st_gid != own else { return nil }
        return "the group \(status.st_gid)"
    }

    /// Whether everybody may read a file, or a group; that of a file of root's was chosen, as for a service without rights.
    package static func othersMayRead(_ path: String) -> Bool {
        guard let (_, status) = regular(path) else { return false }
        return status.st_mode & (status.st_uid == 0 ? S_IROTH : S_IRGRP | S_IROTH) != 0
    }

    /// A regular file without links on the way to it; nil for a pipe, a device or standard input.
    private static func regular(_ path: String) -> (String, stat)? {
        guard path != "-", let file = SystemFile.resolved(path),
            let status = SystemFile.status(of: file, followingLinks: true), status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        return (file, status)
    }

    private static func folder(of path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }
}

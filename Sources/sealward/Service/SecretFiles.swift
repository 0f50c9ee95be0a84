// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import TrustService

/// Reads the files that a configuration names, and notices which of them others may read or write.
final class SecretFiles {
    /// Secrets that other users of the machine may read: everybody, or a group, unless root chose the group.
    private(set) var readable: [String] = []

    /// Reads a file: a token, a key or a root. None of them comes near the limit.
    ///
    /// - Throws: if the file cannot be read, and if others may write to it: who can replace a key decides who is trusted.
    func read(_ path: String) throws(UnreadableFile) -> [UInt8] {
        let bytes: [UInt8]
        do { bytes = try CommandIO.read(path, limit: 1 << 20) } catch { throw UnreadableFile(reason: error.reason) }
        if let writers = SecretFiles.writers(of: path) { throw UnreadableFile(reason: "\(path): \(writers)") }
        // A certificate is no secret; everything else that a configuration names is.
        let isPublic = String(decoding: bytes.prefix(4096), as: UTF8.self).contains("-----BEGIN CERTIFICATE-----")
        if !isPublic { note(path) }
        return bytes
    }

    /// Notices a configuration that contains a password of the store's and may be read by others.
    func note(configuration path: String, store: StoreLocation) {
        guard case .postgres(let url) = store else { return }
        if URLComponents(string: url)?.password != nil || url.contains("password=") { note(path) }
    }

    private func note(_ path: String) {
        if SecretFiles.othersMayRead(path), !readable.contains(path) { readable.append(path) }
    }

    // MARK: The rule

    /// Who besides its owner and root may write to a file, or put another one in its place, and what to do; nil for nobody, and for what is no
    /// regular file.
    ///
    /// Everybody may not, and no group but the owner's primary one and root's. In a folder with the sticky bit only owners replace files.
    static func writers(of path: String) -> String? {
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

    /// Says on standard error that others may write to a file that a command believes or, if it is secret, read it.
    static func warn(_ path: String, isSecret: Bool = false) {
        if let writers = writers(of: path) {
            CommandIO.say("sealward: warning: \(path.terminalSafe): \(writers).")
        } else if isSecret, othersMayRead(path) {
            CommandIO.say("sealward: warning: \(path.terminalSafe): others may read it; give it the mode 0600.")
        }
    }

    private static func others(_ status: stat) -> String? {
        if status.st_mode & S_IWOTH != 0 { return "everybody" }
        let own = SystemFile.primaryGroup(of: status.st_uid) ?? (status.st_uid == geteuid() ? getegid() : status.st_uid)
        guard status.st_mode & S_IWGRP != 0, status.st_gid != 0, status.st_gid != own else { return nil }
        return "the group \(status.st_gid)"
    }

    /// Whether everybody may read a file, or a group; that of a file of root's was chosen, as for a service without rights.
    private static func othersMayRead(_ path: String) -> Bool {
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

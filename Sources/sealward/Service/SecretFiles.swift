// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TrustService

/// Reads the files that a configuration names, and notices which of them others may read or write.
final class SecretFiles {
    /// Secrets that other users of the machine may read: everybody, or a group, unless root chose the group.
    private(set) var readable: [String] = []

    /// Reads a file: a token, a key or a root. None of them comes near the limit.
    ///
    /// - Throws: if the file cannot be read, and if everybody may write to it: whoever can replace a key decides who is trusted.
    func read(_ path: String) throws(UnreadableFile) -> [UInt8] {
        let bytes: [UInt8]
        do { bytes = try CommandIO.read(path, limit: 1 << 20) } catch { throw UnreadableFile(reason: error.reason) }
        if let access = SecretFiles.access(to: path) {
            if access.mode & SecretFiles.othersMayWrite != 0 {
                throw UnreadableFile(reason: "\(path): everybody may write to it; give it the mode 0600")
            }
            // A certificate is no secret; everything else that a configuration names is.
            let isPublic = String(decoding: bytes.prefix(4096), as: UTF8.self).contains("-----BEGIN CERTIFICATE-----")
            if !isPublic { note(path, access) }
        }
        return bytes
    }

    /// Notices a configuration that contains a password of the store's and may be read by others.
    func note(configuration path: String, store: StoreLocation) {
        guard case .postgres(let url) = store, let access = SecretFiles.access(to: path) else { return }
        let hasPassword = URLComponents(string: url)?.password != nil || url.contains("password=")
        if hasPassword { note(path, access) }
    }

    private func note(_ path: String, _ access: Access) {
        let others = access.isRoots ? SecretFiles.everybodyMayRead : SecretFiles.othersMayRead
        if access.mode & others != 0, !readable.contains(path) { readable.append(path) }
    }

    private struct Access {
        let mode: UInt32
        /// Whether root owns the file, as where a service without rights reads it through its group.
        let isRoots: Bool
    }

    /// Who may do what with a regular file; nil for a pipe, a device or standard input.
    private static func access(to path: String) -> Access? {
        guard path != "-" else { return nil }
        let real = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let facts = try? FileManager.default.attributesOfItem(atPath: real)
        guard facts?[.type] as? FileAttributeType == .typeRegular else { return nil }
        guard let mode = (facts?[.posixPermissions] as? NSNumber)?.uint32Value else { return nil }
        return Access(mode: mode, isRoots: (facts?[.ownerAccountID] as? NSNumber)?.uint32Value == 0)
    }

    private static let othersMayWrite: UInt32 = 0o002
    private static let othersMayRead: UInt32 = 0o044
    private static let everybodyMayRead: UInt32 = 0o004
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TrustService

/// Reads the files that a configuration names, and notices which of them others may read or write.
final class SecretFiles {
    /// Secrets that other users of the machine may read.
    private(set) var readable: [String] = []

    /// Reads a file: a token, a key or a root. None of them comes near the limit.
    ///
    /// - Throws: if the file cannot be read, and if everybody may write to it: whoever can replace a key decides who is trusted.
    func read(_ path: String) throws(UnreadableFile) -> [UInt8] {
        let bytes: [UInt8]
        do { bytes = try CommandIO.read(path, limit: 1 << 20) } catch { throw UnreadableFile(reason: error.reason) }
        if let mode = SecretFiles.mode(of: path) {
            if mode & SecretFiles.othersMayWrite != 0 {
                throw UnreadableFile(reason: "\(path): everybody may write to it; give it the mode 0600")
            }
            // A certificate is no secret; everything else that a configuration names is.
            let isPublic = String(decoding: bytes.prefix(4096), as: UTF8.self).contains("-----BEGIN CERTIFICATE-----")
            if !isPublic { note(path, mode) }
        }
        return bytes
    }

    /// Notices a configuration that contains a password of the store's and may be read by others.
    func note(configuration path: String, store: StoreLocation) {
        guard case .postgres(let url) = store, let mode = SecretFiles.mode(of: path) else { return }
        let hasPassword = URLComponents(string: url)?.password != nil || url.contains("password=")
        if hasPassword { note(path, mode) }
    }

    private func note(_ path: String, _ mode: UInt32) {
        if mode & SecretFiles.othersMayRead != 0, !readable.contains(path) { readable.append(path) }
    }

    /// Who may do what with a regular file; nil for a pipe, a device or standard input.
    private static func mode(of path: String) -> UInt32? {
        guard path != "-" else { return nil }
        let real = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let facts = try? FileManager.default.attributesOfItem(atPath: real)
        guard facts?[.type] as? FileAttributeType == .typeRegular else { return nil }
        return (facts?[.posixPermissions] as? NSNumber)?.uint32Value
    }

    private static let othersMayWrite: UInt32 = 0o002
    private static let othersMayRead: UInt32 = 0o044
}

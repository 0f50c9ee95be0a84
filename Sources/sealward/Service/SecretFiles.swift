// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Synchronization
import TrustService
import Vocabulary

/// Reads the files that a configuration names, and notices which of them others may read or write.
final class SecretFiles {
    /// Secrets that other users of the machine may read: everybody, or a group, unless root chose the group.
    private(set) var readable: [String] = []
    /// What belongs to another user, who can change what the service believes, and the user. Containers mount files so.
    private(set) var foreign: [String: UInt32] = [:]

    /// Reads a file: a token, a key or a root. None of them comes near the limit.
    ///
    /// - Throws: if the file cannot be read, and if others may write to it: who can replace a key decides who is trusted.
    func read(_ path: String) throws(UnreadableFile) -> [UInt8] {
        let bytes: [UInt8]
        do { bytes = try CommandIO.read(path, limit: 1 << 20) } catch { throw UnreadableFile(reason: error.reason) }
        if let writers = FileRights.writers(of: path) { throw UnreadableFile(reason: "\(path): \(writers)") }
        noteOwner(of: path)
        // A certificate is no secret; everything else that a configuration names is.
        let text = String(decoding: bytes, as: UTF8.self)
        let isPublic = text.contains("-----BEGIN CERTIFICATE-----") && !text.contains("PRIVATE KEY-----")
        if !isPublic { note(path) }
        return bytes
    }

    /// Notices whose a configuration is, and whether it contains a password of the store's and may be read by others.
    func note(configuration path: String, store: StoreLocation) {
        noteOwner(of: path)
        guard case .postgres(let url) = store else { return }
        if URLComponents(string: url)?.password != nil || url.contains("password=") { note(path) }
    }

    private func noteOwner(of path: String) {
        if let (place, owner) = FileRights.foreign(path) { foreign[place] = owner }
    }

    private func note(_ path: String) {
        if FileRights.othersMayRead(path), !readable.contains(path) { readable.append(path) }
    }

    private static let warned = Mutex<Set<String>>([])

    /// Says on standard error, once, that others may write to a file that a command believes or, if it is secret, read it.
    static func warn(_ path: String, isSecret: Bool = false) {
        let fault: String
        if let writers = FileRights.writers(of: path) {
            fault = "\(writers)."
        } else if isSecret, FileRights.othersMayRead(path) {
            fault = "others may read it; give it the mode 0600."
        } else {
            return
        }
        // By sentence: one file may have a certificate and its key.
        let sentence = "sealward: warning: \(path.terminalSafe): \(fault)"
        if warned.withLock({ $0.insert(sentence).inserted }) { CommandIO.say(sentence) }
    }
}

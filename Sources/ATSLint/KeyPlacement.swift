// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings

/// Where a key is read, and whether it stands there.
enum KeyPlacement {
    enum Level { case global, exception, pin }
    enum Answer { case right, elsewhere, unknown }

    /// What a key is at a level of the dictionary.
    static func of(_ key: String, at level: Level) -> Answer {
        guard mayBeKey(key) else { return .unknown }
        let known =
            switch level {
            case .global: globalKeys
            case .exception: exceptionKeys
            case .pin: pinKeys
            }
        if known.contains(UTF8Key(key)) { return .right }
        return belongs(key) == nil ? .unknown : .elsewhere
    }

    private static let globalKeys = Set(ATSDictionary.keys.map { UTF8Key($0) })
    private static let exceptionKeys = Set(
        (ExceptionKeys.all + ExceptionKeys.legacy + ExceptionKeys.neverExisted).map { UTF8Key($0) })
    private static let pinKeys = Set(PinKeys.all.map { UTF8Key($0) })

    /// Whether a text is a key of ATS and no host.
    static func isKey(_ text: String) -> Bool { text.utf8.starts(with: "NS".utf8) && belongs(text) != nil }

    /// Whether a text may be a key at all, by its first letters and its length: most texts that are asked about are hosts.
    private static func mayBeKey(_ text: String) -> Bool {
        text.utf8.count <= 64 && (text.utf8.starts(with: "NS".utf8) || text.utf8.first == 0x53)
    }

    /// The place where a key is read, in words, or nil for a key that is none of ATS.
    static func belongs(_ text: String) -> String? {
        guard mayBeKey(text) else { return nil }
        let key = UTF8Key(text)
        if key == UTF8Key(ATSKey.pin) { return "in a dictionary of a list of identities" }
        if globalKeys.contains(key) { return "directly in NSAppTransportSecurity" }
        if key == UTF8Key(ATSKey.includesSubdomains) { return "in the entry of a host" }
        if exceptionKeys.contains(key) { return "in the entry of a host in NSExceptionDomains" }
        if pinKeys.contains(key) { return "in the entry of a host in NSPinnedDomains" }
        return nil
    }
}

/// Values that the build fills in later, such as `$(API_HOST)` or `${API_HOST}`.
enum PlaceholderText {
    static func isIn(_ text: String) -> Bool {
        guard text.utf8.contains(where: { $0 == 0x24 || $0 == 0x40 }) else { return false }
        return text.contains("$(") || text.contains("${") || text.contains("@(")
    }
}

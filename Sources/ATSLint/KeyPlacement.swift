// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Where a key is read, and whether it stands there.
enum KeyPlacement {
    enum Level { case global, exception, pin }
    enum Answer { case right, elsewhere, unknown }

    /// What a key is at a level of the dictionary.
    static func of(_ key: String, at level: Level) -> Answer {
        let known =
            switch level {
            case .global: globalKeys
            case .exception: exceptionKeys
            case .pin: pinKeys
            }
        if known.contains(key) { return .right }
        return belongs(key) == nil ? .unknown : .elsewhere
    }

    private static let globalKeys = Set(GlobalKeys.all)
    private static let exceptionKeys = Set(ExceptionKeys.all + ExceptionKeys.legacy + ExceptionKeys.neverExisted)
    private static let pinKeys = Set(PinKeys.all)

    /// Whether a text is a key of ATS and no host.
    static func isKey(_ text: String) -> Bool { text.hasPrefix("NS") && belongs(text) != nil }

    /// The place where a key is read, in words, or nil for a key that is none of ATS.
    static func belongs(_ key: String) -> String? {
        guard key.hasPrefix("NS") else {
            return key == "SPKI-SHA256-BASE64" ? "in a dictionary of a list of identities" : nil
        }
        if globalKeys.contains(key) { return "directly in NSAppTransportSecurity" }
        if key == "NSIncludesSubdomains" { return "in the entry of a host" }
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

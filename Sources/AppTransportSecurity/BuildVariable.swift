// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Variables that the build fills in: `$(NAME)`, `${NAME}`, and `@(NAME)` of other tools.
package enum BuildVariable {
    package static func isIn(_ text: String) -> Bool {
        guard text.utf8.contains(where: { $0 == 0x24 || $0 == 0x40 }) else { return false }
        return text.contains("$(") || text.contains("${") || text.contains("@(")
    }

    /// Whether a key with variables may become a host, or a domain above it, by the text around the variables.
    ///
    /// - Parameter key: one in which variables are, which is not looked at again: a list may have many.
    static func mayBecome(_ host: String, _ key: String, coversSubdomains: Bool) -> Bool {
        let (host, key) = (host.utf8, key.utf8)
        guard let first = key.firstIndex(where: { $0 == 0x24 || $0 == 0x40 }),
            let last = key.lastIndex(where: { $0 == 0x29 || $0 == 0x7D }), first < last
        else { return false }
        let tail = key[key.index(after: last)...]
        return host.suffix(tail.count).elementsEqual(tail) && (coversSubdomains || host.starts(with: key[..<first]))
    }
}

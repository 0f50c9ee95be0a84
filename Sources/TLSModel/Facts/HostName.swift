// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The names of hosts: the one reader of matcher, linter, `explain` and `--resolve`.
package enum HostName {
    /// The form that a URL loader asks for and compares: ASCII letters in lower case, labels of other scripts as A-labels (`xn--…`).
    ///
    /// Names outside ASCII go through the IDNA processing of Foundation's URL parser (UTS #46, non-transitional), which is that of Apple's
    /// systems: composed and decomposed forms, capitals and full-width letters become one name. A label that is an A-label already is taken as
    /// it stands and not decoded. A dot at the end stays.
    ///
    /// - Returns: nil for what no URL can have as its host.
    package static func ascii(_ name: String) -> String? {
        // 254 bytes of ASCII come of fewer scalars, and each of those of four bytes in at most a few parts.
        guard name.utf8.count <= 4096 else { return nil }
        let host: String
        if name.utf8.allSatisfy({ $0 < 0x80 }) {
            host = String(decoding: name.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
        } else {
            // Composing sorts combining marks, which takes quadratic time in a run of them.
            guard name.utf8.split(separator: 0x2E).allSatisfy({ $0.count <= 1024 }),
                name.utf8.allSatisfy({ $0 >= 0x80 || (0x41...0x5A).contains($0) || isHostByte($0) }),
                let encoded = URLComponents(string: "https://\(name)/")?.encodedHost
            else { return nil }
            host = encoded
        }
        let labels = host.utf8.split(separator: 0x2E, omittingEmptySubsequences: false)
        let emptyLabels = labels.dropLast().contains { $0.isEmpty }
        guard host.utf8.allSatisfy({ isHostByte($0) || $0 == 0x3A }), !host.utf8.isEmpty,
            !host.utf8.elementsEqual(".".utf8), host.utf8.count <= 254, !emptyLabels,
            labels.allSatisfy({ $0.count <= 63 })
        else { return nil }
        return host
    }

    /// Whether a host seems to be an address or several and is none as written: `127.1`, `192.168.1.300`, `010.1.1.1`, `2130706433`, `0x7f.1`,
    /// `1.2.3.4.`, `192.168.1.x`.
    ///
    /// No host name ends in a number (URL Standard, "ends in a number checker"), and no source says what Apple's loaders make of one that does.
    package static func isMisspelledAddress(_ text: String) -> Bool {
        let labels = text.utf8.split(separator: 0x2E)
        guard let first = labels.first, let last = labels.last, IPAddress(text) == nil else { return false }
        if isNumber(last) { return true }
        return labels.count > 1 && first.allSatisfy(isDigit)
            && labels.allSatisfy { $0.allSatisfy { isDigit($0) || [0x2A, 0x2D, 0x58, 0x78].contains($0) } }
    }

    /// Decimal, or hexadecimal behind `0x`.
    private static func isNumber(_ label: Substring.UTF8View) -> Bool {
        if label.allSatisfy(isDigit) { return true }
        guard label.first == 0x30, label.dropFirst().first.map({ $0 | 0x20 }) == 0x78 else { return false }
        return label.dropFirst(2).allSatisfy { isDigit($0) || (0x61...0x66).contains($0 | 0x20) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Digits, lower-case letters, and `-`, `.`, `_`.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (0x61...0x7A).contains(byte) || byte == 0x2D || byte == 0x2E || byte == 0x5F
    }
}

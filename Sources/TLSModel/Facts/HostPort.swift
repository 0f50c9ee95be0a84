// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A host with or without a port, taken apart by bytes: `host`, `host:port`, `[v6]` or `[v6]:port`.
package struct HostPort: Sendable {
    /// What precedes the port, without brackets. Not judged.
    package let host: Substring
    package let isBracketed: Bool
    /// What follows the colon, which may be nothing; nil without a colon.
    package let portText: Substring?

    /// Why a text is none of the four.
    package enum Fault: Error {
        case noClosingBracket
        /// Something other than a colon follows the bracket.
        case textBehindBracket
    }

    /// Reads the authority of a URL without user information: the first colon ends a host that has no brackets.
    package init(authority text: Substring) throws(Fault) {
        let bytes = text.utf8
        isBracketed = bytes.first == 0x5B
        let behind: Substring
        if isBracketed {
            guard let close = bytes.firstIndex(of: 0x5D) else { throw .noClosingBracket }
            host = text[bytes.index(after: bytes.startIndex)..<close]
            behind = text[bytes.index(after: close)...]
            guard behind.isEmpty || behind.utf8.first == 0x3A else { throw .textBehindBracket }
        } else {
            let colon = bytes.firstIndex(of: 0x3A) ?? bytes.endIndex
            host = text[..<colon]
            behind = text[colon...]
        }
        portText = behind.isEmpty ? nil : behind[behind.utf8.index(after: behind.startIndex)...]
    }

    /// As in a URL: an IPv6 address is in brackets.
    package static func text(host: String, port: Int?) -> String {
        (host.utf8.contains(0x3A) ? "[\(host)]" : host) + (port.map { ":\($0)" } ?? "")
    }

    /// Reads a place to listen on, where an IPv6 address needs no brackets because the port is always there; port 0 picks a free one.
    ///
    /// - Returns: the host without brackets, and the port; nil for anything else.
    package static func listener(_ text: String) -> (host: Substring, port: Int)? {
        let bytes = text.utf8
        guard let colon = bytes.lastIndex(of: 0x3A), let port = port(text[bytes.index(after: colon)...], least: 0)
        else {
            return nil
        }
        let host = text[..<colon]
        let isBracketed = host.utf8.count >= 2 && host.utf8.first == 0x5B && host.utf8.last == 0x5D
        return (isBracketed ? Substring(host.utf8.dropFirst().dropLast()) : host, port)
    }

    /// One to five digits of a number up to 65535.
    ///
    /// - Parameter least: 0 for a place to listen on.
    package static func port(_ digits: Substring, least: Int = 1) -> Int? {
        guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int(digits), (least...65535).contains(number)
        else { return nil }
        return number
    }
}

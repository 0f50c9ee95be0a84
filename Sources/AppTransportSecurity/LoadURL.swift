// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSModel
public import Vocabulary

/// A URL that an app loads, taken apart once: scheme, host and port are what the policy looks at.
public struct LoadURL: Hashable, Sendable, CustomStringConvertible {
    /// `http` or `https`; `ws` and `wss` keep their names.
    package let scheme: String
    /// Lower case, without brackets around an IPv6 literal, in its ASCII form.
    public let host: String
    /// Nil if the URL names none.
    package let port: Int?
    /// Path and query as they go into a request, at least `/`.
    package let pathAndQuery: String
    /// The whole URL as given, with `https://` put before a bare host.
    package let text: String
    /// Set where the host is an address and not a name.
    package let literalAddress: IPAddress?

    /// Takes a URL apart. A text without a scheme is read as `https`.
    ///
    /// - Throws: `MalformedInput` with code `malformed.url` for other schemes, for a missing or impossible host, an address that is not written as
    ///   one, a port outside 1 to 65535, control characters, and texts over 8,192 bytes.
    public init(_ text: String) throws(MalformedInput) {
        try self.init(logged: text)
        if let fault = LoadURL.addressFault(host) {
            throw MalformedInput(code: .malformedURL, quoting: self.text, reason: fault)
        }
    }

    /// What is wrong with a host that seems to be an address; nil if nothing is.
    package static func addressFault(_ host: String) -> String? {
        guard HostName.isMisspelledAddress(host) else { return nil }
        return
            "'\(host.terminalSafe(limit: 80))' is neither an address (four numbers from 0 to 255, none with a leading zero) nor a host name; "
            + "what Apple's systems make of it is not documented"
    }

    /// The same of what a log says was loaded, whatever a system makes of the host.
    package init(logged text: String) throws(MalformedInput) {
        func malformed(_ reason: String) -> MalformedInput {
            MalformedInput(code: .malformedURL, quoting: LoadURL.withoutUser(text), reason: reason)
        }
        guard text.utf8.count <= 8192 else { throw malformed("the URL is longer than 8192 bytes") }
        guard !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
            throw malformed("the URL contains a space or a control character")
        }
        let full = LoadURL.withoutUser(LoadURL.schemeEnd(text) == nil ? "https://" + text : text)
        guard let separator = LoadURL.schemeEnd(full) else { throw malformed("the URL has no scheme") }
        guard let scheme = LoadURL.scheme(full[..<separator]) else {
            let given = full[..<separator]
            throw malformed(
                "the scheme is \(given.isEmpty ? "missing" : "'\(given.terminalSafe(limit: 40))'"); http, https, ws and wss are what ATS "
                    + "decides about")
        }
        // Delimiters are bytes (RFC 3986 section 2.2), whatever combining character may stand behind them.
        let rest = full[full.utf8.index(separator, offsetBy: 3)...]
        let end = rest.utf8.firstIndex { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 } ?? rest.endIndex
        let place: HostPort
        do throws(HostPort.Fault) {
            place = try HostPort(authority: rest[..<end])
        } catch {
            switch error {
            case .noClosingBracket: throw malformed("the address has no closing bracket")
            case .textBehindBracket: throw malformed("a colon and a port must follow the bracket")
            }
        }
        // The zone of a link-local address names an interface of this machine and decides nothing (RFC 6874).
        let name = place.isBracketed ? Substring(place.host.utf8.prefix { $0 != 0x25 }) : place.host
        if place.isBracketed {
            guard IPAddress(name) != nil, name.utf8.contains(0x3A) else {
                throw malformed("'\(name.terminalSafe(limit: 80))' is not an IPv6 address")
            }
        }
        if let digits = place.portText, !digits.isEmpty {
            guard let number = HostPort.port(digits) else {
                throw malformed("'\(digits.terminalSafe(limit: 20))' is not a port from 1 to 65535")
            }
            port = number
        } else {
            port = nil
        }
        guard let host = HostName.ascii(String(name)) else {
            throw malformed("'\(name.terminalSafe(limit: 80))' is not a host name")
        }
        self.host = host
        self.scheme = scheme
        self.text = full
        literalAddress = IPAddress(host)
        let target = rest[end...]
        let shown = target[..<(target.utf8.firstIndex(of: 0x23) ?? target.endIndex)]
        pathAndQuery = shown.utf8.first == 0x2F ? String(shown) : "/" + shown
    }

    /// The port that is connected to: the one given, or the scheme's own.
    package var effectivePort: Int { port ?? LoadURL.defaultPorts[scheme] ?? 443 }

    /// Whether the scheme carries TLS.
    package var isSecure: Bool { scheme == "https" || scheme == "wss" }

    /// Whether a WebSocket is opened.
    package var isWebSocket: Bool { scheme == "ws" || scheme == "wss" }

    /// The scheme of the same load over TLS.
    package var secureScheme: String { isWebSocket ? "wss" : "https" }

    /// The host as it appears in a URL: an IPv6 address in brackets.
    package var bracketedHost: String { HostPort.text(host: host, port: nil) }

    public var description: String { text }

    /// The same place without what stands behind a question mark.
    package var withoutQuery: LoadURL {
        text.utf8.firstIndex(of: 0x3F).flatMap { try? LoadURL(String(text[..<$0])) } ?? self
    }

    /// Two are equal if their texts have the same bytes: everything else follows from the text, and it is text from outside.
    public static func == (left: LoadURL, right: LoadURL) -> Bool { left.text.hasSameBytes(as: right.text) }

    public func hash(into hasher: inout Hasher) { hasher.combine(UTF8Key(text)) }

    private static let defaultPorts = ["http": 80, "https": 443, "ws": 80, "wss": 443]

    /// The scheme in lower case; nil for any that ATS does not decide about.
    private static func scheme(_ text: Substring) -> String? {
        guard text.utf8.count <= 5 else { return nil }
        let bytes = text.utf8.asciiLowercased
        return defaultPorts.keys.first { $0.utf8.elementsEqual(bytes) }
    }

    /// The URL without name and password: they decide nothing, and what is kept or quoted is shown and logged.
    private static func withoutUser(_ text: String) -> String {
        let start = schemeEnd(text).map { text.utf8.index($0, offsetBy: 3) } ?? text.startIndex
        let authority = text.utf8[start...].prefix { $0 != 0x2F && $0 != 0x3F && $0 != 0x23 }
        guard let at = authority.lastIndex(of: 0x40) else { return text }
        return String(text[..<start]) + text[text.utf8.index(after: at)...]
    }

    /// Where the `://` behind a scheme begins: before path and query, which may contain another URL.
    package static func schemeEnd(_ text: String) -> String.Index? {
        let bytes = text.utf8
        var from = bytes.startIndex
        while let stop = bytes[from...].firstIndex(where: { $0 == 0x3A || $0 == 0x2F || $0 == 0x3F || $0 == 0x23 }),
            bytes[stop] == 0x3A
        {
            from = bytes.index(after: stop)
            if bytes[from...].starts(with: [0x2F, 0x2F]) { return stop }
        }
        return nil
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1

/// What the head of a request must be beyond what the decoder asks for: RFC 9112, sections 3 and 6.
///
/// What passes here is ASCII wherever the HTTP library compares or splits it as text.
enum RequestHeadRule {
    /// The most bytes of a request target: RFC 9110, section 4.1, advises at least 8,000.
    static let targetLimit = 8192
    /// The most bytes of a field that steers the connection.
    static let fieldLimit = 1024

    /// The fields that steer the connection, which libraries below compare and split as text.
    private static let steering: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "expect", "keep-alive", "upgrade", "te", "trailer",
    ]

    /// Whether a target has the bytes of a URI and no others (RFC 3986, appendix A; RFC 9112, section 3.2): no fragment, and brackets around an
    /// address alone.
    private static func isTarget(_ target: String) -> Bool {
        let isPath = target.utf8.first == UInt8(ascii: "/")
        return target.utf8.allSatisfy { byte in
            switch byte {
            case 0x5B, 0x5D: !isPath
            case 0x22, 0x23, 0x3C, 0x3E, 0x5C, 0x5E, 0x60, 0x7B, 0x7C, 0x7D: false
            default: 0x21...0x7E ~= byte
            }
        }
    }

    /// Whether the head can be believed: the target and the fields that steer the connection are printable ASCII, HTTP/1.1 has one `Host`,
    /// and the length of the body is said in one way.
    static func isReadable(_ head: HTTPRequestHead) -> Bool {
        guard head.uri.utf8.count <= targetLimit, isTarget(head.uri), head.method.rawValue.utf8.count <= 64
        else { return false }
        var (hosts, lengths, codings) = (0, 0, 0)
        for (name, value) in head.headers {
            let name = name.lowercased()
            guard steering.contains(name) else { continue }
            guard value.utf8.count <= fieldLimit, value.utf8.allSatisfy({ 0x20...0x7E ~= $0 || $0 == 0x09 }) else {
                return false
            }
            switch name {
            case "host": hosts += 1
            case "content-length": lengths += 1
            case "transfer-encoding":
                codings += 1
                guard value.lowercased() == "chunked" else { return false }
            default: break
            }
        }
        guard lengths + codings <= 1, hosts <= 1 else { return false }
        // Before 1.1 there was no chunked coding, and `Host` was not asked for.
        return isCurrent(head) ? hosts == 1 : codings == 0
    }

    /// The head with a path as its target: scheme and authority, which clients send to proxies and servers must take, are taken off, and the
    /// authority is the `Host`, whatever was in that field (RFC 9112, section 3.2.2).
    ///
    /// nil for what is neither a path, nor `*`, nor an URL of HTTP.
    static func originForm(_ head: HTTPRequestHead) -> HTTPRequestHead? {
        let bytes = head.uri.utf8
        if bytes.first == UInt8(ascii: "/") || head.uri == "*" { return head }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            ["http", "https"].contains(head.uri[..<colon].lowercased())
        else { return nil }
        let rest = bytes[bytes.index(after: colon)...]
        guard rest.starts(with: "//".utf8) else { return nil }
        let authority = rest.dropFirst(2).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        guard authority.count <= fieldLimit else { return nil }
        let path = String(Substring(bytes[authority.endIndex...]))
        var head = head
        head.uri = path.utf8.first == UInt8(ascii: "/") ? path : "/" + path
        head.headers.replaceOrAdd(name: "host", value: String(Substring(authority)))
        return head
    }

    /// Whether the client waits for `100 Continue`, and may have it.
    static func wantsContinue(_ head: HTTPRequestHead, bodyLimit: Int) -> Bool {
        guard isCurrent(head), head.headers.first(name: "expect")?.lowercased() == "100-continue" else {
            return false
        }
        guard let length = head.headers.first(name: "content-length") else {
            return head.headers.contains(name: "transfer-encoding")
        }
        return Int(length).map { (1...bodyLimit).contains($0) } ?? false
    }

    /// Whether the head claims no longer body than that; one without a length passes.
    static func claims(_ head: HTTPRequestHead, noMoreThan limit: Int) -> Bool {
        guard let length = head.headers.first(name: "content-length") else { return true }
        return Int(length).map { $0 <= limit } ?? false
    }

    /// Whether the version is 1.1.
    private static func isCurrent(_ head: HTTPRequestHead) -> Bool {
        head.version.major == 1 && head.version.minor >= 1
    }
}

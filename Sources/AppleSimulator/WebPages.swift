// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Keeps web pages out of what has no credential: a browser on this machine sends any page's requests to it, and says with `Origin` whose they are.
enum WebPages {
    /// Whether a request may not have an answer: it is one of another host's page, or of a page under a name, which may be anybody's that points here.
    static func mustNotAsk(_ path: String, origin: String?, host: String?) -> Bool {
        guard let origin, ["/control", "/device"].contains(where: { path.utf8.starts(with: $0.utf8) }) else {
            return false
        }
        guard let host, isAddress(host) else { return true }
        return !origin.utf8.elementsEqual("http://\(host)".utf8)
    }

    /// Whether a Host header has an address in it, or `localhost`, with any port.
    private static func isAddress(_ host: String) -> Bool {
        let name = host.utf8.prefix { $0 != UInt8(ascii: ":") }
        return host.utf8.first == UInt8(ascii: "[") || name.elementsEqual("localhost".utf8)
            || !name.isEmpty && name.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
    }

    /// What such a page is told.
    static let sentence = "a web page may not ask this: the request has the Origin of another host; use a program"
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing

@testable import HTTPService

@Suite struct BrowserGateTests {
    private func verdict(
        _ host: String?, origin: String? = nil, site: String? = nil, needsSource: Bool = false,
        listener: String = "console.internal", names: [String] = ["Console.Example.com."]
    ) -> BrowserGate.Verdict {
        var head = HTTPRequest(method: .get, scheme: nil, authority: host, path: "/")
        head.headerFields[.origin] = origin
        if let name = HTTPField.Name("Sec-Fetch-Site") { head.headerFields[name] = site }
        return BrowserGate(listener: listener, names: names).judge(head, needsSource: needsSource)
    }

    @Test(
        "Loopback names, addresses, the listener's name and the configured names are answered, with any port",
        arguments: [
            "localhost", "LOCALHOST:8900", "localhost.:1", "a.localhost:80", "127.0.0.1", "127.0.0.1:8900",
            "10.1.2.3:1",
            "[::1]", "[::1]:8900", "[2001:db8::1]:", "console.internal:8443", "console.example.com",
            "CONSOLE.example.com.:443", nil,
        ])
    func own(_ host: String?) { #expect(verdict(host) == .admitted) }

    @Test(
        "Every other name is refused, and what is no host",
        arguments: [
            "", "evil.example", "evil.example:8900", "localhost.evil.example", "evil-localhost",
            "127.0.0.1.evil.example",
            "console.example.com.evil.example", "2130706433", "0x7f.1", "127.0.0.1:99999", "127.0.0.1:8900:1", "[::1",
            "[::1]x", "user@127.0.0.1", "127.0.0.1/", ":80", "xn--", "l\u{F6}calhost",
        ])
    func other(_ host: String) {
        #expect(verdict(host) == .otherHost)
        #expect(verdict(host, origin: "http://\(host)", site: "same-origin") == .otherHost)
    }

    @Test(
        "A page of another origin is refused",
        arguments: [
            (nil, nil, true), (nil, "none", true), (nil, "same-origin", true), (nil, "cross-site", false),
            (nil, "same-site", false), (nil, "", false), (nil, "Same-Origin", false),
            ("http://127.0.0.1:8900", nil, true), ("https://127.0.0.1:8900", nil, true),
            ("http://127.0.0.1:8900", "same-origin", true), ("http://127.0.0.1:3000", nil, false),
            ("http://127.0.0.1:8900", "same-site", false), ("https://evil.example", nil, false),
            ("https://evil.example", "same-origin", false), ("http://127.0.0.1:8900.evil.example", nil, false),
            ("null", nil, false), ("null", "same-origin", true), ("", nil, false), ("127.0.0.1:8900", nil, false),
            // A proxy that rewrites Host: the browser vouches, and the name is known.
            ("https://console.example.com", "same-origin", true), ("https://console.example.com", nil, false),
        ] as [(String?, String?, Bool)])
    func origins(_ origin: String?, _ site: String?, _ isAdmitted: Bool) {
        let found = verdict("127.0.0.1:8900", origin: origin, site: site)
        #expect(found == (isAdmitted ? .admitted : .otherOrigin))
    }

    @Test("A form says where it comes from")
    func forms() {
        let host = "127.0.0.1:8900"
        #expect(verdict(host, needsSource: true) == .otherOrigin)
        #expect(verdict(host, site: "none", needsSource: true) == .otherOrigin)
        #expect(verdict(host, site: "same-origin", needsSource: true) == .admitted)
        #expect(verdict(host, origin: "http://\(host)", needsSource: true) == .admitted)
    }

    @Test("Two headers of a name are no word of a browser")
    func twice() throws {
        let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
        for name in [site, .origin] {
            var head = HTTPRequest(method: .get, scheme: nil, authority: "localhost", path: "/")
            let value = name == site ? "same-origin" : "http://localhost"
            for _ in 0..<2 { head.headerFields.append(HTTPField(name: name, value: value)) }
            #expect(BrowserGate(listener: "localhost").judge(head) == .otherOrigin)
        }
    }

    @Test("A name has no port and is no address of version 6", arguments: ["a:1", "::1", "", "a b", "http://a", "*"])
    func names(_ text: String) { #expect(BrowserGate.name(text) == nil) }
}

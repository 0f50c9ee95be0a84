// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import TLSModel
import TestSupport
import Testing
import Vocabulary

@Suite("URLs, addresses and ranges")
struct LoadURLTests {
    @Test(
        "taken apart",
        arguments: [
            ("https://API.Example.com:8443/a?b#c", "api.example.com", 8443, "/a?b"),
            ("example.com", "example.com", 443, "/"),
            ("http://[2001:DB8::1]:81", "2001:db8::1", 81, "/"),
            ("https://user:pw@h.example?q", "h.example", 443, "/?q"),
            ("ws://h.example", "h.example", 80, "/"), ("https://h.example:/x", "h.example", 443, "/x"),
            ("https://bücher.example/", "xn--bcher-kva.example", 443, "/"),
            ("https://例え.テスト/", "xn--r8jz45g.xn--zckzah", 443, "/"),
            // A combining character makes no delimiter disappear.
            ("https://a.example/\u{338}@b.example/", "a.example", 443, "/\u{338}@b.example/"),
            ("https://a.example?\u{301}#\u{301}", "a.example", 443, "/?\u{301}"),
            ("a.example:8443/?next=https://b.example", "a.example", 8443, "/?next=https://b.example"),
            ("https://u:p@x@h.example:81/@", "h.example", 81, "/@"),
        ]
    )
    func parts(text: String, host: String, port: Int, target: String) throws {
        let url = try LoadURL(text)
        #expect(url.host == host)
        #expect(url.effectivePort == port)
        #expect(url.pathAndQuery == target)
        // Names and passwords are not kept.
        #expect(!url.text.contains("user") && !url.text.contains("u:p"))
    }

    @Test(
        "refused",
        arguments: [
            "", "https://", "ftp://x", "https://a b/", "https://a:0/", "https://a:65536/", "https://a:9x/",
            "https://[::1/", "https://[1.2.3.4]/",
            "https://[::1]x/", "https://a..b/", "https://\u{7}a/", "https://ex%41mple/",
            String(repeating: "a", count: 9000), "https://./", "://x",
            // Addresses that are written as none, of which no source says what Apple's loaders make.
            "http://192.168.1.300/", "127.1", "http://0x7f.1/", "http://2130706433/", "http://010.1.1.1/",
            "https://1.2.3.4./", "http://192.168.1.x:8080/", "ws://1.2.3.4.5/",
        ]
    )
    func refused(text: String) {
        #expect(throws: MalformedInput(code: "malformed.url", reason: "")) { try LoadURL(text) }
    }

    @Test("8,192 bytes of combining marks, wherever they stand, cost nothing to speak of")
    func marks() throws {
        let marks = String(repeating: "\u{301}\u{316}", count: 2000)
        let start = ContinuousClock.now
        for _ in 0..<20 {
            for text in [
                "a\(marks)://b/", "https://a\(marks)/", "https://a.\(marks).b/", "https://[\(marks)]/",
                "https://a:\(marks)/",
            ] {
                let fault = #expect(throws: MalformedInput.self) { try LoadURL(text) }
                #expect((fault?.reason.utf8.count ?? 0) < 300)
            }
            // In path, query, fragment and user they are allowed, and two such URLs are compared and hashed by bytes.
            let half = marks.unicodeScalars.prefix(1900).map(String.init).joined()
            let one = try LoadURL("https://u\(half)@a.example/?\(half)")
            let two = try LoadURL("https://a.example/?a\(marks)")
            #expect(Set([one, two, one]).count == 2)
        }
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(3))
        #expect(try LoadURL("https://a.example/\u{E9}") != LoadURL("https://a.example/e\u{301}"))
    }

    @Test("No mark hides a bracket, a dot or a scheme")
    func delimiters() throws {
        #expect(throws: MalformedInput.self) { try LoadURL("https://[::1]\u{301}/") }
        #expect(throws: MalformedInput.self) { try LoadURL("https://[\u{301}::1]/") }
        #expect(try LoadURL("HTTPS://B\u{FC}cher.Example./").host == "xn--bcher-kva.example.")
        #expect(try LoadURL("https://a.example?\u{301}").pathAndQuery == "/?\u{301}")
    }

    @Test(
        "IPv6 in all three forms",
        arguments: ["::", "::1", "1::", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "fe80::1"])
    func v6(text: String) { #expect(IPAddress(text)?.bytes.count == 16) }

    @Test(
        "no addresses",
        arguments: [
            "", ":", ":::", "1:2", "1::2::3", "g::", "12345::", "1.2.3", "1.2.3.256", "01.2.3.4", "1:2:3:4:5:6:7:8:9",
            "::1%eth0", "1:2:3:4:5:6:7::8:9",
        ]
    )
    func noAddress(text: String) { #expect(IPAddress(text) == nil) }

    @Test(
        "ranges",
        arguments: [
            ("10/8", true), ("10.0.0.0/8", true), ("::/0", true), ("2001:db8::/129", false), ("10/33", false),
            ("/8", false), ("10/", false), ("http://x/", false), ("1.2.3.4/8/9", false),
        ]
    )
    func ranges(text: String, isRange: Bool) { #expect((AddressRange(text) != nil) == isRange) }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel
import Testing

@Suite struct HostPortTests {
    @Test(arguments: [
        ("a.example", "a.example", nil), ("a.example:80", "a.example", "80"), ("a.example:", "a.example", ""),
        ("[::1]", "::1", nil), ("[::1]:80", "::1", "80"), ("a:b:80", "a", "b:80"), (":80", "", "80"), ("", "", nil),
    ])
    func anAuthorityIsTakenApart(_ text: String, _ host: String, _ port: String?) throws {
        let place = try HostPort(authority: text[...])
        #expect(place.host == host && place.portText.map(String.init) == port)
        #expect(place.isBracketed == text.hasPrefix("["))
    }

    @Test func bracketsAreClosedAndFollowedByAColon() {
        #expect(throws: HostPort.Fault.noClosingBracket) { try HostPort(authority: "[::1") }
        #expect(throws: HostPort.Fault.textBehindBracket) { try HostPort(authority: "[::1]80") }
    }

    @Test(arguments: [
        ("127.0.0.1:8080", "127.0.0.1", 8080), ("[::1]:0", "::1", 0), ("::1:65535", "::1", 65535), (":1", "", 1),
    ])
    func aPlaceToListenOnHasAPort(_ text: String, _ host: String, _ port: Int) {
        let place = HostPort.listener(text)
        #expect(place?.host == Substring(host) && place?.port == port)
    }

    @Test(arguments: ["127.0.0.1", "a:", "a:65536", "a:+1", "a:-1", "a: 1", "a:000001", "a:\u{661}", "", ":"])
    func whatHasNoPortIsNoPlaceToListenOn(_ text: String) {
        #expect(HostPort.listener(text) == nil)
    }
}

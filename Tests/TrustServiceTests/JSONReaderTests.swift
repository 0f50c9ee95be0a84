// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Testing

@testable import TrustService

@Suite struct JSONReaderTests {
    @Test(arguments: [
        "", " ", "{", "[1,]", "{\"a\":1,}", "{a:1}", "01", "-", "1.", "1e", "+1", "nul", "\"\u{1}\"", "\"\\x\"",
        "\"\\ud800\"",
        "\"\\udc00\"", "{} {}", "\u{FEFF}{}", "\"abc", "[\"\\u12\"]", "NaN", "'a'", "{\"a\" 1}",
    ])
    func malformedDocumentsAreRefused(_ text: String) {
        #expect(throws: MalformedInput.self) { try JSONReader.read(Array(text.utf8)) }
    }

    @Test func invalidUTF8IsRefused() {
        #expect(throws: MalformedInput.self) { try JSONReader.read([0x22, 0xFF, 0x22]) }
        #expect(throws: MalformedInput.self) { try JSONReader.read([0x22, 0xC0, 0x80, 0x22]) }
    }

    @Test func nestingIsBounded() {
        let deep = String(repeating: "[", count: 10_000)
        #expect(throws: MalformedInput.self) { try JSONReader.read(Array(deep.utf8)) }
    }

    @Test func valuesAreRead() throws {
        let value = try JSONReader.read(Array(#"{"a":[1,-2.5e1,true,null,"\u0041\/\ud83d\ude00é"],"a":{}}"#.utf8))
        #expect(
            value
                == .object([
                    .init("a", [1, .number(-25), true, nil, "A/😀é"]), .init("a", .object([])),
                ])
        )
    }

    @Test(arguments: [
        (#"{"challenge":"AAEC"}"#, true), (#"{"x":{"challenge":"no"},"challenge":"AAEC","y":1}"#, true),
        (#"{"\u0063hallenge":"AAEC"}"#, true), (#"{"challenge":"AAEC","challenge":"AAEC"}"#, false),
        (#"{"challenge":"AAEC","\u0063hallenge":"AAEC"}"#, false), (#"{"x":{"challenge":"AAEC"}}"#, false),
        (#"{"challenge":1}"#, false), (#"["challenge","AAEC"]"#, false), (#""AAEC""#, false),
        (#"{"challenge":"AAEC"}{}"#, false), (#"{"Challenge":"AAEC"}"#, false), ("", false),
    ])
    func clientDataHoldsTheChallengeExactlyOnce(_ text: String, _ holds: Bool) {
        if holds {
            #expect((try? ClientData.challenge(in: Array(text.utf8))) == [0, 1, 2])
        } else {
            #expect(throws: Problem("challenge.missing")) { try ClientData.challenge(in: Array(text.utf8)) }
        }
    }

    @Test(arguments: [
        ("AAEC", true), ("AA==", true), ("AB==", false), ("AA", false), ("AA==\n", false), (" AA==", false),
        ("A-_A", false),
        ("", true),
    ])
    func base64IsStrict(_ text: String, _ valid: Bool) { #expect((Base64.decode(text) != nil) == valid) }
}

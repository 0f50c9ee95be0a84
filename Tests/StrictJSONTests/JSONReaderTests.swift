// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Testing

@testable import StrictJSON

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

    @Test func theDepthIsTheCallers() {
        let document = Array((String(repeating: "[", count: 40) + String(repeating: "]", count: 40)).utf8)
        #expect(throws: MalformedInput.self) { try JSONReader.read(document) }
        #expect(throws: Never.self) { try JSONReader.read(document, depthLimit: 40) }
        #expect(throws: MalformedInput.self) { try JSONReader.read(document, depthLimit: 39) }
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

    @Test func whatAnybodyMaySendIsBounded() throws {
        func refuses(_ text: String) -> Bool {
            do {
                _ = try JSONReader.read(Array(text.utf8), limits: .outside)
                return false
            } catch {
                return error.code == "malformed.json"
            }
        }
        let name = String(repeating: "n", count: 256)
        #expect(!refuses("{\"\(name)\":1}"))
        #expect(refuses("{\"\(name)n\":1}"))
        // Bytes count, not characters: one character of 129 marks.
        #expect(refuses("{\"a" + String(repeating: "\u{301}", count: 128) + "\":1}"))
        #expect(!refuses("[" + String(repeating: "9", count: 64) + "]"))
        #expect(refuses("[" + String(repeating: "9", count: 65) + "]"))
        #expect(refuses("[1e" + String(repeating: "0", count: 65) + "]"))
        #expect(!refuses("[" + [String](repeating: "0", count: 127).joined(separator: ",") + "]"))
        #expect(refuses("[" + [String](repeating: "0", count: 128).joined(separator: ",") + "]"))
    }

    /// The two names are the same text for `String`, and two names for everybody else.
    @Test func membersAreFoundByTheirBytes() throws {
        let value = try JSONReader.read(Array("{\"e\u{301}\":1,\"\u{E9}\":2}".utf8))
        #expect(value.member("\u{E9}") == 2)
        #expect(value.member("e\u{301}") == 1)
        #expect(value.member("e") == nil)
    }
}

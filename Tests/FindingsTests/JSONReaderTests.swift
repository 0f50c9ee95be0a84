// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Findings

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
}

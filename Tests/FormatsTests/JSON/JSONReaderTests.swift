// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing
import Vocabulary

@testable import Formats

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

    /// What could steer the terminal that shows a document, or reorder its text, is escaped; what is read is the same text.
    @Test func writtenTextIsSafeToShow() throws {
        let notable: [ClosedRange<UInt32>] = [
            0...0xA1, 0x61B...0x61D, 0x200D...0x2010, 0x2027...0x202F, 0x2065...0x206A, 0xFFFD...0xFFFF,
            0x1F600...0x1F600,
        ]
        var scalars = String.UnicodeScalarView()
        for value in notable.joined() { if let scalar = Unicode.Scalar(value) { scalars.append(scalar) } }
        let text = String(scalars)
        let written = JSONValue.string(text).rendered(pretty: false)
        let isSafe = written.unicodeScalars.allSatisfy { scalar in
            scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value) && !(0x2028...0x202E).contains(scalar.value)
                && !(0x2066...0x2069).contains(scalar.value) && ![0x61C, 0x200E, 0x200F].contains(scalar.value)
        }
        #expect(isSafe)
        #expect(written.contains("\\u001b") && written.contains("\\u202e") && written.contains("\\u0085"))
        guard case .string(let read) = try JSONReader.read(Array(written.utf8)) else {
            Issue.record("a string is read as something else")
            return
        }
        #expect(Array(read.utf8) == Array(text.utf8))
    }

    @Test func theDepthIsTheCallers() {
        let document = Array((String(repeating: "[", count: 40) + String(repeating: "]", count: 40)).utf8)
        #expect(throws: MalformedInput.self) { try JSONReader.read(document) }
        var limits = JSONReader.Limits()
        limits.depth = 40
        #expect(throws: Never.self) { try JSONReader.read(document, limits: limits) }
        limits.depth = 39
        #expect(throws: MalformedInput.self) { try JSONReader.read(document, limits: limits) }
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

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PropertyLists
import Testing

@Suite struct PropertyListTextTests {
    private static func document(_ value: PropertyListValue) -> [UInt8] {
        let lines = value.xmlLines(indentation: "\t", depth: 0).joined(separator: "\n")
        return Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\n\(lines)\n</plist>\n".utf8)
    }

    @Test(
        arguments: [
            .dictionary([:]), .array([]), .string(""), .boolean(false), .integer(-7), .real(1.5),
            .dictionary([
                "b": .dictionary(["<key>&\"'": .string("</string><true/>")]),
                "a": .array([.boolean(true), .integer(3)]),
                "é\u{2028}": .string("a\tb\nc\rd\r\n"),
            ]),
        ] as [PropertyListValue]
    ) func readsBack(_ value: PropertyListValue) throws {
        #expect(try FoundationReading.value(Self.document(value)) == value)
        #expect(try PlistReader.read(Self.document(value)).root.propertyListValue == value)
    }

    @Test func controlCharactersAndDeepValuesNeverBreakIt() throws {
        #expect(
            try PlistReader.read(Self.document(.string("a\u{0}\u{1B}\u{85}\u{FFFF}b"))).root.propertyListValue
                == .string("a\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}b"))
        var deep = PropertyListValue.string("x")
        for _ in 0..<40 { deep = .array([deep]) }
        #expect(deep.xmlLines(indentation: " ").count == 34)
        #expect(throws: Never.self) { _ = try PlistReader.read(Self.document(deep)) }
    }

    @Test func isIndentedWithKeysInOrder() {
        let value: PropertyListValue = .dictionary(["b": .boolean(true), "a": .dictionary(["c": .string("d")])])
        #expect(
            value.xmlLines(indentation: "  ") == [
                "<dict>", "  <key>a</key>", "  <dict>", "    <key>c</key>", "    <string>d</string>", "  </dict>",
                "  <key>b</key>", "  <true/>", "</dict>",
            ]
        )
    }
}

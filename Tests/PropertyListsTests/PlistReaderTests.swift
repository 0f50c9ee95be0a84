// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Vocabulary

@testable import PropertyLists

@Suite struct PlistReaderTests {
    private func read(_ text: String) throws -> PlistDocument { try PlistReader.read(Array(text.utf8)) }

    @Test func readsEveryType() throws {
        let root = try read(
            """
            <?xml version="1.0"?><!DOCTYPE plist PUBLIC "x" "y"><!-- c --><plist version="1.0"><dict>
            <key>s</key><string>a &lt;&#x41;&#66; <![CDATA[<&>]]></string><key>e</key><string/><key>i</key><integer>-7</integer>
            <key>h</key><integer>0x1F</integer><key>r</key><real>1.5</real><key>t</key><true/><key>f</key><false></false>
            <key>d</key><data>AQI=</data><key>w</key><date>2026-11-21T12:00:00Z</date><key>a</key><array><string>x</string><dict/></array>
            </dict></plist>
            """
        ).root
        #expect(root["s"]?.string == "a <AB <&>")
        #expect(root["e"]?.string == "")
        guard case .integer(-7)? = root["i"]?.value, case .integer(31)? = root["h"]?.value,
            case .real(1.5)? = root["r"]?.value,
            case .boolean(true)? = root["t"]?.value, case .boolean(false)? = root["f"]?.value,
            case .data([1, 2])? = root["d"]?.value,
            case .date(let date)? = root["w"]?.value
        else {
            Issue.record("a type is wrong")
            return
        }
        #expect(date == Date(timeIntervalSince1970: 1_795_262_400))
        #expect(root["a"]?.elements?.count == 2)
    }

    /// Foundation reads the same value from the same bytes, in both forms.
    @Test(arguments: [
        "real/09-electron-builder.plist", "real/25b-ranges.plist", "tricky/04-pins.plist",
        "tricky/06-binary-booleans.plist",
    ])
    func agreesWithFoundation(_ file: String) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let bytes = Array(try Data(contentsOf: root.appendingPathComponent("Vectors/ats/\(file)")))
        #expect(try PlistReader.read(bytes).root.propertyListValue == FoundationReading.value(bytes))
        let object = try PropertyListSerialization.propertyList(from: Data(bytes), options: [], format: nil)
        let binary = Array(try PropertyListSerialization.data(fromPropertyList: object, format: .binary, options: 0))
        #expect(try PlistReader.read(binary).root.propertyListValue == FoundationReading.value(bytes))
    }

    @Test func reportsWhatTheSystemSwallows() throws {
        let document = try read(
            "<plist><dict><key>a</key><dict><key>b</key><true/><key>b</key><false/></dict></dict></plist>\n<x>")
        #expect(document.oddities.map(\.kind) == [.duplicateKey, .trailingContent])
        #expect(document.oddities.first?.keyPath == ["a", "b"])
        guard case .boolean(false)? = document.root["a"]?["b"]?.value else {
            Issue.record("the last of two keys counts")
            return
        }
    }

    @Test func readsUTF16() throws {
        let text = "<plist><dict><key>kéy</key><string>ü</string></dict></plist>"
        for (mark, isBig) in [([0xFE, 0xFF], true), ([0xFF, 0xFE], false)] as [([UInt8], Bool)] {
            let units = text.utf16.flatMap {
                isBig ? [UInt8($0 >> 8), UInt8($0 & 255)] : [UInt8($0 & 255), UInt8($0 >> 8)]
            }
            let document = try PlistReader.read(mark + units)
            #expect(document.root["kéy"]?.string == "ü")
            #expect(!document.isVerbatim)
        }
    }

    @Test(arguments: [
        ("", "contains no value"), ("bplist00", "cut off"), ("a text", "not an XML property list"),
        ("<plist><dict>", "truncated"), ("<plist><dict><key>a</key></dict></plist>", "has no value"),
        ("<plist><dict><key>a</key><true/></dict><dict/></plist>", "second value"),
        ("<plist><dict>junk<key>a</key><true/></dict></plist>", "found text"),
        ("<plist><dict><true/></dict></plist>", "a <key> is expected"), ("<plist><html/></plist>", "not an element"),
        ("<plist><string>a & b</string></plist>", "bare '&'"),
        ("<plist><string>&lol;</string></plist>", "not one of the five"),
        ("<plist><integer>12x</integer></plist>", "not a valid <integer>"), ("<plist><string>a", "not closed"),
        ("<!-- x", "never ends"), ("<plist><dict><key>a<b></key></dict></plist>", "not an element"),
    ]) func refusesWithOneSentence(_ text: String, _ words: String) {
        #expect {
            try read(text)
        } throws: { error in
            guard let malformed = error as? MalformedInput else { return false }
            return malformed.code == "malformed.plist" && malformed.description.contains(words)
        }
    }

    @Test func namesThePlace() {
        #expect {
            try read("<plist>\n<dict>\n  <key>ä</key><foo/>\n</dict></plist>")
        } throws: { ($0 as? MalformedInput)?.place == "line 3, column 15" }
    }
}

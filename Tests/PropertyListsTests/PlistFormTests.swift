// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Vocabulary

@testable import PropertyLists

/// The forms in which people have a property list, each with the same dictionary.
@Suite struct PlistFormTests {
    static let forms: [(name: String, text: String)] = [
        (
            "a part of XML",
            "  <key>ATS</key>\n<dict><key>Open</key><true/><key>a.example</key><dict><key>TLS</key><string>TLSv1.0</string></dict></dict>\n"
        ),
        ("JSON", #"{"ATS": {"Open": true, "a.example": {"TLS": "TLSv1.0"}, "none": null}}"#),
        ("JavaScript", "{ ATS: { Open: true, // a comment\n 'a.example': { TLS: \"TLSv1.0\", }, }, }"),
        (
            "plutil -p",
            "{\n  \"ATS\" => {\n    \"Open\" => 1\n    \"a.example\" => {\n      \"TLS\" => \"TLSv1.0\"\n    }\n  }\n}\n"
        ),
        (
            "PlistBuddy",
            "Dict {\n    Empty = \n    ATS = Dict {\n        Open = true\n        a.example = Dict {\n            TLS = TLSv1.0\n        }\n    }\n}\n"
        ),
        (
            "defaults read",
            "{\n    ATS =     {\n        Open = 1;\n        \"a.example\" = { TLS = \"TLSv1.0\"; };\n    };\n}\n"
        ),
        ("nscurl", "{ ATS = { Open = true; \"a.example\" = { TLS = \"TLSv1.0\"; }; }; }"),
        ("a part of the old style", "ATS = { Open = 1; \"a.example\" = { TLS = \"TLSv1.0\"; }; };\n"),
    ]

    @Test(arguments: forms.indices)
    func eachFormGivesTheSameDictionary(_ index: Int) throws {
        let form = Self.forms[index]
        let document = try PlistReader.read(Array(form.text.utf8), isPrinted: true)
        let ats = try #require(document.root["ATS"], "\(form.name)")
        #expect(ats["Open"]?.propertyListValue == .boolean(true), "\(form.name)")
        #expect(ats["a.example"]?["TLS"]?.string == "TLSv1.0", "\(form.name)")
        let range = try #require(document.root.member("ATS")?.keyRange)
        #expect(String(decoding: document.source[range], as: UTF8.self).contains("ATS"), "\(form.name)")
    }

    /// No form crashes or hangs where it ends too early, and no braces close themselves.
    @Test(arguments: forms.indices)
    func noFormIsReadPastItsEnd(_ index: Int) {
        let bytes = Array(Self.forms[index].text.utf8)
        for length in bytes.indices {
            _ = try? PlistReader.read(Array(bytes.prefix(length)), isPrinted: true)
            _ = try? PlistReader.read(Array(bytes.prefix(length)), isPrinted: false)
            _ = try? PlistDocument(script: Array(bytes.prefix(length)), name: "ATS")
        }
        if bytes.first == UInt8(ascii: "{") {
            #expect(throws: MalformedInput.self) {
                try PlistReader.read(Array(bytes.prefix(bytes.count / 2)), isPrinted: true)
            }
        }
    }

    /// A file in the old style has no booleans: that is what the app sees.
    @Test func theOldStyleOfAFileHasOnlyTexts() throws {
        let bytes = Array("{ A = YES; B = 1; }".utf8)
        let root = try PlistReader.read(bytes).root
        #expect(root["A"]?.string == "YES" && root["B"]?.string == "1")
        #expect(throws: MalformedInput.self) { try PlistReader.read(Array("{ A = 1 B = 2; }".utf8)) }
    }

    @Test(arguments: [String.Encoding.utf16LittleEndian, .utf16BigEndian, .utf32LittleEndian, .utf32BigEndian])
    func everyWideEncodingIsRead(_ encoding: String.Encoding) throws {
        let text = "<plist version=\"1.0\"><dict><key>n</key><string>Grüße</string></dict></plist>"
        let plain = Array(try #require(text.data(using: encoding)))
        let mark = Array(try #require("\u{FEFF}".data(using: encoding)))
        for bytes in [plain, mark + plain] { #expect(try PlistReader.read(bytes).root["n"]?.string == "Grüße") }
        for length in 0..<plain.count { _ = try? PlistReader.read(Array(plain.prefix(length))) }
    }

    @Test func aDeclaredEncodingIsRead() throws {
        let text =
            "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><plist><dict><key>n</key><string>Gr\u{FC}n</string></dict></plist>"
        let bytes = try #require(text.data(using: .isoLatin1))
        #expect(try PlistReader.read(Array(bytes)).root["n"]?.string == "Grün")
    }

    @Test func depthIsBounded() {
        for open in ["{a=", "{\"a\":", "{\"a\"=>", "Dict {\na = Dict {\na = ", "(", "["] {
            let bytes = Array(String(repeating: open, count: 20_000).utf8)
            #expect(throws: MalformedInput.self) { try PlistReader.read(bytes, isPrinted: true) }
        }
    }

    @Test func whatIsComputedIsNoLiteral() throws {
        let computed = Array("export default { ios: { infoPlist: { A: process.env.X } } }".utf8)
        #expect(throws: MalformedInput.self) { try PlistDocument(script: computed, name: "infoPlist") }
        let comment = Array("// infoPlist: { A: true }\nconst x = 'infoPlist: {'".utf8)
        #expect(try PlistDocument(script: comment, name: "infoPlist") == nil)
        let literal = Array("const c = { ...base, 'infoPlist': { A: true } }".utf8)
        #expect(try PlistDocument(script: literal, name: "infoPlist")?.root["A"]?.propertyListValue == .boolean(true))
    }

    @Test func valuesOfTheBuildAreSubstituted() throws {
        let text = "<dict><key>$(HOST)</key><string>${A:default=x}-$(B:lower)-$(C)-$(LOOP)</string></dict>"
        let values = ["HOST": "a.example", "C": "$(HOST)", "B": "b", "LOOP": "$(LOOP)$(LOOP)"]
        let root = try PlistReader.read(Array(text.utf8)).substituting { values[$0] }.root
        let value = try #require(root["a.example"]?.string)
        #expect(value.hasPrefix("x-$(B:lower)-a.example-$(LOOP)") && value.utf8.count < 1 << 17)
    }
}

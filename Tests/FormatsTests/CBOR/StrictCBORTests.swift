// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Testing

@Suite struct StrictCBORTests {
    /// Items in their one accepted encoding, and what they are.
    @Test(arguments: [
        ([0x00], CBORItem.unsigned(0)),
        ([0x17], .unsigned(23)),
        ([0x18, 0x18], .unsigned(24)),
        ([0x19, 0x01, 0x00], .unsigned(256)),
        ([0x1A, 0x00, 0x01, 0x00, 0x00], .unsigned(65536)),
        ([0x1B, 0, 0, 0, 1, 0, 0, 0, 0], .unsigned(1 << 32)),
        ([0x26], .negative(6)),
        ([0x42, 0x01, 0x02], .bytes([1, 2])),
        ([0x63, 0x66, 0x6D, 0x74], .text("fmt")),
        ([0x82, 0x01, 0x20], .array([.unsigned(1), .negative(0)])),
        ([0xA1, 0x61, 0x61, 0xF5], .map([CBOREntry(.text("a"), .boolean(true))])),
    ])
    func readsAndWritesTheSameBytes(_ bytes: [UInt8], _ item: CBORItem) throws {
        #expect(try CBORItem(decoding: bytes[...]) == item)
        #expect(item.encoded == bytes)
    }

    @Test(
        arguments: [
            ("nothing", []),
            ("a number in two bytes that fits in one", [0x18, 0x17]),
            ("a length in two bytes that fits in one", [0x58, 0x01, 0x00]),
            ("a length in three bytes that fits in one", [0x59, 0x00, 0x10] + [UInt8](repeating: 0, count: 16)),
            ("a length in five bytes that fits in one", [0x5A, 0, 0, 0, 1, 0]),
            ("a length in nine bytes that fits in one", [0x5B, 0, 0, 0, 0, 0, 0, 0, 1, 0]),
            ("bytes of 4 GiB that are not there", [0x5A, 0xFF, 0xFF, 0xFF, 0xFF]),
            ("bytes of 2^63 that are not there", [0x5B, 0x80, 0, 0, 0, 0, 0, 0, 0]),
            ("bytes of 2^64 - 1 that are not there", [0x5B] + [UInt8](repeating: 0xFF, count: 8)),
            ("an array of 2^32 elements", [0x9B, 0, 0, 0, 1, 0, 0, 0, 0]),
            ("a map of 2^64 - 1 entries", [0xBB] + [UInt8](repeating: 0xFF, count: 8)),
            ("an indefinite array", [0x9F, 0xFF]),
            ("an indefinite map", [0xBF, 0xFF]),
            ("indefinite bytes", [0x5F, 0x41, 0x00, 0xFF]),
            ("indefinite text", [0x7F, 0x61, 0x61, 0xFF]),
            ("a tag", [0xC0, 0x00]),
            ("the tag of CBOR itself", [0xD9, 0xD9, 0xF7, 0x00]),
            ("a half float", [0xF9, 0x3C, 0x00]),
            ("a double", [0xFB, 0, 0, 0, 0, 0, 0, 0, 0]),
            ("null", [0xF6]),
            ("undefined", [0xF7]),
            ("a simple value", [0xF8, 0x20]),
            ("a break", [0xFF]),
            ("a reserved head", [0x1C]),
            ("text that is not UTF-8", [0x61, 0xFF]),
            ("text that is a surrogate", [0x63, 0xED, 0xA0, 0x80]),
            ("one key twice", [0xA2, 0x61, 0x61, 0x00, 0x61, 0x61, 0x01]),
            ("a byte after the item", [0x00, 0x00]),
            ("a map without its last value", [0xA1, 0x61, 0x61]),
        ] as [(String, [UInt8])]
    )
    func refuses(_ what: String, _ bytes: [UInt8]) {
        #expect(throws: CBORFault.self, "\(what)") { try CBORItem(decoding: bytes[...]) }
    }

    @Test func refusesDeepNesting() {
        let bomb = [UInt8](repeating: 0x81, count: 10_000) + [0x00]
        #expect(throws: CBORFault.self) { try CBORItem(decoding: bomb[...]) }
        let fits = [UInt8](repeating: 0x81, count: 8) + [0x00]
        #expect(throws: Never.self) { try CBORItem(decoding: fits[...]) }
        let tooDeep = [UInt8](repeating: 0x81, count: 9) + [0x00]
        #expect(throws: CBORFault.self) { try CBORItem(decoding: tooDeep[...]) }
    }

    @Test func refusesWhatIsLongerThanTheLimit() {
        var limits = CBORLimits()
        limits.size = 4
        let bytes: [UInt8] = [0x44, 1, 2, 3, 4]
        #expect(throws: CBORFault.self) { try CBORItem(decoding: bytes[...], limits: limits) }
        limits.size = 5
        #expect(throws: Never.self) { try CBORItem(decoding: bytes[...], limits: limits) }
    }

    @Test func everyTruncationIsAFault() {
        let item = CBORItem.map([
            CBOREntry(.text("fmt"), .text("apple-appattest")),
            CBOREntry(.text("list"), .array([.bytes([1, 2, 3]), .unsigned(500), .boolean(false)])),
        ])
        let bytes = item.encoded
        for length in 0..<bytes.count {
            #expect(throws: CBORFault.self, "\(length) bytes") { try CBORItem(decoding: bytes[..<length]) }
        }
    }

    @Test func readsAnItemFromTheFront() throws {
        let bytes: [UInt8] = [0x41, 0x07, 0xA0, 0x01]
        var rest = bytes[...]
        #expect(try CBORItem(readingFrom: &rest) == .bytes([7]))
        #expect(Array(rest) == [0xA0, 0x01])
    }

    @Test func describesAShapeWithoutContent() {
        let item = CBORItem.map([
            CBOREntry(.text("apple_bundle_version_01"), .text("12")), CBOREntry(.unsigned(3), .bytes([1, 2, 3])),
        ])
        #expect(item.shape == #"{"apple_bundle_version_01": text(2), 3: bytes(3)}"#)
    }

    /// For `String` the two keys are one; for CBOR they are not, and neither finds the other's value.
    @Test func keysAreComparedByBytes() throws {
        let keys = [CBORItem.text("e\u{301}"), .text("\u{E9}")]
        #expect(keys[0] != keys[1])
        let map = CBORItem.map([CBOREntry(keys[0], .unsigned(1)), CBOREntry(keys[1], .unsigned(2))])
        let read = try CBORItem(decoding: map.encoded[...])
        #expect(read["\u{E9}"] == .unsigned(2))
        #expect(read["e\u{301}"] == .unsigned(1))
    }

    @Test func keysAreBoundedAndStillUnique() throws {
        func map(_ keys: [String]) -> [UInt8] {
            CBORItem.map(keys.map { CBOREntry(.text($0), .unsigned(0)) }).encoded
        }
        let marks = "a" + String(repeating: "\u{301}\u{316}", count: 63)
        #expect(throws: Never.self) { try CBORItem(decoding: map([marks])[...]) }
        #expect(throws: CBORFault.self) { try CBORItem(decoding: map([marks + "\u{301}\u{316}"])[...]) }
        // More than are compared one by one.
        let many = (0..<40).map { "key\($0)" }
        #expect(throws: Never.self) { try CBORItem(decoding: map(many)[...]) }
        #expect(throws: CBORFault.self) { try CBORItem(decoding: map(many + ["key7"])[...]) }
    }

    @Test func theShapeIsShortPrintableASCII() throws {
        let hostile = ["\u{1B}[31m\ninfo", "a" + String(repeating: "\u{301}", count: 120), "\u{202E}x", "\"\\"]
        for key in hostile {
            let shape = CBORItem.map([CBOREntry(.text(key), .unsigned(0))]).shape
            #expect(shape.utf8.allSatisfy { 0x20...0x7E ~= $0 }, "\(shape)")
            #expect(shape.utf8.count < 100)
        }
        let wide = CBORItem.array([CBORItem](repeating: .bytes([1]), count: 64))
        #expect(CBORItem.array([CBORItem](repeating: wide, count: 64)).shape.utf8.count <= 400)
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Foundation
import Testing

@Suite struct ASN1ElementTests {
    private static func refusal(_ bytes: [UInt8]) -> String? {
        do throws(ASN1Fault) {
            _ = try ASN1Element(complete: bytes[...])
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func membersAreReadInOrder() throws {
        let bytes: [UInt8] = [0x30, 0x0A, 0x02, 0x01, 0x05, 0xA1, 0x02, 0x05, 0x00, 0x80, 0x01, 0x07]
        var members = try ASN1Members(try ASN1Element(complete: bytes[...]), "a list")
        #expect(try members.content(.integer).elementsEqual([5]))
        #expect(try members.optional(.context(0)) == nil)
        #expect(try members.optional(.context(1))?.contextNumber == 1)
        let last = try members.require()
        #expect(last.contextNumber == 0 && !last.tag.isConstructed && last.encodedBytes.elementsEqual([0x80, 1, 7]))
        try members.end()
        #expect(throws: ASN1Fault.self) { try members.require() }
    }

    /// What is wrong far inside is found although nobody asks for it.
    @Test(
        arguments: [
            ([], "an element is missing"), ([0x30], "an element ends within its header"),
            ([0x30, 0x01], "an element is longer than what contains it"), ([0x05, 0x00, 0x00], "bytes follow"),
            ([0x30, 0x04, 0x30, 0x02, 0x02, 0x01], "an element is longer than what contains it"),
            ([0x30, 0x03, 0x04, 0x81, 0x00], "a length is not in its shortest form"),
            ([0x30, 0x80, 0x00, 0x00], "an indefinite length is not allowed here"),
            ([0x30, 0x03, 0x1F, 0x1E, 0x00], "a tag is not in its shortest form"),
            ([0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], "an element is longer than what contains it"),
        ] as [([UInt8], String)]
    )
    func whatIsNotDERIsRefused(_ bytes: [UInt8], _ reason: String) {
        #expect(Self.refusal(bytes)?.hasPrefix(reason) == true, "\(Self.refusal(bytes) ?? "read")")
    }

    @Test func nestingIsBounded() {
        func nested(_ depth: Int) -> [UInt8] {
            (0..<depth).reduce([0x05, 0x00]) { inside, _ in
                inside.count < 128
                    ? [0x30, UInt8(inside.count)] + inside
                    : [0x30, 0x82, UInt8(inside.count >> 8), UInt8(inside.count & 255)] + inside
            }
        }
        #expect(Self.refusal(nested(50)) == nil)
        #expect(Self.refusal(nested(51)) == "elements are nested too deeply")
        #expect(Self.refusal(nested(2_000)) == "elements are nested too deeply")
    }

    @Test(arguments: [
        ("17", "260101000000Z", true, 1_767_225_600), ("17", "500101000000Z", true, -631_152_000),
        ("18", "20260101000000Z", true, 1_767_225_600), ("17", "2601010000Z", false, 1_767_225_600),
        ("18", "20260101013000.5+0130", false, 1_767_225_600), ("18", "20251231223000-0130", false, 1_767_225_600),
    ])
    func timesAreRead(_ tag: String, _ text: String, _ isStrict: Bool, _ seconds: Int) throws {
        let bytes = [try #require(UInt8(tag, radix: 16)), UInt8(text.utf8.count)] + Array(text.utf8)
        let element = try ASN1Element(complete: bytes[...])
        #expect(try element.time(.any) == Date(timeIntervalSince1970: Double(seconds)))
        if isStrict {
            #expect(try element.time() == Date(timeIntervalSince1970: Double(seconds)))
        } else {
            #expect(throws: ASN1Fault.self) { try element.time() }
        }
    }

    @Test(arguments: [
        "261301000000Z", "260132000000Z", "2601012400Z", "26010100000", "260101000000", "26é1010000Z", "",
    ])
    func noTimeIsRefused(_ text: String) throws {
        let element = try ASN1Element(complete: ([0x17, UInt8(text.utf8.count)] + Array(text.utf8))[...])
        #expect(throws: ASN1Fault.self) { try element.time(.any) }
    }

    @Test func identifiersAreDotted() throws {
        #expect(
            try ASN1Element.dotted([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0B]) == "1.2.840.113549.1.1.11")
        #expect(try ASN1Element.dotted([0x88, 0x37, 0x03]) == "2.999.3")
        let refused: [[UInt8]] = [
            [], [0x80], [0x2A, 0x86], Array(repeating: 0x2A, count: 129), Array(repeating: 0xFF, count: 11),
        ]
        for content in refused { #expect(throws: ASN1Fault.self) { try ASN1Element.dotted(content[...]) } }
    }

    @Test func numbersAreInTheirShortestForm() throws {
        func number(_ content: [UInt8]) throws -> [UInt8] {
            Array(try ASN1Element(complete: ([0x02, UInt8(content.count)] + content)[...]).unsignedInteger())
        }
        #expect(try number([0]) == [] && number([0, 0x80]) == [0x80] && number([0x7F]) == [0x7F])
        for content in [[], [0x80], [0, 0x7F], [0, 0]] as [[UInt8]] {
            #expect(throws: ASN1Fault.self) { try number(content) }
        }
    }
}

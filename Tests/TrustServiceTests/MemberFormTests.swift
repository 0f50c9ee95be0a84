// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import Foundation
import Testing
import Vocabulary

@testable import HTTPService
@testable import TrustService

/// In which forms the service reads members that are bytes, and what it says of the others.
@Suite struct MemberFormTests {
    private static let key: [UInt8] = (0..<32).map { UInt8(truncatingIfNeeded: 0xF8 &+ $0 &* 5) }

    private func body(_ member: String, _ text: String) throws -> RequestBody {
        try RequestBody(JSONValue.object([.init(member, .string(text))]).encoded())
    }

    @Test func plainFormsAreRead() throws {
        let forms = [
            Base64.encode(Self.key), Base64.encodeURL(Self.key), Base64.encodeURL(Self.key) + "=",
            Base64.encode(Self.key).replacing("=", with: ""), Self.key.hexadecimal(),
            Self.key.hexadecimal().uppercased(),
        ]
        for text in forms { #expect(try body("keyId", text).keyId().bytes == Self.key, "\(text)") }
        // Hexadecimal is base64 too: only a fixed size tells them apart.
        #expect(try body("assertion", Self.key.hexadecimal()).bytes("assertion").count == 48)
        #expect(try body("assertion", Base64.encodeURL(Self.key)).bytes("assertion") == Self.key)
    }

    @Test(arguments: [
        ("{\"type\":\"Buffer\",\"data\":[1,2,3]}", "malformed.base64", "JSON"),
        ("-----BEGIN X-----\nAAAA\n-----END X-----", "malformed.base64", "PEM"),
        ("data:application/octet-stream;base64,AAAA", "malformed.base64", "data: URI"),
        ("%%%", "malformed.base64", "`%` at byte 0"), ("5637 bytes", "malformed.base64", "print that leaves out bytes"),
        ("114 bytes", "malformed.base64", "print that leaves out bytes"),
        ("\u{FFFD}cfmt\u{FFFD}\u{FFFD}", "malformed.base64", "made a text"),
        (
            "[" + [String](repeating: "163", count: 5600).joined(separator: ", ") + "]", "malformed.base64",
            "array of bytes"
        ),
    ])
    func otherFormsAreNamed(_ text: String, _ code: String, _ form: String) throws {
        let body = try body("attestation", text)
        let error = try #require(throws: Problem.self) { try body.bytes("attestation") }
        #expect(error.code.rawValue == code)
        #expect(error.form?.member == "attestation")
        #expect(error.form?.form.contains(form) == true, "\(error.form?.form ?? "")")
        #expect(error.document(correlationId: "x").member("wanted") == "base64")
    }

    @Test func anotherNumberOfBytesIsSaid() throws {
        let body = try body("keyId", Base64.encodeURL(Self.key + [1]))
        let error = try #require(throws: Problem.self) { try body.keyId() }
        #expect(error.code.rawValue == "request.malformed")
        #expect(error.form?.form == "base64url of 33 bytes")
        #expect(error.form?.wanted == "base64 of 32 bytes")
    }

    /// What is missing is named to the caller, with the name that was probably meant.
    @Test(arguments: [
        ("key_id", "missing; the body has `key_id`"), ("keyID", "missing; the body has `keyID`"), ("id", "missing"),
    ])
    func aMemberThatIsMissingIsNamed(_ name: String, _ form: String) throws {
        let named = try body(name, Base64.encode(Self.key))
        let error = try #require(throws: Problem.self) { try named.keyId() }
        #expect(error.code.rawValue == "request.malformed")
        let document = error.document(correlationId: "x")
        #expect(document.member("member") == "keyId" && document.member("form") == .string(form))
        #expect(document.member("wanted") == "base64 of 32 bytes")
    }

    /// A value that is no text, or none, is called what it is.
    @Test(arguments: [
        (#"{"type": "Buffer", "data": [163]}"#, "a Buffer of Node"), ("[163, -99]", "a list of numbers"),
        (#"{"0": 163, "1": 99}"#, "a list of numbers with their places"), ("7", "a number"),
        (#"{"data": [163]}"#, "an object"), (#"["o2M="]"#, "a list"), ("[]", "a list"),
        ("null", "null"), (#""""#, "empty"), ("true", "true or false"),
    ])
    func aValueThatIsNoTextIsNamed(_ value: String, _ form: String) throws {
        for (member, size, wanted) in [("keyId", 32, "base64 of 32 bytes"), ("attestation", nil, "base64")] {
            let body = try RequestBody(Array("{\"\(member)\": \(value)}".utf8))
            let error = #expect(throws: Problem.self) { try body.bytes(member, size: size) }
            #expect(error?.form?.form == form && error?.form?.wanted == wanted, "\(error?.form as Any)")
        }
    }

    /// An object has more bytes than a body may have values.
    @Test func aLongListOfNumbersIsNamed() throws {
        let numbers = [String](repeating: "163", count: 5600).joined(separator: ",")
        let forms = [
            ("[\(numbers)]", "a list of numbers"), (#"{"type":"Buffer","data":[\#(numbers)]}"#, "a Buffer of Node"),
        ]
        for (value, form) in forms {
            let error = #expect(throws: Problem.self) {
                try RequestBody(Array(#"{"keyId":"AA==","attestation":\#(value)}"#.utf8))
            }
            #expect(error?.code == .requestMalformed && error?.form?.member == "attestation")
            #expect(error?.form?.form == form && error?.form?.wanted == "base64", "\(error?.form as Any)")
        }
        let texts = [String](repeating: "\"AA\"", count: 200).joined(separator: ",")
        let error = #expect(throws: Problem.self) { try RequestBody(Array(#"{"keyId":[\#(texts)]}"#.utf8)) }
        #expect(error?.code == .requestMalformed && error?.form == nil)
        // A text that is no list of numbers is not looked through at that length.
        let escapes = try body("attestation", String(repeating: "%41", count: 6000))
        let refusal = #expect(throws: Problem.self) { try escapes.bytes("attestation") }
        #expect(refusal?.form?.form == "text that is not base64")
    }

    @Test func base64OfBase64IsNamed() throws {
        let object = [0xA3] + [UInt8](repeating: 0x63, count: 99)
        let twice = try body("attestation", Base64.encode(Array(Base64.encode(object).utf8)))
        let error = #expect(throws: Problem.self) { try twice.bytes("attestation") }
        #expect(error?.code == .malformedBase64 && error?.form?.form == "base64 of base64")
    }

    /// The digits of an object are base64 too, of nothing.
    @Test func anObjectInHexadecimalIsNamed() throws {
        let object = [0xA3] + [UInt8](repeating: 0x63, count: 99)
        for text in [object.hexadecimal(), object.hexadecimal().uppercased()] {
            let digits = try body("attestation", text)
            let error = #expect(throws: Problem.self) { try digits.bytes("attestation") }
            #expect(error?.code == .malformedBase64 && error?.form?.form == "hexadecimal")
        }
        #expect(try body("attestation", Base64.encode(object)).bytes("attestation") == object)
    }

    @Test func clientDataIsReadInOneForm() throws {
        #expect(try body("clientData", "e30=").clientData() == Array("{}".utf8))
        #expect(throws: Problem(.malformedBase64)) { _ = try body("clientData", "e30").clientData() }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Findings
import Foundation
import Testing

/// Groups 1 to 19 of the negative list: the outer CBOR and base64. The numbers are those of the fact sheet's section 8.
@Suite struct NegativeCBORTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let group: Int
        let what: String
        let code: String
        let change: @Sendable ([UInt8]) -> [UInt8]
        var testDescription: String { "\(group) \(what)" }

        init(_ group: Int, _ what: String, _ code: String, _ change: @escaping @Sendable ([UInt8]) -> [UInt8]) {
            self.group = group
            self.what = what
            self.code = code
            self.change = change
        }
    }

    /// The entries after the head of the object's map.
    private static func entries(_ object: [UInt8]) -> [UInt8] { Array(object.dropFirst()) }

    private static func replace(_ old: [UInt8], _ new: [UInt8], in object: [UInt8]) -> [UInt8] {
        guard let start = object.indices.first(where: { object[$0...].starts(with: old) }) else { return [] }
        return object[..<start] + new + object[(start + old.count)...]
    }

    static let format = CBOR.text("fmt") + CBOR.text("apple-appattest")

    static let cases: [Case] = [
        Case(1, "empty", "malformed.cbor") { _ in [] },
        Case(3, "a byte after the map", "malformed.cbor") { $0 + [0] },
        Case(4, "authData twice", "malformed.cbor") {
            [0xA4] + entries($0) + CBOR.text("authData") + CBOR.bytes([1])
        },
        Case(5, "fmt twice", "malformed.cbor") { [0xA4] + entries($0) + format },
        Case(6, "another key", "malformed.attestation") {
            [0xA4] + entries($0) + CBOR.text("more") + CBOR.unsigned(1)
        },
        Case(7, "fmt apple", "attest.format.unknown") {
            replace(format, CBOR.text("fmt") + CBOR.text("apple"), in: $0)
        },
        Case(7, "fmt none", "attest.format.unknown") {
            replace(format, CBOR.text("fmt") + CBOR.text("none"), in: $0)
        },
        Case(7, "fmt in capitals", "attest.format.unknown") {
            replace(format, CBOR.text("fmt") + CBOR.text("Apple-AppAttest"), in: $0)
        },
        Case(8, "fmt as bytes", "malformed.attestation") {
            replace(format, CBOR.text("fmt") + CBOR.bytes(Array("apple-appattest".utf8)), in: $0)
        },
        Case(9, "an indefinite map", "malformed.cbor") { [0xBF] + entries($0) + [0xFF] },
        Case(9, "an indefinite x5c", "malformed.cbor") {
            replace(CBOR.text("x5c") + [0x82], CBOR.text("x5c") + [0x9F], in: $0)
        },
        Case(9, "a certificate in pieces of indefinite length", "malformed.cbor") {
            replace(CBOR.text("x5c") + [0x82, 0x59], CBOR.text("x5c") + [0x82, 0x5F, 0x59], in: $0)
        },
        Case(10, "a text of 15 bytes with its length in a byte of its own", "malformed.cbor") {
            replace(format, CBOR.text("fmt") + [0x78, 0x0F] + Array("apple-appattest".utf8), in: $0)
        },
        Case(10, "a length of two bytes in four", "malformed.cbor") {
            replace(CBOR.text("x5c") + [0x82, 0x59], CBOR.text("x5c") + [0x82, 0x5A, 0, 0], in: $0)
        },
        Case(11, "a certificate of 2^63 bytes", "malformed.cbor") {
            replace(CBOR.text("x5c") + [0x82], CBOR.text("x5c") + [0x82, 0x5B, 0x80, 0, 0, 0, 0, 0, 0, 0], in: $0)
        },
        Case(11, "a certificate of 4 GiB", "malformed.cbor") {
            replace(CBOR.text("x5c") + [0x82], CBOR.text("x5c") + [0x82, 0x5A, 0xFF, 0xFF, 0xFF, 0xFF], in: $0)
        },
        Case(12, "x5c of 2^32 certificates", "malformed.cbor") {
            replace(CBOR.text("x5c") + [0x82], CBOR.text("x5c") + [0x9B, 0, 0, 0, 1, 0, 0, 0, 0], in: $0)
        },
        Case(13, "nesting of 10 000", "malformed.cbor") { _ in [UInt8](repeating: 0x81, count: 10_000) },
        Case(14, "the CBOR tag in front", "malformed.cbor") { [0xD9, 0xD9, 0xF7] + $0 },
        Case(14, "a tagged certificate", "malformed.cbor") {
            replace(CBOR.text("x5c") + [0x82], CBOR.text("x5c") + [0x82, 0xC2], in: $0)
        },
        Case(15, "fmt is a float", "malformed.cbor") { replace(format, CBOR.text("fmt") + [0xF9, 0, 0], in: $0) },
        Case(15, "fmt is null", "malformed.cbor") { replace(format, CBOR.text("fmt") + [0xF6], in: $0) },
        Case(15, "fmt is undefined", "malformed.cbor") { replace(format, CBOR.text("fmt") + [0xF7], in: $0) },
        Case(16, "a number as key", "malformed.attestation") {
            replace(CBOR.text("fmt"), CBOR.unsigned(1), in: $0)
        },
        Case(17, "a key that is not UTF-8", "malformed.cbor") {
            replace(CBOR.text("fmt"), [0x63, 0xFF, 0xFE, 0xFD], in: $0)
        },
        Case(18, "more than 64 KiB", "malformed.too-large") { $0 + [UInt8](repeating: 0, count: 64 << 10) },
        Case(64, "an assertion", "malformed.attestation") { _ in
            (try? Stage().assertion(counter: 1)) ?? []
        },
    ]

    @Test(arguments: cases)
    func isRefused(_ item: Case) async throws {
        let stage = try Stage()
        let object = try stage.authority.attest(stage.request, at: stage.instant).object
        let verdict = try await stage.verdict(item.change(object))
        #expect(verdict.code == item.code, "\(verdict)")
    }

    @Test func group64AnAttestationAsAssertion() throws {
        let stage = try Stage()
        let object = try stage.authority.attest(stage.request, at: stage.instant).object
        #expect(try stage.assertionVerdict(object, previous: 0).code == "malformed.assertion")
    }

    /// Group 2: every truncation is malformed, of an attestation, an assertion and a receipt.
    @Test func group2EveryTruncation() async throws {
        let stage = try Stage()
        let object = try stage.authority.attest(stage.request, at: stage.instant).object
        for length in 0..<object.count {
            #expect(throws: MalformedInput(code: .malformedCBOR, reason: ""), "\(length) bytes") {
                try AttestationObject(decoding: object.prefix(length))
            }
        }
        let assertion = try stage.assertion(counter: 1)
        for length in 0..<assertion.count {
            #expect(try stage.assertionVerdict(Array(assertion.prefix(length)), previous: 0).code == "malformed.cbor")
        }
        for encoding in [ReceiptFault.unknownField, .distinguishedEncoding] {
            let receipt = try stage.refreshedReceipt(fault: encoding)
            for length in receipt.indices {
                #expect(throws: MalformedInput(code: .malformedReceipt, reason: ""), "\(length) bytes") {
                    try Receipt(decoding: receipt.prefix(length))
                }
            }
            #expect(try await stage.receiptVerdict(Array(receipt.dropLast())).code == "malformed.receipt")
        }
    }

    /// Group 19: base64 has one form.
    @Test(arguments: [
        ("AAEC", true), ("AAECAw==", true), ("AAECAw", false), ("AAECAx==", false), ("-_-_", false), ("AA EC", false),
        ("AAEC\n", false), ("AAEC=", false), ("====", false), ("A", false),
    ])
    func group19Base64(_ text: String, _ isAccepted: Bool) {
        #expect((Base64.decode(text) != nil) == isAccepted)
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto

extension NegativeCases {
    private static func object(
        _ group: Int, _ what: String, _ code: String, _ change: @escaping @Sendable ([UInt8]) throws -> [UInt8]
    ) -> NegativeCase<[UInt8]> {
        NegativeCase(group, what, code) { $0 = try change($0) }
    }

    /// The entries after the head of the object's map.
    private static func entries(_ object: [UInt8]) -> [UInt8] { Array(object.dropFirst()) }

    private static func replace(_ old: [UInt8], _ new: [UInt8], in object: [UInt8]) -> [UInt8] {
        guard let start = object.indices.first(where: { object[$0...].starts(with: old) }) else { return [] }
        return object[..<start] + new + object[(start + old.count)...]
    }

    private static let rightFormat = CBOR.text("fmt") + CBOR.text("apple-appattest")

    /// Another value of `fmt`.
    private static func format(_ group: Int, _ what: String, _ code: String, _ value: [UInt8]) -> NegativeCase<[UInt8]>
    {
        object(group, what, code) { replace(rightFormat, CBOR.text("fmt") + value, in: $0) }
    }

    /// Other bytes at the beginning of the certificates.
    private static func certificates(
        _ group: Int, _ what: String, _ code: String, _ old: [UInt8], _ new: [UInt8]
    ) -> NegativeCase<[UInt8]> {
        object(group, what, code) { replace(CBOR.text("x5c") + old, CBOR.text("x5c") + new, in: $0) }
    }

    package static let objects: [NegativeCase<[UInt8]>] = [
        object(1, "empty", "malformed.cbor") { _ in [] },
        object(3, "a byte after the map", "malformed.cbor") { $0 + [0] },
        object(4, "authData twice", "malformed.cbor") {
            [0xA4] + entries($0) + CBOR.text("authData") + CBOR.bytes([1])
        },
        object(5, "fmt twice", "malformed.cbor") { [0xA4] + entries($0) + rightFormat },
        object(6, "another key", "malformed.attestation") {
            [0xA4] + entries($0) + CBOR.text("more") + CBOR.unsigned(1)
        },
        format(7, "fmt apple", "attest.format.unknown", CBOR.text("apple")),
        format(7, "fmt none", "attest.format.unknown", CBOR.text("none")),
        format(7, "fmt in capitals", "attest.format.unknown", CBOR.text("Apple-AppAttest")),
        format(8, "fmt as bytes", "malformed.attestation", CBOR.bytes(Array("apple-appattest".utf8))),
        object(9, "an indefinite map", "malformed.cbor") { [0xBF] + entries($0) + [0xFF] },
        certificates(9, "an indefinite x5c", "malformed.cbor", [0x82], [0x9F]),
        certificates(
            9, "a certificate in pieces of indefinite length", "malformed.cbor", [0x82, 0x59], [0x82, 0x5F, 0x59]),
        format(
            10, "a text of 15 bytes with its length in a byte of its own", "malformed.cbor",
            [0x78, 0x0F] + Array("apple-appattest".utf8)),
        certificates(10, "a length of two bytes in four", "malformed.cbor", [0x82, 0x59], [0x82, 0x5A, 0, 0]),
        certificates(
            11, "a certificate of 2^63 bytes", "malformed.cbor", [0x82], [0x82, 0x5B, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        certificates(11, "a certificate of 4 GiB", "malformed.cbor", [0x82], [0x82, 0x5A, 0xFF, 0xFF, 0xFF, 0xFF]),
        certificates(12, "x5c of 2^32 certificates", "malformed.cbor", [0x82], [0x9B, 0, 0, 0, 1, 0, 0, 0, 0]),
        object(13, "nesting of 10 000", "malformed.cbor") { _ in [UInt8](repeating: 0x81, count: 10_000) },
        object(14, "the CBOR tag in front", "malformed.cbor") { [0xD9, 0xD9, 0xF7] + $0 },
        certificates(14, "a tagged certificate", "malformed.cbor", [0x82], [0x82, 0xC2]),
        format(15, "fmt is a float", "malformed.cbor", [0xF9, 0, 0]),
        format(15, "fmt is null", "malformed.cbor", [0xF6]),
        format(15, "fmt is undefined", "malformed.cbor", [0xF7]),
        object(16, "a number as key", "malformed.attestation") {
            replace(CBOR.text("fmt"), CBOR.unsigned(1), in: $0)
        },
        object(17, "a key that is not UTF-8", "malformed.cbor") {
            replace(CBOR.text("fmt"), [0x63, 0xFF, 0xFE, 0xFD], in: $0)
        },
        object(18, "more than 64 KiB", "malformed.too-large") { $0 + [UInt8](repeating: 0, count: 64 << 10) },
        object(64, "an assertion", "malformed.attestation") { _ in
            // Anybody's: it is no attestation before anything in it is looked at.
            let key = try P256.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 9, count: 32))
            return try SimulatedAssertion.make(
                key: key, app: SimulatedApp("ABCDE12345.com.example.app"), system: .iOS("27.0"), counter: 1,
                clientDataHash: [UInt8](repeating: 0, count: 32))
        },
    ]
}

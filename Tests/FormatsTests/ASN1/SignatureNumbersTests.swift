// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import Testing

@Suite struct SignatureNumbersTests {
    private static func raw(_ bytes: [UInt8], width: Int = 2) -> [UInt8]? {
        SignatureNumbers.raw(of: bytes[...], width: width)
    }

    /// Enough signatures for numbers with and without a sign octet, and for some that are shorter than their field.
    @Test func realSignaturesAreReadAsSwiftCryptoReadsThem() throws {
        let (small, large) = (P256.Signing.PrivateKey(), P384.Signing.PrivateKey())
        for number in 0..<600 as Range<UInt16> {
            let message = [UInt8(number >> 8), UInt8(number & 0xFF)]
            let p256 = try small.signature(for: message)
            #expect(Self.raw(Array(p256.derRepresentation), width: 32) == Array(p256.rawRepresentation))
            let p384 = try large.signature(for: message)
            #expect(Self.raw(Array(p384.derRepresentation), width: 48) == Array(p384.rawRepresentation))
        }
    }

    @Test func shortNumbersFillTheirWidth() {
        #expect(Self.raw([0x30, 0x06, 0x02, 0x01, 0x05, 0x02, 0x01, 0x00]) == [0, 5, 0, 0])
        #expect(Self.raw([0x30, 0x08, 0x02, 0x03, 0x00, 0xFF, 0x01, 0x02, 0x01, 0x7F]) == [0xFF, 1, 0, 0x7F])
    }

    @Test(
        "what is not a signature in DER is refused",
        arguments: [
            [], [0x30, 0x00], [0x31, 0x06, 0x02, 0x01, 0x05, 0x02, 0x01, 0x06],
            // One number, three numbers, bytes behind the signature.
            [0x30, 0x03, 0x02, 0x01, 0x05], [0x30, 0x09, 0x02, 0x01, 0x05, 0x02, 0x01, 0x06, 0x02, 0x01, 0x07],
            [0x30, 0x06, 0x02, 0x01, 0x05, 0x02, 0x01, 0x06, 0x00],
            // Negative, a needless zero, no octet at all, another type.
            [0x30, 0x06, 0x02, 0x01, 0x80, 0x02, 0x01, 0x06], [0x30, 0x07, 0x02, 0x02, 0x00, 0x05, 0x02, 0x01, 0x06],
            [0x30, 0x05, 0x02, 0x00, 0x02, 0x01, 0x06], [0x30, 0x06, 0x04, 0x01, 0x05, 0x02, 0x01, 0x06],
            // A length that is longer than it need be, an indefinite one, a number that is too large.
            [0x30, 0x81, 0x06, 0x02, 0x01, 0x05, 0x02, 0x01, 0x06],
            [0x30, 0x80, 0x02, 0x01, 0x05, 0x02, 0x01, 0x06, 0x00, 0x00],
            [0x30, 0x08, 0x02, 0x03, 0x01, 0x00, 0x00, 0x02, 0x01, 0x06],
        ] as [[UInt8]]
    )
    func refused(_ bytes: [UInt8]) { #expect(Self.raw(bytes) == nil) }

    @Test func everyTruncationIsRefused() {
        let whole: [UInt8] = [0x30, 0x07, 0x02, 0x02, 0x00, 0xFF, 0x02, 0x01, 0x06]
        #expect(Self.raw(whole) == [0, 0xFF, 0, 6])
        for length in whole.indices { #expect(Self.raw(Array(whole[..<length])) == nil, "\(length) bytes") }
    }
}

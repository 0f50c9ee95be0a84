// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing
import Vocabulary

@Suite struct ASCIITextTests {
    /// Setting a bit alone would also change `@`, `[`, `\\`, `]`, `^` and `_`, and bytes of UTF-8.
    @Test func onlyLettersChange() {
        for byte in UInt8.min...UInt8.max {
            let letter = UInt8(ascii: "A")...UInt8(ascii: "Z")
            #expect(byte.asciiLowercased == (letter.contains(byte) ? byte + 32 : byte))
        }
        #expect("ÄPFEL.Example".utf8.asciiLowercased == Array("Äpfel.example".utf8))
    }

    /// The Kelvin sign and the long s are lower-cased to k and s by Unicode, and are no letters of a keyword.
    @Test func aWordIsItsBytes() {
        #expect("ChUnKeD".utf8.equalsIgnoringASCIICase("chunked"))
        #expect(!"chunKed".utf8.equalsIgnoringASCIICase("chun\u{212A}ed"))
        #expect(!"chun\u{212A}ed".utf8.equalsIgnoringASCIICase("chunked"))
        #expect(
            !"chunke".utf8.equalsIgnoringASCIICase("chunked") && !"chunkedd".utf8.equalsIgnoringASCIICase("chunked"))
        #expect(!"[".utf8.equalsIgnoringASCIICase("{"))
    }

    @Test func alphanumericIsTheSixtyTwo() {
        let all = (UInt8.min...UInt8.max).filter(\.isASCIIAlphanumeric)
        #expect(
            String(decoding: all, as: UTF8.self) == "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    }

    @Test func bytesAreTwoDigitsEach() {
        #expect([0x00, 0x0A, 0xFF].hexadecimal() == "000aff" && [0x0A, 0xFF].hexadecimal(uppercase: true) == "0AFF")
        #expect([UInt8]().hexadecimal().isEmpty)
    }

    @Test func whatMayNotStandInAURLIsEncoded() {
        #expect("a-Z_0.~/é \n%".utf8.percentEncoded() == "a-Z_0.~%2F%C3%A9%20%0A%25")
        #expect("/a b".utf8.percentEncoded { $0 == 0x2F || $0.isUnreserved } == "/a%20b")
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Vocabulary

@testable import Formats

@Suite struct PastedBytesTests {
    /// 32 bytes whose base64 has `+`, `/` and `=`.
    private static let key: [UInt8] = (0..<32).map { UInt8(truncatingIfNeeded: 0xFB &+ $0 &* 7) }
    private static let standard = Base64.encode(key)
    private static let hex = key.hexadecimal()

    /// As `xxd` and `hexdump -C` print the key.
    private static let xxd = stride(from: 0, to: 32, by: 16).map { start in
        let row = Array(key[start..<start + 16])
        let pairs = stride(from: 0, to: 16, by: 2).map { Array(row[$0..<$0 + 2]).hexadecimal() }
        return String(format: "%08x: ", start) + pairs.joined(separator: " ") + "  .a cfmt........."
    }.joined(separator: "\n")
    private static let hexdump =
        stride(from: 0, to: 32, by: 16).map { start in
            let bytes = key[start..<start + 16].map { [$0].hexadecimal() }
            let halves = [bytes.prefix(8), bytes.suffix(8)].map { $0.joined(separator: " ") }
            return String(format: "%08x  ", start) + halves.joined(separator: "  ") + "  |.. 12 ab|"
        }.joined(separator: "\n") + "\n00000020\n"

    /// As `hexdump` and `od -x` print the first bytes of the key: in words, the second byte first, the last one filled with a zero.
    private static func words(_ count: Int, radix: Int) -> String {
        let bytes = key.prefix(count) + (count.isMultiple(of: 2) ? [] : [0])
        func offset(_ number: Int) -> String { String(String(0x1000_0000 + number, radix: radix).suffix(7)) }
        let rows = stride(from: 0, to: count, by: 16).map { start in
            let row = bytes[start..<min(start + 16, bytes.count)]
            let words = stride(from: start, to: row.endIndex, by: 2).map { [row[$0 + 1], row[$0]].hexadecimal() }
            return "\(offset(start)) \(words.joined(separator: " "))\n"
        }
        return rows.joined() + offset(count) + "\n"
    }

    @Test(arguments: [31, 32, 16, 15]) func wordsOfADumpAreSwapped(_ count: Int) throws {
        for text in [Self.words(count, radix: 16), Self.words(count, radix: 8)] {
            let read = try PastedBytes.fixed(Array(text.utf8), sizes: [count])
            #expect(
                read.bytes == Array(Self.key.prefix(count)) && read.form == "a hex dump, then hexadecimal", "\(text)")
        }
    }

    /// Of octal words, letters and words of four bytes in other orders nothing is guessed.
    @Test(arguments: [
        "0000000 061643 066546 067564 070141 066160 026545 070141 060560\n0000020 072164 071545 063564 072141 051564\n",
        "0000000 243   c   f   m   t   o   a   p   p   l   e   -   a   p   p   a\n0000020   t   t   e   s   t\n",
        "00000000: 10100011 01100011 01100110 01101101 01110100 01101111  .cfmto\n00000006: 01100001 01110000\n",
        "00000000: 6d6663a3 70616f74 2d656c70 70617061  .cfmtoapple-appa\n00000010: 73657474 74616774 746d7453 637862a2\n",
    ])
    func otherDumpsAreNamed(_ text: String) {
        let fault = #expect(throws: MalformedInput.self) { try PastedBytes(reading: Array(text.utf8), wanted: .object) }
        #expect(fault?.reason.contains("print the base64 instead") == true, "\(fault?.reason ?? "")")
        #expect(PastedBytes.isCutPrint(Array(text.utf8)))
    }

    private static let pairs = key.map { [$0].hexadecimal() }

    /// Every form that people have, each with what must be said of it.
    private static let forms: [(text: [UInt8], form: String)] = [
        (Array(standard.utf8), "base64"),
        (Array(Base64.encodeURL(key).utf8), "base64url"),
        (Array((Base64.encodeURL(key) + "=").utf8), "base64url with padding"),
        (Array(standard.replacing("=", with: "").utf8), "base64 without padding"),
        (Array(standard.replacing("+", with: " ").utf8), "base64 with blanks for +"),
        (Array("  \(standard)\r\n".utf8), "base64"),
        (
            Array(
                standard.replacing("+", with: "&#43;").replacing("/", with: "&#x2F;").replacing("=", with: "&#61;").utf8
            ),
            "HTML entities, then base64"
        ),
        (Array(hex.utf8), "hexadecimal"),
        (Array("0x\(hex.uppercased())".utf8), "hexadecimal"),
        (Array(key.map { [$0].hexadecimal() }.joined(separator: ":").utf8), "hexadecimal"),
        (Array("\"\(standard)\"".utf8), "quotes, then base64"),
        (Array("\"\(standard.replacing("/", with: "\\/"))\"".utf8), "quotes, then base64"),
        (Array("{\"keyId\": \"\(standard)\", \"bundle\": \"com.example\"}".utf8), "JSON, then base64"),
        (Array("{\"type\":\"Buffer\",\"data\":\(key)}".utf8), "a JSON array of bytes, then hexadecimal"),
        (Array("\(key)".utf8), "a JSON array of bytes, then hexadecimal"),
        (
            Array("{\(key.enumerated().map { "\"\($0)\":\($1)" }.joined(separator: ","))}".utf8),
            "a JSON array of bytes, then hexadecimal"
        ),
        (
            Array("Uint8Array(32) [\n  \(key.map(String.init).joined(separator: ", "))\n]".utf8),
            "a list of numbers, then hexadecimal"
        ),
        (Array("[\(key.map(String.init).joined(separator: " "))]".utf8), "a list of numbers, then hexadecimal"),
        (
            Array("[]byte{\(key.map { "0x" + [$0].hexadecimal() }.joined(separator: ", "))}".utf8),
            "a list of numbers, then hexadecimal"
        ),
        (
            Array("[\(key.map { String(Int8(bitPattern: $0)) }.joined(separator: ", "))]".utf8),
            "a list of numbers, then hexadecimal"
        ),
        (Array(xxd.utf8), "a hex dump, then hexadecimal"), (Array(hexdump.utf8), "a hex dump, then hexadecimal"),
        (Array("Optional(\"\(standard)\")".utf8), "Optional(…), then quotes, then base64"),
        (Array("curl -d '{\"keyId\": \"\(standard)\"}' https://example.com".utf8), "JSON, then base64"),
        (Array("X-Key-Id: \(standard)".utf8), "a value with its name, then base64"),
        (Array("user=7&keyId=\(Base64.encodeURL(key))".utf8), "a value with its name, then base64url"),
        (Array("<\(hex)>".utf8), "Data as Swift prints it, then hexadecimal"),
        (Array("{length = 32, bytes = 0x\(hex)}".utf8), "Data as Swift prints it, then hexadecimal"),
        (
            Array("<Buffer \(key.map { [$0].hexadecimal() }.joined(separator: " "))>".utf8),
            "a Buffer as Node prints it, then hexadecimal"
        ),
        (Array("b'\(standard)'".utf8), "bytes as Python prints them, then base64"),
        (
            Array("b\"\(key.map { "\\x" + [$0].hexadecimal() }.joined())\"".utf8),
            "bytes as Python prints them, then hexadecimal"
        ),
        (Array("data:application/octet-stream;base64,\(standard)".utf8), "data: URI, then base64"),
        (Array("-----BEGIN DATA-----\n\(standard)\n-----END DATA-----\n".utf8), "PEM, then base64"),
        (
            Array(standard.replacing("+", with: "%2B").replacing("/", with: "%2F").replacing("=", with: "%3D").utf8),
            "percent-encoding, then base64"
        ),
        (
            Array((standard.prefix(20) + "=\r\n" + standard.dropFirst(20).replacing("=", with: "=3D")).utf8),
            "quoted-printable, then base64"
        ),
        (Array(Base64.encode(standard.utf8).utf8), "base64, then base64"),
        // What .NET prints.
        (Array(pairs.map { $0.uppercased() }.joined(separator: "-").utf8), "pairs of hexadecimal digits"),
        (Array(pairs.map { "0x" + $0 }.joined(separator: ", ").utf8), "pairs of hexadecimal digits"),
        (Array(pairs.map { "\\x" + $0 }.joined().utf8), "pairs of hexadecimal digits"),
        // Elixir, xxd -i, Kotlin, Ruby, and Node's ArrayBuffer.
        (Array("<<\(key.map(String.init).joined(separator: ", "))>>".utf8), "a list of numbers, then hexadecimal"),
        (
            Array(
                "unsigned char key[] = {\n  \(pairs.map { "0x" + $0 }.joined(separator: ", "))\n};\nunsigned int key_len = 32;"
                    .utf8), "a list of numbers, then hexadecimal"
        ),
        (
            Array("UByteArray(storage=[\(key.map(String.init).joined(separator: ", "))])".utf8),
            "a list of numbers, then hexadecimal"
        ),
        (Array("\"\(pairs.map { "\\x" + $0.uppercased() }.joined())\"".utf8), "quotes, then hexadecimal"),
        (
            Array("ArrayBuffer { [Uint8Contents]: <\(pairs.joined(separator: " "))>, byteLength: 32 }".utf8),
            "<…> in other text, then hexadecimal"
        ),
        (Array("-----BEGIN DATA-----\(standard)-----END DATA-----".utf8), "PEM, then base64"),
        (Array("\u{201C}\(standard)\u{201D}".utf8), "marks of an editor, then quotes, then base64"),
        (Array("\u{A0}\(standard)\u{200B}".utf8), "marks of an editor, then base64"),
        ([0xEF, 0xBB, 0xBF] + Array(standard.utf8), "base64"),
        ([0xFF, 0xFE] + standard.utf8.flatMap { [$0, 0] }, "base64"),
    ]

    /// A line of a log has one long word; of several it is not said which is meant.
    @Test func theLongWordOfALine() throws {
        let object = Base64.encode([0xA3] + [UInt8](repeating: 0x2A, count: 120))
        let read = try PastedBytes(
            reading: Array("10:00:00 sent attestation to the server \(object) (1)".utf8), wanted: .object)
        #expect(read.form == "a word of other text, then base64" && read.bytes.count == 121)
        #expect(throws: MalformedInput.self) {
            try PastedBytes(reading: Array("first \(object) then, \(object)!".utf8), wanted: .object)
        }
    }

    /// A key stands before the proof that it signed, and begins as an object does.
    @Test func aProofIsReadBeforeAKey() throws {
        let (key, proof) = ([UInt8](repeating: 0x30, count: 91), [0xA2] + [UInt8](repeating: 1, count: 90))
        for name in ["assertion", "attestationData", "receipt"] {
            let text = "{\"publicKey\": \"\(Base64.encode(key))\", \"\(name)\": \"\(Base64.encode(proof))\"}"
            #expect(try PastedBytes(reading: Array(text.utf8), wanted: .object).bytes == proof)
        }
    }

    @Test(arguments: forms.indices) func everyFormGivesTheBytesAndItsName(index: Int) throws {
        let (text, form) = Self.forms[index]
        let read = try PastedBytes.fixed(text, sizes: [32])
        #expect(read.bytes == Self.key)
        #expect(read.form == form)
    }

    @Test func theSizeDecidesBetweenHexadecimalAndBase64() throws {
        // 64 hexadecimal digits are base64 of 48 bytes too.
        #expect(try PastedBytes.fixed(Array(Self.hex.utf8), sizes: [32]).form == "hexadecimal")
        #expect(try PastedBytes.fixed(Array(Self.hex.utf8), sizes: [48]).form == "base64")
        #expect(try PastedBytes(reading: Array(Self.hex.utf8), wanted: .anything).form == "base64")
        // Of base64 in hexadecimal 64 digits would be 32 bytes too.
        let nested = try PastedBytes.fixed(Array(Array(Self.standard.utf8).hexadecimal().utf8), sizes: [32])
        #expect(nested.bytes == Self.key && nested.form == "hexadecimal, then base64")
    }

    @Test func aRefusalNamesTheFormAndWhatIsWanted() {
        func reason(_ text: String) -> String {
            do throws(MalformedInput) {
                _ = try PastedBytes.fixed(Array(text.utf8), sizes: [32])
                return "accepted"
            } catch {
                return error.reason
            }
        }
        #expect(reason(Base64.encodeURL(Self.key + [0xFF])) == "base64url of 33 bytes; expected 32 bytes")
        #expect(reason("{length = 5637, bytes = 0xa363666d 742f6170 ... 00000000 }").contains("leaves out bytes"))
        for print in [
            "5637 bytes", "Optional(5637 bytes)", "[B@6d06d69c", "[object ArrayBuffer]",
            "[ 163, 99, ... 30 more items ]",
        ] {
            #expect(reason(print).contains("leaves out bytes"), "\(print)")
        }
        #expect(reason("käse").contains("expected text"))
        #expect(reason("key!").contains("`!` at byte 3"))
    }

    @Test func truncatedTextsAreRefusedOrShorter() throws {
        for (text, _) in Self.forms {
            for length in text.indices {
                let read = try? PastedBytes.fixed(Array(text.prefix(length)), sizes: [32])
                // 43 hexadecimal digits are base64 of 32 bytes without padding.
                #expect(
                    read == nil || read?.bytes == Self.key || read?.forms.last == "base64 without padding",
                    "\(String(decoding: text.prefix(length), as: UTF8.self))")
            }
        }
    }

    @Test func nestedAndLargeTextsEnd() {
        let nested = String(repeating: "[", count: 4000) + "1" + String(repeating: "]", count: 4000)
        #expect(throws: MalformedInput.self) { _ = try PastedBytes.fixed(Array(nested.utf8), sizes: [32]) }
        let quotes = String(repeating: "\"", count: 100_000)
        #expect(throws: MalformedInput.self) { _ = try PastedBytes.fixed(Array(quotes.utf8), sizes: [32]) }
        let large = [UInt8](repeating: UInt8(ascii: "%"), count: 4 << 20)
        #expect(throws: MalformedInput.self) { _ = try PastedBytes.fixed(large, sizes: [32]) }
    }
}

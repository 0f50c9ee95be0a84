// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The two alphabets of base64 (RFC 4648): section 4 with padding, and section 5 without. Each text encodes one sequence of bytes, and no
/// other text for the same.
package enum Base64 {
    /// Standard alphabet, padded, no white space, no stray bits in the last character.
    package static func decode(_ text: String) -> [UInt8]? {
        decode(Array(text.utf8))
    }

    /// The standard alphabet where other characters are skipped and the first `=` ends the text: how Apple reads property lists.
    package static func decode(skippingOthers text: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for character in text {
            if character == UInt8(ascii: "=") { break }
            let value = values[Int(character)]
            guard value < 64 else { continue }
            append(value, &bits, &count, to: &bytes)
        }
        return bytes
    }

    private static func append(_ value: UInt8, _ bits: inout UInt32, _ count: inout UInt32, to bytes: inout [UInt8]) {
        bits = bits << 6 | UInt32(value)
        count += 6
        guard count >= 8 else { return }
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
    }

    /// The same of bytes.
    package static func decode(_ text: [UInt8]) -> [UInt8]? { decode(text, isStrict: true) }

    /// The standard alphabet, padded, where the bits that pad the last character may be anything: how Foundation reads pins.
    package static func decodeIgnoringStrayBits(_ text: String) -> [UInt8]? {
        decode(Array(text.utf8), isStrict: false)
    }

    private static func decode(_ text: [UInt8], isStrict: Bool) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        guard let last = text.last else { return [] }
        let pad = UInt8(ascii: "=")
        let padding = last != pad ? 0 : text[text.count - 2] != pad ? 1 : 2
        // Read once: each use of a static value asks whether it was made already.
        let values = values
        // Whatever is no character of the alphabet has a bit that none of them has.
        var all: UInt8 = 0
        var bits: UInt32 = 0
        var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3)
        for group in 0..<text.count / 4 {
            bits = 0
            for place in group * 4..<group * 4 + 4 {
                let value = place < text.count - padding ? values[Int(text[place])] : 0
                all |= value
                bits = bits << 6 | UInt32(value)
            }
            bytes[group * 3] = UInt8(truncatingIfNeeded: bits >> 16)
            bytes[group * 3 + 1] = UInt8(truncatingIfNeeded: bits >> 8)
            bytes[group * 3 + 2] = UInt8(truncatingIfNeeded: bits)
        }
        // The bits that pad the last character are zero.
        guard all < 64, !isStrict || bits & (1 << UInt32(padding * 8) - 1) == 0 else { return nil }
        bytes.removeLast(padding)
        return bytes
    }

    /// The value of each character of the standard alphabet, by its ASCII code; 255 for all others.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for (value, character) in alphabet.utf8.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    package static func encode(_ bytes: some Sequence<UInt8>) -> String { Data(bytes).base64EncodedString() }

    /// The URL alphabet without padding, as in paths and tokens.
    package static func decodeURL(_ text: String) -> [UInt8]? {
        var standard = ""
        standard.reserveCapacity(text.utf8.count + 3)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "-": standard.unicodeScalars.append("+")
            case "_": standard.unicodeScalars.append("/")
            case "+", "/", "=": return nil
            default: standard.unicodeScalars.append(scalar)
            }
        }
        while standard.utf8.count % 4 != 0 { standard += "=" }
        return decode(standard)
    }

    package static func encodeURL(_ bytes: some Sequence<UInt8>) -> String {
        var text = ""
        for scalar in encode(bytes).unicodeScalars {
            switch scalar {
            case "+": text.unicodeScalars.append("-")
            case "/": text.unicodeScalars.append("_")
            case "=": break
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

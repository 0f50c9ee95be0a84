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

    /// The same of bytes.
    package static func decode(_ text: [UInt8]) -> [UInt8]? { decode(text, strayCharacters: 0) }

    /// The standard alphabet, padded, where the bits that pad the last character may be anything: how Foundation reads pins.
    package static func decodeIgnoringStrayBits(_ text: String) -> [UInt8]? {
        decode(Array(text.utf8), strayCharacters: 1)
    }

    /// The standard alphabet where other characters are skipped and the first `=` ends the text: how Apple reads property lists.
    package static func decode(skippingOthers text: [UInt8]) -> [UInt8] {
        var known = text.prefix { $0 != UInt8(ascii: "=") }.filter { $0.isASCIIAlphanumeric || "+/".utf8.contains($0) }
        // The six bits of a single character more are no byte.
        if known.count % 4 == 1 { known.removeLast() }
        while known.count % 4 != 0 { known.append(UInt8(ascii: "=")) }
        return decode(known, strayCharacters: 1) ?? []
    }

    /// Foundation takes more than RFC 4648 allows, so what it read is written again and compared.
    ///
    /// - Parameter stray: the most characters that may differ then: the last one does if it has stray bits.
    private static func decode(_ text: [UInt8], strayCharacters stray: Int) -> [UInt8]? {
        let text = Data(text)
        guard let data = Data(base64Encoded: text) else { return nil }
        let encoded = data.base64EncodedData()
        guard
            encoded == text
                || encoded.count == text.count && zip(encoded, text).count(where: { $0 != $1 }) <= stray
        else { return nil }
        return Array(data)
    }

    package static func encode(_ bytes: some Sequence<UInt8>) -> String { Data(bytes).base64EncodedString() }

    /// The URL alphabet without padding, as in paths and tokens.
    package static func decodeURL(_ text: String) -> [UInt8]? {
        guard !text.utf8.contains(where: "+/=".utf8.contains) else { return nil }
        var standard = text.utf8.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "+") : $0 == 0x5F ? 0x2F : $0 }
        while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        return decode(standard)
    }

    package static func encodeURL(_ bytes: some Sequence<UInt8>) -> String {
        let standard = encode(bytes).utf8.filter { $0 != UInt8(ascii: "=") }
        return String(decoding: standard.map { $0 == 0x2B ? 0x2D : $0 == 0x2F ? 0x5F : $0 }, as: UTF8.self)
    }
}

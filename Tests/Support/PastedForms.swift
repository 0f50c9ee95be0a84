// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The forms in which people have bytes: encodings, what languages print, and what a transport puts around them.
public enum PastedForms {
    /// Every form of some bytes, by name.
    ///
    /// - Parameter isHex: whether forms that end in hexadecimal digits are wanted: they are base64 too, and only a known size or beginning
    ///   tells them apart.
    public static func all(of bytes: [UInt8], isHex: Bool = true) -> [(name: String, text: [UInt8])] {
        let standard = Data(bytes).base64EncodedString()
        let url = standard.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
        let unpadded = { (text: String) in String(text.reversed().drop { $0 == "=" }.reversed()) }
        let percent = standard.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let half = standard.index(standard.startIndex, offsetBy: standard.count / 2)
        let lines = Data(bytes).base64EncodedString(options: [.lineLength64Characters, .endLineWithCarriageReturn])
        let text: [(String, String)] = [
            ("base64", standard), ("base64 without padding", unpadded(standard)), ("base64url", unpadded(url)),
            ("base64url with padding", url), ("base64 in lines", lines), ("base64 between blanks", "  \(standard)\r\n"),
            ("blanks for +", standard.replacingOccurrences(of: "+", with: " ")), ("quotes", "\"\(standard)\""),
            ("escaped slashes", "\"\(standard.replacingOccurrences(of: "/", with: "\\/"))\""),
            ("JSON", "{\"bundle\": \"com.example\", \"value\": \"\(standard)\"}"),
            ("JSON in JSON", "{\"data\": {\"value\": \"\(unpadded(url))\"}}"),
            ("Python's text", "b'\(standard)'"), ("Swift's optional", "Optional(\"\(standard)\")"),
            ("PEM", "-----BEGIN DATA-----\n\(standard)\n-----END DATA-----\n"),
            ("data: URI", "data:application/octet-stream;base64,\(standard)"), ("percent-encoding", percent),
            ("a form", "user=7&value=\(percent)"), ("a header", "X-Value: \(standard)"),
            ("a shell's line", "curl -d '{\"value\": \"\(standard)\"}' https://example.com"),
            (
                "quoted-printable",
                "\(standard[..<half])=\r\n\(standard[half...].replacingOccurrences(of: "=", with: "=3D"))"
            ),
            ("escaped line ends", "\(standard[..<half])\\n\(standard[half...])\\n"),
            ("marks of an editor", "\u{201C}\(standard)\u{201D}"),
            ("base64 twice", Data(standard.utf8).base64EncodedString()),
        ]
        var all = text.map { (name: $0.0, text: Array($0.1.utf8)) }
        all.append(("a byte order mark", [0xEF, 0xBB, 0xBF] + Array(standard.utf8)))
        all.append(("UTF-16", [0xFF, 0xFE] + standard.utf8.flatMap { [$0, 0] }))
        return isHex ? all + hexadecimal(bytes) : all
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> [(name: String, text: [UInt8])] {
        let pairs = bytes.map { String(format: "%02x", $0) }
        let digits = pairs.joined()
        let rows = stride(from: 0, to: bytes.count, by: 16).map { start in
            String(format: "%08x: ", start) + pairs[start..<min(start + 16, bytes.count)].joined(separator: " ")
                + "  .......|........"
        }
        // In words, the second byte first.
        let words = stride(from: 0, to: bytes.count, by: 16).map { start in
            String(format: "%07x", start)
                + stride(from: start, to: min(start + 16, bytes.count), by: 2).map {
                    " \($0 + 1 < pairs.count ? pairs[$0 + 1] : "00")\(pairs[$0])"
                }.joined()
        }
        let text: [(String, String)] = [
            ("hexdump", (words + [String(format: "%07x", bytes.count)]).joined(separator: "\n")),
            ("hexadecimal", digits), ("hexadecimal in capitals", "0x" + digits.uppercased()),
            ("PostgreSQL's bytea", "\\x" + digits), ("hexadecimal with colons", pairs.joined(separator: ":")),
            ("xxd", rows.joined(separator: "\n")),
            ("Swift's Data", "<\(digits)>"), ("Foundation's Data", "{length = \(bytes.count), bytes = 0x\(digits)}"),
            ("hexadecimal with hyphens", pairs.map { $0.uppercased() }.joined(separator: "-")),
            ("Ruby's text", "\"\(pairs.map { "\\x" + $0.uppercased() }.joined())\""),
            (
                "xxd -i",
                "unsigned char x[] = {\n  \(pairs.map { "0x" + $0 }.joined(separator: ", "))\n};\nunsigned int x_len = 1;\n"
            ),
            ("Node's Buffer", "<Buffer \(pairs.joined(separator: " "))>"),
            ("Node's Buffer in JSON", "{\"type\":\"Buffer\",\"data\":\(bytes)}"),
            (
                "Node's Uint8Array",
                "Uint8Array(\(bytes.count)) [\n  \(bytes.map(String.init).joined(separator: ", "))\n]"
            ),
            ("Go's slice", "[\(bytes.map(String.init).joined(separator: " "))]"),
            ("Java's array", "[\(bytes.map { String(Int8(bitPattern: $0)) }.joined(separator: ", "))]"),
            ("Python's bytes", "b\"\(pairs.map { "\\x" + $0 }.joined())\""),
        ]
        return text.map { (name: $0.0, text: Array($0.1.utf8)) }
    }
}

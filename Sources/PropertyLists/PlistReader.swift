// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CIconv
import FoundationEssentials
public import Vocabulary

/// Reads a property list in any form that people have: XML and a part of it, binary, the old style, JSON, and what programs print.
public enum PlistReader {
    /// Reads the bytes of a file.
    ///
    /// - Throws: `MalformedInput` with code `malformed.plist`, the place and the fix.
    public static func read(_ bytes: [UInt8]) throws(MalformedInput) -> PlistDocument {
        try read(bytes, values: PlistLimits.values)
    }

    /// Reads a property list in XML that begins inside of another file.
    package static func read(_ bytes: [UInt8], from position: Int) throws(MalformedInput) -> PlistDocument {
        try XMLPlistReader.read(bytes, from: position, isVerbatim: false)
    }

    /// - Parameters:
    ///   - values: the most values that it may have.
    ///   - isPrinted: whether the text may be the print of a program, as that of `defaults read`, and not the file of an app.
    package static func read(
        _ bytes: [UInt8], values: Int = PlistLimits.values, isPrinted: Bool = false
    ) throws(MalformedInput) -> PlistDocument {
        guard bytes.count <= PlistLimits.bytes else {
            throw .plist("", "is larger than \(PlistLimits.bytes >> 20) MiB, which no Info.plist is")
        }
        if bytes.starts(with: BinaryPlistReader.magic) { return try BinaryPlistReader.read(bytes, values: values) }
        let transcoded = try PlistEncoding.transcoded(bytes)
        let mark = transcoded == nil ? Array(bytes.prefix(TextFileEncoding.markCount(bytes))) : []
        let text = transcoded ?? (mark.isEmpty ? bytes : Array(bytes.dropFirst(mark.count)))
        if let (root, oddities) = try BracedReader.whole(text, isPrinted: isPrinted) {
            return PlistDocument(root: root, format: .text, source: text, oddities: oddities)
        }
        return try XMLPlistReader.read(text, isVerbatim: transcoded == nil, mark: mark, values: values)
    }
}

/// The encodings in which a property list of text may be: UTF-16 and UTF-32, with a byte order mark or without, and what its first line declares.
enum PlistEncoding {
    /// The text as UTF-8, or nil if it is UTF-8 already.
    static func transcoded(_ bytes: [UInt8]) throws(MalformedInput) -> [UInt8]? {
        let wide: [(start: [UInt8], mark: Int, encoding: String.Encoding)] = [
            ([0xFF, 0xFE, 0, 0], 4, .utf32LittleEndian), ([0, 0, 0xFE, 0xFF], 4, .utf32BigEndian),
            ([0x3C, 0, 0, 0], 0, .utf32LittleEndian), ([0, 0, 0, 0x3C], 0, .utf32BigEndian),
            ([0x3C, 0], 0, .utf16LittleEndian), ([0, 0x3C], 0, .utf16BigEndian),
            ([0xFF, 0xFE], 2, .utf16LittleEndian), ([0xFE, 0xFF], 2, .utf16BigEndian),
        ]
        if let found = wide.first(where: { bytes.starts(with: $0.start) }) {
            guard found.mark != 2 || bytes.count.isMultiple(of: 2) else {
                throw .plist("offset \(bytes.count)", "ends in the middle of a UTF-16 character; save it as UTF-8")
            }
            guard let text = String(bytes: bytes.dropFirst(found.mark), encoding: found.encoding) else {
                throw .plist("", "is not valid UTF-\(found.start.count == 4 ? 32 : 16); save it as UTF-8")
            }
            return Array(text.utf8)
        }
        guard bytes.starts(with: "<?xml".utf8) else { return nil }
        let head = String(decoding: bytes.prefix(200).prefix { $0 != UInt8(ascii: ">") }, as: UTF8.self).lowercased()
        guard let range = head.firstRange(of: "encoding=") else { return nil }
        let name = head[range.upperBound...].dropFirst().prefix { $0 != "\"" && $0 != "'" }
        guard let encoding = declared[String(name)] else { return nil }
        guard let text = converted(bytes, from: encoding) else {
            throw .plist("", "is not valid \(name); save it as UTF-8")
        }
        return text
    }

    /// The encodings that are declared, and what the C library calls them.
    private static let declared = [
        "iso-8859-1": "ISO-8859-1", "latin1": "ISO-8859-1", "windows-1252": "CP1252", "cp1252": "CP1252",
        "macintosh": "MACINTOSH", "x-mac-roman": "MACINTOSH", "macroman": "MACINTOSH", "shift_jis": "SHIFT_JIS",
        "euc-jp": "EUC-JP", "iso-8859-2": "ISO-8859-2", "windows-1251": "CP1251", "windows-1250": "CP1250",
    ]

    /// The text as UTF-8; nil if it is not of that encoding, or the system does not know it.
    private static func converted(_ bytes: [UInt8], from encoding: String) -> [UInt8]? {
        // Safe: the descriptor is closed once, the input is only read, and what is written is bounded and counted by the call itself.
        unsafe bytes.withUnsafeBytes { input -> [UInt8]? in
            guard let converter = unsafe iconv_open("UTF-8", encoding), unsafe converter != iconv_t(bitPattern: -1)
            else { return nil }
            defer { unsafe iconv_close(converter) }
            // No character of these encodings has more than three bytes for one of theirs.
            return unsafe [UInt8](unsafeUninitializedCapacity: 3 * input.count + 4) { output, count in
                var from = unsafe UnsafeMutablePointer(
                    mutating: input.baseAddress?.assumingMemoryBound(to: CChar.self))
                var to = unsafe output.baseAddress.map {
                    unsafe UnsafeMutableRawPointer($0).assumingMemoryBound(to: CChar.self)
                }
                var (left, free) = (input.count, output.count)
                let result = unsafe iconv(converter, &from, &left, &to, &free)
                count = result == 0 && left == 0 ? output.count - free : 0
            }
        }
        .flatMap { $0.isEmpty ? nil : $0 }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Vocabulary

/// Reads a property list in its XML or binary form.
public enum PlistReader {
    /// Reads the bytes of a file.
    ///
    /// - Throws: `MalformedInput` with code `malformed.plist`, the place and the fix.
    public static func read(_ bytes: [UInt8]) throws(MalformedInput) -> PlistDocument {
        try read(bytes, values: PlistLimits.values)
    }

    /// - Parameter values: the most values that it may have.
    package static func read(_ bytes: [UInt8], values: Int) throws(MalformedInput) -> PlistDocument {
        guard bytes.count <= PlistLimits.bytes else {
            throw .plist("", "is larger than \(PlistLimits.bytes >> 20) MiB, which no Info.plist is")
        }
        if bytes.starts(with: BinaryPlistReader.magic) { return try BinaryPlistReader.read(bytes, values: values) }
        if let transcoded = try UTF16Text.transcoded(bytes) {
            return try XMLPlistReader.read(transcoded, isVerbatim: false, values: values)
        }
        let mark = Array(bytes.prefix(TextFileEncoding.markCount(bytes)))
        let text = mark.isEmpty ? bytes : Array(bytes.dropFirst(mark.count))
        return try XMLPlistReader.read(text, isVerbatim: true, mark: mark, values: values)
    }
}

/// Text in UTF-16 with a byte order mark, which Foundation accepts for property lists.
enum UTF16Text {
    /// The text as UTF-8, or nil if the bytes have no such mark.
    static func transcoded(_ bytes: [UInt8]) throws(MalformedInput) -> [UInt8]? {
        let bigEndian: Bool
        if bytes.starts(with: [0xFE, 0xFF]) {
            bigEndian = true
        } else if bytes.starts(with: [0xFF, 0xFE]) {
            bigEndian = false
        } else {
            return nil
        }
        guard bytes.count.isMultiple(of: 2) else {
            throw .plist("offset \(bytes.count)", "ends in the middle of a UTF-16 character; save it as UTF-8")
        }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count / 2)
        let units = stride(from: 2, to: bytes.count, by: 2).lazy.map { index -> UInt16 in
            // Safe: a byte fits.
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return bigEndian ? first << 8 | second : second << 8 | first
        }
        let damaged = transcode(
            units.makeIterator(), from: UTF16.self, to: UTF8.self, stoppingOnError: true, into: { text.append($0) })
        if damaged { throw .plist("", "is not valid UTF-16; save it as UTF-8") }
        return text
    }
}

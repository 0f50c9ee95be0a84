// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension CBORItem {
    /// The encoding: definite lengths, shortest forms, map entries in the order given.
    ///
    /// Because the reader takes nothing but shortest forms, encoding what was read gives the same bytes back.
    package var encoded: [UInt8] {
        var output: [UInt8] = []
        write(into: &output)
        return output
    }

    private func write(into output: inout [UInt8]) {
        switch self {
        case .unsigned(let number): CBORItem.head(0, number, into: &output)
        case .negative(let number): CBORItem.head(1, number, into: &output)
        case .bytes(let bytes):
            CBORItem.head(2, UInt64(bytes.count), into: &output)
            output += bytes
        case .text(let text):
            CBORItem.head(3, UInt64(text.utf8.count), into: &output)
            output += text.utf8
        case .array(let elements):
            CBORItem.head(4, UInt64(elements.count), into: &output)
            for element in elements { element.write(into: &output) }
        case .map(let entries):
            CBORItem.head(5, UInt64(entries.count), into: &output)
            for entry in entries {
                entry.key.write(into: &output)
                entry.value.write(into: &output)
            }
        case .boolean(let flag): output.append(flag ? 0xF5 : 0xF4)
        }
    }

    private static func head(_ major: UInt8, _ number: UInt64, into output: inout [UInt8]) {
        let length: Int
        switch number {
        case 0..<24: return output.append(major << 5 | UInt8(truncatingIfNeeded: number))
        case 24...0xFF: length = 1
        case 0x100...0xFFFF: length = 2
        case 0x1_0000...0xFFFF_FFFF: length = 4
        default: length = 8
        }
        output.append(major << 5 | UInt8(23 + length.trailingZeroBitCount + 1))
        for index in (0..<length).reversed() {
            output.append(UInt8(truncatingIfNeeded: number >> (UInt64(index) * 8)))
        }
    }

    /// What the item looks like without its content, for people who must see what changed in a new system:
    /// for example `{"apple_bundle_version_01": text(1), "apple_validation_category_01": bytes(4)}`; at most 400 bytes of ASCII, whatever was sent.
    package var shape: String {
        var text = ""
        describe(into: &text)
        return text.utf8.count > CBORItem.shapeLimit
            ? String(decoding: text.utf8.prefix(CBORItem.shapeLimit - 3), as: UTF8.self) + "..." : text
    }

    private static let shapeLimit = 400

    /// A key as part of a shape: its first 64 bytes, with `?` for everything that is not printable ASCII.
    private static func printable(_ key: String) -> String {
        String(decoding: key.utf8.prefix(64).map { 0x20...0x7E ~= $0 && $0 != 0x22 ? $0 : 0x3F }, as: UTF8.self)
    }

    private func describe(into text: inout String) {
        // What is cut off need not be written.
        guard text.utf8.count <= CBORItem.shapeLimit else { return }
        switch self {
        case .unsigned: text += "unsigned"
        case .negative: text += "negative"
        case .bytes(let bytes): text += "bytes(\(bytes.count))"
        case .text(let string): text += "text(\(string.utf8.count))"
        case .boolean: text += "boolean"
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += ", " }
                element.describe(into: &text)
            }
            text += "]"
        case .map(let entries):
            text += "{"
            for (index, entry) in entries.enumerated() {
                if index > 0 { text += ", " }
                switch entry.key {
                case .text(let key): text += "\"\(CBORItem.printable(key))\""
                case .unsigned(let number): text += "\(number)"
                case .negative(let number): text += "-\(number)-1"
                default: entry.key.describe(into: &text)
                }
                text += ": "
                entry.value.describe(into: &text)
            }
            text += "}"
        }
    }
}

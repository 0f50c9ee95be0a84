// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import PropertyLists
import Vocabulary

extension PropertyListValue {
    /// The text that NSDictionary's `-description` gives: four spaces a level, sorted keys, the old property-list quoting.
    ///
    /// Source: the stored outputs of nscurl; an inner dictionary's brace follows the indentation of its own line.
    package var oldStyleDescription: String { oldStyle(level: 0) }

    private func oldStyle(level: Int) -> String {
        let pad = String(repeating: " ", count: 4 * level)
        let inner = String(repeating: " ", count: 4 * (level + 1))
        switch self {
        case .string(let text): return PropertyListValue.quoted(text)
        case .integer(let number): return String(number)
        case .real(let number): return PropertyListValue.quoted(String(number))
        case .boolean(let flag): return flag ? "true" : "false"
        case .date(let date): return PropertyListValue.quoted(RFC3339.text(date))
        case .data(let bytes):
            return "{length = \(bytes.count), bytes = 0x\(bytes.hexadecimal())}"
        case .array(let elements):
            // Deeper nesting than any dictionary has is cut, so that a hostile file cannot exhaust the stack.
            guard level < 32 else { return "(...)" }
            let lines = elements.map { inner + $0.nestedOldStyle(level: level + 1) }
            return "(\n" + lines.joined(separator: ",\n") + (lines.isEmpty ? "" : "\n") + pad + ")"
        case .dictionary(let members):
            guard level < 32 else { return "{...}" }
            let lines = members.keys.sorted().map { key in
                let value = members[key].map { $0.nestedOldStyle(level: level + 1) } ?? ""
                return "\(inner)\(PropertyListValue.quoted(key)) = \(value);\n"
            }
            return "{\n" + lines.joined() + pad + "}"
        }
    }

    private func nestedOldStyle(level: Int) -> String {
        switch self {
        case .array, .dictionary: String(repeating: " ", count: 4 * level) + oldStyle(level: level)
        default: oldStyle(level: level)
        }
    }

    /// A word of letters, digits, `_` and `$` stands bare; everything else in quotes, other scripts as `\Uxxxx`.
    private static func quoted(_ text: String) -> String {
        let isBare = !text.isEmpty && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == 0x5F || $0 == 0x24 }
        if isBare { return text }
        var result = "\""
        for unit in text.utf16 {
            switch unit {
            case 0x22: result += "\\\""
            case 0x5C: result += "\\\\"
            case 0x0A: result += "\\n"
            case 0x0D: result += "\\r"
            case 0x09: result += "\\t"
            case 0x20...0x7E: result.unicodeScalars.append(Unicode.Scalar(UInt8(truncatingIfNeeded: unit)))
            default:
                let digits = String(unit, radix: 16)
                result += "\\U" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
            }
        }
        return result + "\""
    }
}

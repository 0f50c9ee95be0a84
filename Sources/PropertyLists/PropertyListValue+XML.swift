// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

extension PropertyListValue {
    /// The value as the elements of an XML property list, one a line, keys in order.
    ///
    /// A date and data stand as a comment, and nothing is written below 16 levels: no dictionary that App Transport Security reads has them.
    package func xmlLines(indentation: String, depth: Int = 0) -> [String] {
        guard depth <= 16 else { return [] }
        let pad = String(repeating: indentation, count: depth)
        switch self {
        case .dictionary(let members) where members.isEmpty: return ["\(pad)<dict/>"]
        case .dictionary(let members):
            var lines = ["\(pad)<dict>"]
            for (key, member) in members.sorted(by: { $0.key < $1.key }) {
                lines.append("\(pad)\(indentation)<key>\(Markup.text(key))</key>")
                lines += member.xmlLines(indentation: indentation, depth: depth + 1)
            }
            return lines + ["\(pad)</dict>"]
        case .array(let elements):
            let inside = elements.flatMap { $0.xmlLines(indentation: indentation, depth: depth + 1) }
            return ["\(pad)<array>"] + inside + ["\(pad)</array>"]
        case .boolean(let flag): return ["\(pad)<\(flag)/>"]
        case .integer(let number): return ["\(pad)<integer>\(number)</integer>"]
        case .real(let number): return ["\(pad)<real>\(number)</real>"]
        case .string(let text): return ["\(pad)<string>\(Markup.text(text))</string>"]
        case .date, .data: return ["\(pad)<!-- \(kind) -->"]
        }
    }
}

extension PlistDocument {
    /// An XML property list with these members, each on lines of its own.
    package static func xml(members: String) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <dict>
        \(members)</dict>
        </plist>

        """
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension PlistDocument {
    /// The same list with `$(NAME)` and `${NAME}` replaced in keys and texts, as a build does it. What has no value stays as it is.
    ///
    /// - Parameter value: the value of a build setting, which may refer to others.
    package func substituting(_ value: (String) -> String?) -> PlistDocument {
        PlistDocument(
            root: root.substituting(value), format: format, source: source, isVerbatim: isVerbatim, mark: mark,
            oddities: oddities)
    }
}

extension PlistNode {
    /// The readers have bounded the depth.
    fileprivate func substituting(_ value: (String) -> String?) -> PlistNode {
        switch self.value {
        case .string(let text): PlistNode(.string(BuildText.expanded(text, value)), range: range)
        case .array(let elements): PlistNode(.array(elements.map { $0.substituting(value) }), range: range)
        case .dictionary(let members):
            PlistNode(
                .dictionary(
                    members.map {
                        PlistMember(
                            BuildText.expanded($0.key, value), keyRange: $0.keyRange, $0.node.substituting(value))
                    }), range: range)
        default: self
        }
    }
}

/// Texts with references to build settings.
enum BuildText {
    /// Longer texts are not expanded further.
    private static let longest = 64 << 10
    /// How deep a value may refer to another, and how many references a text may have.
    private static let steps = 8
    private static let references = 64

    static func expanded(_ text: String, _ value: (String) -> String?) -> String {
        guard text.utf8.contains(UInt8(ascii: "$")), text.utf8.count <= longest else { return text }
        var text = Array(text.utf8)
        for _ in 0..<steps {
            let (next, changed) = once(text, value)
            guard changed, next.count <= longest else { break }
            text = next
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func once(_ text: [UInt8], _ value: (String) -> String?) -> ([UInt8], changed: Bool) {
        var result: [UInt8] = []
        var rest = text[...]
        var left = references
        while let dollar = rest.firstIndex(of: UInt8(ascii: "$")), left > 0 {
            result += rest[..<dollar]
            rest = rest[dollar...]
            let open = rest.dropFirst().first
            let close = open == UInt8(ascii: "(") ? UInt8(ascii: ")") : UInt8(ascii: "}")
            guard open == UInt8(ascii: "(") || open == UInt8(ascii: "{"), let end = rest.firstIndex(of: close) else {
                result.append(UInt8(ascii: "$"))
                rest = rest.dropFirst()
                continue
            }
            let parts = rest[..<end].dropFirst(2).split(
                separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            let standard = parts.dropFirst().first.flatMap { operation in
                operation.starts(with: "default=".utf8)
                    ? String(decoding: operation.dropFirst("default=".utf8.count), as: UTF8.self) : nil
            }
            let name = String(decoding: parts.first ?? [], as: UTF8.self)
            // Another operation changes the value, so that it is not known.
            let isKnown = parts.count == 1 || standard != nil
            if isKnown, let found = value(name) ?? standard {
                result += found.utf8
                left -= 1
                rest = rest[(end + 1)...]
            } else {
                result.append(UInt8(ascii: "$"))
                rest = rest.dropFirst()
            }
        }
        return (result + rest, left < references)
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
package import Vocabulary

extension PlistDocument {
    /// The property list that a JSON document holds below some names, for example `expo`, `ios`, `infoPlist`; nil if there is none.
    ///
    /// - Throws: `malformed.json`; values that no property list can hold, such as `null`, are left out.
    package init?(json bytes: [UInt8], below names: [String]) throws(MalformedInput) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        var limits = JSONReader.Limits()
        limits.depth = 64
        limits.values = 500_000
        var value = try JSONReader.read(
            bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes, limits: limits)
        for name in names {
            guard let inner = value.member(name) else { return nil }
            value = inner
        }
        guard value.members != nil, let root = PlistNode(value) else { return nil }
        self.init(root: root, format: .json)
    }
}

extension PlistNode {
    /// The value as Xcode or a packager writes it into an Info.plist; nil for `null`. The reader has bounded the depth.
    fileprivate init?(_ value: JSONValue) {
        let node: Value
        switch value {
        case .null: return nil
        case .bool(let flag): node = .boolean(flag)
        case .integer(let number): node = .integer(number)
        case .number(let number): node = .real(number)
        case .string(let text): node = .string(text)
        case .array(let elements): node = .array(elements.compactMap { PlistNode($0) })
        case .object(let members):
            node = .dictionary(
                members.compactMap { member in PlistNode(member.value).map { PlistMember(member.name, $0) } })
        }
        self.init(node)
    }
}

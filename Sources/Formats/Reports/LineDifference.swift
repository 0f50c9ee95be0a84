// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

package enum LineDifference {
    package enum Kind: String {
        case same, del, ins

        package var sign: String {
            switch self {
            case .same: " "
            case .del: "-"
            case .ins: "+"
            }
        }
    }

    package typealias Line = (kind: Kind, text: String)

    /// The most lines of each text that are compared; the rest counts as replaced.
    private static let limit = 600

    package static func lines(from old: String, to new: String) -> [Line] {
        let left = split(old)
        let right = split(new)
        guard left.count <= limit, right.count <= limit else {
            return left.map { line -> Line in (.del, line) } + right.map { line -> Line in (.ins, line) }
        }
        // As keys, because strings with other bytes may be equal.
        let changes = right.map { UTF8Key($0) }.difference(from: left.map { UTF8Key($0) })
        var removed: Set<Int> = []
        var inserted: Set<Int> = []
        for change in changes {
            switch change {
            case .remove(let index, _, _): removed.insert(index)
            case .insert(let index, _, _): inserted.insert(index)
            }
        }
        var result: [Line] = []
        var i = 0
        for (j, line) in right.enumerated() {
            while removed.contains(i) {
                result.append((.del, left[i]))
                i += 1
            }
            result.append((inserted.contains(j) ? .ins : .same, line))
            if !inserted.contains(j) { i += 1 }
        }
        return result + left[i...].map { line -> Line in (.del, line) }
    }

    private static func split(_ text: String) -> [String] {
        text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    }
}

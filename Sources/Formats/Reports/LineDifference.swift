// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// The difference of two texts, line by line.
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
        // Each line is read once and has a number from there on: the table below compares numbers.
        var numbers: [UTF8Key: Int] = [:]
        func number(_ line: String) -> Int {
            let key = UTF8Key(line)
            if let known = numbers[key] { return known }
            numbers[key] = numbers.count
            return numbers.count - 1
        }
        let (leftNumbers, rightNumbers) = (left.map(number), right.map(number))
        // Longest common subsequence; lengths[i][j] is that of the tails from i and j.
        var lengths = Array(repeating: Array(repeating: 0, count: right.count + 1), count: left.count + 1)
        for i in left.indices.reversed() {
            for j in right.indices.reversed() {
                lengths[i][j] =
                    leftNumbers[i] == rightNumbers[j]
                    ? lengths[i + 1][j + 1] + 1 : max(lengths[i + 1][j], lengths[i][j + 1])
            }
        }
        var result: [Line] = []
        var i = 0
        var j = 0
        while i < left.count || j < right.count {
            if i < left.count, j < right.count, leftNumbers[i] == rightNumbers[j] {
                result.append((.same, left[i]))
                i += 1
                j += 1
            } else if i < left.count, j == right.count || lengths[i + 1][j] >= lengths[i][j + 1] {
                result.append((.del, left[i]))
                i += 1
            } else {
                result.append((.ins, right[j]))
                j += 1
            }
        }
        return result
    }

    private static func split(_ text: String) -> [String] {
        text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    }
}

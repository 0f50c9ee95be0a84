// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The difference of two texts, line by line.
enum LineDifference {
    enum Kind: String {
        case same, del, ins

        var sign: String {
            switch self {
            case .same: " "
            case .del: "-"
            case .ins: "+"
            }
        }
    }

    struct Line {
        let kind: Kind
        let text: String
    }

    /// The most lines of each text that are compared; beyond it the rest is told as replaced.
    private static let limit = 600

    static func lines(from old: String, to new: String) -> [Line] {
        let left = old.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let right = new.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard left.count <= limit, right.count <= limit else {
            return left.map { Line(kind: .del, text: $0) } + right.map { Line(kind: .ins, text: $0) }
        }
        // Longest common subsequence; lengths[i][j] is that of the tails from i and j.
        var lengths = Array(repeating: Array(repeating: 0, count: right.count + 1), count: left.count + 1)
        for i in left.indices.reversed() {
            for j in right.indices.reversed() {
                lengths[i][j] =
                    left[i] == right[j] ? lengths[i + 1][j + 1] + 1 : max(lengths[i + 1][j], lengths[i][j + 1])
            }
        }
        var result: [Line] = []
        var i = 0
        var j = 0
        while i < left.count || j < right.count {
            if i < left.count, j < right.count, left[i] == right[j] {
                result.append(Line(kind: .same, text: left[i]))
                i += 1
                j += 1
            } else if i < left.count, j == right.count || lengths[i + 1][j] >= lengths[i][j + 1] {
                result.append(Line(kind: .del, text: left[i]))
                i += 1
            } else {
                result.append(Line(kind: .ins, text: right[j]))
                j += 1
            }
        }
        return result
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The words after a bench's name: pairs of an option and its value.
public struct BenchArguments: Sendable {
    private let words: [String]

    /// The words of this process.
    public init() { words = Array(CommandLine.arguments.dropFirst()) }

    /// The value of an option; nil where it is not given.
    public subscript(_ option: String) -> String? {
        words.firstIndex(of: option).flatMap { words.indices.contains($0 + 1) ? words[$0 + 1] : nil }
    }

    /// The number that an option gives; nil where it is not given or is no number.
    public func number(_ option: String) -> Int? { self[option].flatMap { Int($0) } }
}

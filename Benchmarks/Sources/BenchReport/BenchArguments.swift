// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The words after a bench's name: pairs of an option and its value.
public struct BenchArguments: Sendable {
    private let words: [String]

    /// The words of this process.
    public init() { words = Array(CommandLine.arguments.dropFirst()) }

    /// The value of an option; nil where it is not given.
    public subscript(_ option: String) -> String? {
        words.firstIndex(of: option).flatMap { words.indices.contains($0 + 1) ? words[$0 + 1] : nil }
    }

    /// The number that an option gives, 1 to 1,000,000,000; nil where the option is not given. Any other value ends the process with status 2: a
    /// benchmark that measured something else than it was asked for would be worse than none.
    public func number(_ option: String) -> Int? {
        guard words.contains(option) else { return nil }
        let value = self[option] ?? ""
        guard let number = Int(value), (1...1_000_000_000).contains(number) else {
            FileHandle.standardError.write(
                Data("\(option) takes a whole number of 1 to 1000000000, not \"\(value)\"\n".utf8)
            )
            exit(2)
        }
        return number
    }
}

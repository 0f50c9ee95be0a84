// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Findings

/// A word of the command line that stands where a subcommand is expected and is none.
struct UnknownSubcommand {
    let word: String
    /// The commands before it, for example `sealward ats`.
    let path: String
    /// The subcommand that was probably meant.
    let suggestion: String?
    let known: [String]

    /// Nil unless the first words lead to a command with subcommands, and the next one names none of them.
    static func find(in words: [String], below root: any ParsableCommand.Type) -> UnknownSubcommand? {
        var group: any ParsableCommand.Type = root
        var path = root.configuration.commandName ?? ""
        for word in words {
            let subcommands: [any ParsableCommand.Type] = group.configuration.subcommands
            // Only groups of commands take no words of their own.
            if subcommands.isEmpty || word.hasPrefix("-") || word == "help" { return nil }
            let names: [String] = subcommands.compactMap { $0.configuration.commandName }
            guard let next = subcommands.first(where: { $0.configuration.commandName == word }) else {
                return UnknownSubcommand(word: word, path: path, suggestion: nearest(to: word, names), known: names)
            }
            group = next
            path += " " + word
        }
        return nil
    }

    private static func nearest(to word: String, _ names: [String]) -> String? {
        let near = names.map { (name: $0, distance: distance($0, word)) }.min { $0.distance < $1.distance }
        return near.flatMap { $0.distance <= 2 ? $0.name : nil }
    }

    /// The sentence for standard error.
    var message: String {
        let hint = suggestion.map { "Did you mean '\($0)'?" } ?? "Its subcommands are \(known.joined(separator: ", "))."
        return "Error: '\(path)' has no subcommand '\(word.terminalSafe(limit: 40))'. \(hint)\n"
            + "Help:  '\(path) --help'"
    }

    /// How many letters must be changed, added or removed (Levenshtein). Words longer than any name count as far away.
    private static func distance(_ name: String, _ word: String) -> Int {
        let (left, right) = (Array(name.utf8), Array(word.utf8.prefix(64)))
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var next = [index + 1]
            for (column, other) in right.enumerated() {
                next.append(min(row[column] + (letter == other ? 0 : 1), row[column + 1] + 1, next[column] + 1))
            }
            row = next
        }
        return row[right.count]
    }
}

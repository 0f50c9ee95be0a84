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
                return UnknownSubcommand(
                    word: word,
                    path: path,
                    suggestion: NearName.suggestion(for: word, among: names),
                    known: names
                )
            }
            group = next
            path += " " + word
        }
        return nil
    }

    /// The sentence for standard error.
    var message: String {
        let hint = suggestion.map { "Did you mean '\($0)'?" } ?? "Its subcommands are \(known.joined(separator: ", "))."
        return "Error: '\(path)' has no subcommand '\(word.terminalSafe(limit: 40))'. \(hint)\n"
            + "Help:  '\(path) --help'"
    }
}

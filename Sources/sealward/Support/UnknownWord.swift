// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Formats
import Vocabulary

/// The command that the first words of a command line lead to.
private struct AskedCommand {
    var type: any ParsableCommand.Type = Sealward.self
    /// The words after its name.
    var rest: ArraySlice<String>

    init(_ words: [String]) {
        rest = words[...]
        while let word = rest.first,
            let next = type.configuration.subcommands.first(where: { $0.configuration.commandName == word })
        {
            type = next
            rest = rest.dropFirst()
        }
    }
}

/// A word in the place of a subcommand that names none.
enum UnknownSubcommand {
    /// The sentence for standard error; nil unless the first words lead to a command with subcommands, and the next one names none of them.
    static func message(for words: [String]) -> String? {
        let asked = AskedCommand(words)
        let subcommands: [any ParsableCommand.Type] = asked.type.configuration.subcommands
        let known: [String] = subcommands.compactMap { $0.configuration.commandName }
        // Only groups of commands take no words of their own.
        guard !known.isEmpty, let word = asked.rest.first, !word.hasPrefix("-"), word != "help" else { return nil }
        // A name of another group counts if it is the very word, or if nothing of this group is near: who types 'lint' does not mean 'init'.
        let elsewhere = Dictionary(grouping: Overview.commands().dropFirst()) {
            $0.type.configuration.commandName ?? ""
        }.mapValues { $0.map(\.words) }
        let hint: String
        if let places = elsewhere[word] {
            hint = "Did you mean \(quoted(places))?"
        } else if let near = NearName.suggestion(for: word, among: known) {
            hint = "Did you mean '\(near)'?"
        } else if let near = NearName.suggestion(for: word, among: elsewhere.keys.sorted()) {
            hint = "Did you mean \(quoted(elsewhere[near] ?? []))?"
        } else {
            hint = "Its subcommands are \(known.joined(separator: ", "))."
        }
        let name = Overview.name(of: asked.type)
        return "Error: '\(name)' has no subcommand '\(word.terminalSafe(limit: 40))'. \(hint)\n"
            + "Help:  '\(name) --help'"
    }

    private static func quoted(_ places: [String]) -> String {
        places.prefix(3).map { "'\($0)'" }.joined(separator: " or ")
    }
}

/// A private key on the command line, where no command takes one.
enum PrivateKeyWord {
    /// The page for standard error, which does not repeat the key; nil if there is none, or if `doctor` is given words after `--`.
    static func message(for words: [String]) -> String? {
        if words.first == "doctor", words.contains("--") { return nil }
        for (before, word) in zip([""] + words, words) {
            // `--option=VALUE`; the first line of PEM has blanks.
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            let isJoined = word.hasPrefix("--") && parts.count == 2 && !parts[0].contains(" ")
            guard SecretText.isPrivateKey(isJoined ? parts[1] : word) else { continue }
            let name = isJoined ? parts[0] : before
            let option = name.hasPrefix("--") && name.utf8.count > 2 ? name : nil
            let wanted =
                option == "--public-key"
                ? "Give the public key instead; 'openssl pkey -in FILE -pubout' makes it of a private one, and a JSON Web Key is public without its member d."
                : "Where a command needs one, it takes the name of its file."
            return """
                Error: \(option.map { "\($0): this" } ?? "A word of the command line") is a private key. It was not used and is not shown.
                If it was pasted where others can read it (a chat, a ticket, a log), treat it as leaked: revoke it and make a new one.
                \(wanted)
                Help:  '\(Overview.name(of: AskedCommand(words).type)) --help'
                """
        }
        return nil
    }
}

/// An option that a command does not have: named first, whatever else is missing or wrong.
struct UnknownOption {
    let command: any ParsableCommand.Type
    let message: String

    /// Nil where every option is one of the command.
    init?(in words: [String]) {
        let asked = AskedCommand(words)
        let known = UnknownOption.names(of: asked.type)
        let options = asked.rest.prefix { $0 != "--" }.filter { $0.hasPrefix("-") && $0 != "-" }
            .map { String($0.prefix { $0 != "=" }) }
        guard !known.isEmpty, let option = options.first(where: { !known.contains($0) }) else { return nil }
        command = asked.type
        let limit = option.utf8.count > 5 ? 2 : 1
        let hint = NearName.suggestion(for: option, among: known, within: limit).map { ". Did you mean '\($0)'?" } ?? ""
        message = "Unknown option '\(option.terminalSafe(limit: 40))'\(hint)"
    }

    /// What the help says that there is.
    private static func names(of command: any ParsableCommand.Type) -> [String] {
        let help = try? JSONReader.read(Array(command._dumpHelp().utf8))
        let arguments = help?.member("command")?.member("arguments")?.elements ?? []
        return arguments.flatMap { $0.member("names")?.elements ?? [] }.compactMap { name in
            name.member("name")?.text.map { (name.member("kind")?.text == "long" ? "--" : "-") + $0 }
        }
    }
}

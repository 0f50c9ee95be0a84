// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

struct CompletionsCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions",
        abstract: "Completions for your shell: commands, options and their values.",
        discussion: """
            Example:
              sealward completions bash --output ~/.local/share/bash-completion/completions/sealward

            zsh reads a file _sealward in a folder of $fpath, fish one in ~/.config/fish/completions/sealward.fish.

            Exit status: 0 done, 2 the file cannot be written, 64 usage.
            """
    )

    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish
    }

    @Argument(help: .value("bash, zsh or fish.", "SHELL"))
    var shell: Shell

    @OptionGroup var shared: SharedOptions

    func outcome() async throws -> Outcome {
        var script = Sealward.completionScript(for: CompletionShell(rawValue: shell.rawValue) ?? .bash)
        if script.utf8.last != 0x0A { script += "\n" }
        try CommandIO.write(script, to: shared.output)
        return .clean
    }
}

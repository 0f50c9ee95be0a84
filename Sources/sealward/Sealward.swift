// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import ArgumentParser
import Findings
import Foundation

/// The `sealward` command: one file for each subcommand, each argument -> library call -> renderer.
@main
struct Sealward: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sealward",
        abstract: "The open trust stack between Apple apps and their servers.",
        version: "0.1.0",
        subcommands: Overview.groups.flatMap(\.commands)
    )

    /// Without a word: what the program can do.
    mutating func run() async throws { print(Overview.text, terminator: "") }

    static func main() async {
        if let unknown = UnknownSubcommand.find(in: Array(CommandLine.arguments.dropFirst()), below: Sealward.self) {
            CommandIO.say(unknown.message)
            Foundation.exit(ExitCode.validationFailure.rawValue)
        }
        do {
            let releases = try AddedReleases.ofEnvironment()
            await OSProfile.adding(releases) { await parseAndRun() }
        } catch {
            CommandIO.say("\(error)")
            Foundation.exit(Outcome.undetermined.rawValue)
        }
    }

    private static func parseAndRun() async {
        do {
            var command = try await asyncParseAsRoot()
            do {
                if var command = command as? any AsyncParsableCommand {
                    try await command.run()
                } else {
                    try command.run()
                }
            } catch let usage as ValidationError {
                // What only the run could judge is answered like everything else: with the usage of the command itself.
                let leaf = type(of: command)
                CommandIO.say("Error: \(usage.message)\nUsage: \(usageString(for: leaf))")
                CommandIO.say("  See '\(Overview.name(of: leaf)) --help' for more information.")
                Foundation.exit(ExitCode.validationFailure.rawValue)
            }
        } catch {
            exit(withError: error)
        }
    }
}

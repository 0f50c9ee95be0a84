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
            await OSProfile.adding(releases) { await main(nil) }
        } catch {
            CommandIO.say("\(error)")
            Foundation.exit(Outcome.undetermined.rawValue)
        }
    }
}

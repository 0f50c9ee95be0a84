// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import ArgumentParser
import ConnectionAdmission
import FoundationEssentials
import Glibc
import NIOCore
import Vocabulary

/// The `sealward` command: one file for each subcommand, each argument -> library call -> renderer.
@main
struct Sealward: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sealward", abstract: "The open trust stack between Apple apps and their servers.",
        version: "0.2.0", subcommands: Overview.groups.flatMap(\.commands))

    /// Without a word: what the program can do.
    mutating func run() async throws { print(Overview.text, terminator: "") }

    static func main() async {
        // To the first process of a container the kernel sends no signal whose action is the default one.
        if getpid() == 1 { for number in [SIGINT, SIGTERM] { signal(number) { _exit(128 + $0) } } }
        let words = ExplainCodeCommand.allowingMinus(Array(CommandLine.arguments.dropFirst()))
        if let message = PrivateKeyWord.message(for: words) ?? UnknownSubcommand.message(for: words) {
            CommandIO.say(page: message.fitted)
            Glibc.exit(ExitCode.validationFailure.rawValue)
        }
        let limit = DescriptorLimit.current()
        guard limit.descriptors >= DescriptorLimit.least else {
            CommandIO.say(
                "sealward: the system lets this process open only \(limit.descriptors) files and connections; allow at least \(DescriptorLimit.least), with 'ulimit -n'."
            )
            Glibc.exit(Outcome.undetermined.rawValue)
        }
        if limit.eventLoops < limit.processors { NIOSingletons.groupLoopCountSuggestion = limit.eventLoops }
        do {
            let releases = try AddedReleases.ofEnvironment()
            await OSProfile.adding(releases) { await parseAndRun(words) }
        } catch {
            CommandIO.say("\(error)")
            Glibc.exit(Outcome.undetermined.rawValue)
        }
    }

    private static func parseAndRun(_ words: [String]) async {
        do {
            var command = try await asyncParseAsRoot(words)
            do {
                try await command.start()
            } catch let usage as ValidationError {
                // What only the run could judge is answered like everything else: with the usage of the command itself.
                refuse(usage.message, type(of: command))
            }
        } catch {
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            if let unknown = UnknownOption(in: words) { refuse(unknown.message, unknown.command) }
            // The message quotes a value as it was given, which may come from anywhere; of a long one the beginning is enough.
            let values = words.map { $0.hasPrefix("--") ? String($0.drop { $0 != "=" }.dropFirst()) : $0 }
            let message = values.filter { $0.utf8.count > 200 }.reduce(fullMessage(for: error)) {
                $0.replacing($1, with: "\($1.prefix(60))...")
            }
            CommandIO.say(page: message, fitted: false)
            Glibc.exit(ExitCode.validationFailure.rawValue)
        }
    }

    private static func refuse(_ message: String, _ command: any ParsableCommand.Type) -> Never {
        CommandIO.say(page: "Error: \(message)\nUsage: \(usageString(for: command))")
        CommandIO.say("  See '\(Overview.name(of: command)) --help' for more information.")
        Glibc.exit(ExitCode.validationFailure.rawValue)
    }
}

extension AddedReleases {
    static let variable = "SEALWARD_SYSTEMS"

    /// The releases of the file that the environment names; none if it names none.
    static func ofEnvironment() throws(CommandFault) -> AddedReleases {
        guard let path = ProcessInfo.processInfo.environment[variable], !path.isEmpty else { return AddedReleases() }
        let bytes = try CommandIO.readText(path, limit: 256 << 10)
        do throws(MalformedInput) {
            return try AddedReleases(bytes)
        } catch {
            throw CommandFault("\(variable): \(CommandIO.name(of: path)): \(error.reason).")
        }
    }
}

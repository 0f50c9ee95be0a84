// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Formats
import FoundationEssentials
import Glibc
import HTTPService
import TrustService
import Vocabulary

struct TokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens", abstract: "Credentials of backends and operators.", subcommands: [NewTokenCommand.self])
}

struct NewTokenCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Make a token and print it once, with its entry for tokensFile.",
        discussion: """
            The token is not stored: give it to its owner and add the entry to the JSON array in the file that the setting tokensFile names. \
            Then send SIGHUP to the service.

            Example: sealward tokens new --name ci --scope server:shop --expires 2027-06-30
            """
    )

    @Option(help: .value("The owner's name, which the audit records.", "NAME"))
    var name: String

    @Option(
        name: .customLong("scope"),
        help: .value("\(Authority.Role.names), for every app, or with :APP for one; repeatable.", "SCOPE"))
    var scopes: [String]

    @Option(help: .value("When it expires, as a date or an RFC 3339 instant.", "T"))
    var expires: DayOrInstant?

    @OptionGroup var form: ResultForm

    private var made: NewToken? {
        NewToken(name: name, scopes: scopes, expires: expires?.date, random: SystemSources.live.random(32))
    }

    func validate() throws {
        guard NamedCredential.isName(name) else {
            throw ValidationError("--name must be 1 to 64 printable ASCII characters without spaces.")
        }
        guard made != nil else {
            throw ValidationError(
                "--scope must be \(Authority.Role.names), alone or with :APP, for example server:shop.")
        }
    }

    func result() async throws -> CommandResult {
        guard let made else { throw CommandFault("The token cannot be made.") }
        if let expires, expires.date <= Date(), !form.shared.quiet {
            CommandIO.say("sealward: --expires is in the past: the service will refuse this token.")
        }
        return CommandResult(
            ["schema": "sealward.token/1", "token": .string(made.token), "entry": made.entry],
            text: "token: \(made.token)\nentry: \(made.entry.rendered(pretty: false))\n", fits: false)
    }
}

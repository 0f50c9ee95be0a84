// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Formats
import TrustService
import Vocabulary

struct SecretsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secrets", abstract: "The secrets that a service keeps in its store.",
        subcommands: [RotateSecretCommand.self])
}

struct RotateSecretCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Replace a secret of the store by a new one.",
        discussion: """
            challenges: the new key signs soon, and the old one is accepted until its last challenge has expired. What another secret made ends \
            at once: the tokens of its callers, or the artifacts of App Check. audit: lines of the audit stay as they are, and users have another \
            hash in new ones. A running service takes the new secret within ten seconds. \
            'sealward tokens new' makes a credential for a backend or an operator, which is no secret of the store.

            Example: sealward secrets rotate challenges --store sqlite:sealward.sqlite
            """
    )

    @Argument(help: .value("The secret: \(OperatorSession.secretNames.joined(separator: ", ")).", "NAME"))
    var name: String

    @OptionGroup var target: OperatorTarget

    @OptionGroup var form: ResultForm

    func validate() throws {
        try target.validateToken()
        guard OperatorSession.secretNames.contains(where: { $0.hasSameBytes(as: name) }) else {
            throw ValidationError(
                "'\(name.terminalSafe)' is no secret: give one of \(OperatorSession.secretNames.joined(separator: ", "))."
            )
        }
    }

    func result() async throws -> CommandResult {
        let path = "/v1/secrets/\(OperatorTarget.encoded(name))/rotate"
        let answer = try await target.document("POST", path) { try await $0.rotate(name) }
        guard let end = answer.member("oldAcceptedUntil")?.text else {
            throw CommandFault(
                "The answer does not say until when the old secret counts: `oldAcceptedUntil` is missing.")
        }
        let start = answer.member("signsFrom")?.text.map { "signs from: \($0.terminalSafe)\n" } ?? ""
        return CommandResult(
            .object([.init("schema", "sealward.secret-rotation/1")] + (answer.members ?? [])),
            text: "rotate: \(name)\n\(start)old accepted until: \(end.terminalSafe)\n", fits: false)
    }
}

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

struct RotateSecretCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Replace a secret of the store by a new one.",
        discussion: """
            challenges: the new key signs soon, and the old one is accepted until its last challenge has expired. What another secret made ends \
            at once: the tokens of its callers, or the artifacts of App Check. A running service takes the new secret within ten seconds. \
            'sealward tokens new' makes a credential for a backend or an operator, which is no secret of the store.

            Example: sealward secrets rotate challenges --store sqlite:sealward.sqlite
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The secret: \(OperatorSession.secretNames.joined(separator: ", ")).", valueName: "NAME"))
    var name: String

    @OptionGroup var target: OperatorTarget

    @Option(help: ArgumentHelp("Output format: text or json.", valueName: "FORMAT"))
    var format: TextOrJSON = .text

    @OptionGroup var shared: SharedOptions

    func validate() throws {
        guard OperatorSession.secretNames.contains(where: { $0.hasSameBytes(as: name) }) else {
            throw ValidationError(
                "'\(name.terminalSafe)' is no secret: give one of \(OperatorSession.secretNames.joined(separator: ", "))."
            )
        }
    }

    func run() async throws {
        try await CommandIO.run {
            let path = "/v1/secrets/\(OperatorTarget.encoded(name))/rotate"
            guard let answer = try await target.document("POST", path, inStore: { try await $0.rotate(name) }) else {
                return .findings
            }
            guard let end = answer.member("oldAcceptedUntil")?.text else {
                throw CommandFault(
                    "The answer does not say until when the old secret counts: `oldAcceptedUntil` is missing.")
            }
            let text =
                switch format {
                case .json: answer.adding(schema: "sealward.secret-rotation/1").rendered() + "\n"
                case .text:
                    "rotate: \(name)\n"
                        + (answer.member("signsFrom")?.text.map { "signs from: \($0.terminalSafe)\n" } ?? "")
                        + "old accepted until: \(end.terminalSafe)\n"
                }
            try CommandIO.write(text, to: shared.output)
            return .clean
        }
    }
}

extension JSONValue {
    /// The object with the name of its document first.
    fileprivate func adding(schema: String) -> JSONValue {
        .object([.init("schema", .string(schema))] + (members ?? []))
    }
}

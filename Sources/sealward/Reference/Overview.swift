// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Vocabulary

/// What `sealward` alone prints: what it can do, three examples, and where to go on.
enum Overview {
    static let examples = [
        ("Will apps load from this server, and if not, why?", "sealward ats check example.com"),
        ("Is this Info.plist right, and what will App Review ask?", "sealward ats lint Info.plist"),
        ("Attested devices against a service of your own, all on this machine:", "sealward demo"),
    ]

    static var text: String {
        var lines = ["\(Sealward.configuration.abstract) (\(Sealward.configuration.version))", ""]
        for (question, command) in examples { lines += ["  \(question)", "      \(command)", ""] }
        for group in groups {
            let names = group.commands.compactMap { $0.configuration.commandName }
            lines.append("  " + group.title.padded(to: 28) + names.joined(separator: ", "))
        }
        lines += ["", "'sealward COMMAND --help' says more, 'sealward explain CODE' what a code means."]
        return lines.joined(separator: "\n") + "\n"
    }

    /// Every command with the words that call it, for example `sealward ats check`.
    static func commands(
        below group: any ParsableCommand.Type = Sealward.self, _ words: String = ""
    ) -> [(type: any ParsableCommand.Type, words: String)] {
        let words = words + (group.configuration.commandName ?? "")
        return [(group, words)] + group.configuration.subcommands.flatMap { commands(below: $0, words + " ") }
    }

    static func name(of command: any ParsableCommand.Type) -> String {
        commands().first { $0.type == command }?.words ?? ""
    }

    /// Every command, by what it is for.
    static let groups: [(title: String, commands: [any ParsableCommand.Type])] = [
        ("what you have", [DoctorCommand.self]),
        ("App Transport Security", [ATSCommand.self]),
        ("App Attest, DeviceCheck", [AttestCommand.self, ReceiptCommand.self, DeviceCheckCommand.self]),
        (
            "the service",
            [InitCommand.self, ServeCommand.self, RampCommand.self, SimulateCommand.self, DemoCommand.self]
        ),
        (
            "operators",
            [TokensCommand.self, KeysCommand.self, SecretsCommand.self, AuditCommand.self, StoreCommand.self]
        ),
        ("help", [ExplainCodeCommand.self, CompletionsCommand.self]),
    ]
}

struct ATSCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ats",
        abstract: "Will an app load from this server? App Transport Security, decided, diagnosed and enforced.",
        subcommands: [
            ExplainCommand.self, CheckCommand.self, LintCommand.self, MinimizeCommand.self, FetchCommand.self,
            ProxyCommand.self, CertificateCommand.self, PinsCommand.self, LogCommand.self, CompareCommand.self,
            MergeCommand.self,
            HistoryCommand.self, ExporterCommand.self,
            RulesCommand.self, SystemsCommand.self,
        ]
    )
}

struct AttestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attest",
        abstract: "Is this request from our real app? Attestations and assertions, inspected and verified.",
        subcommands: [
            InspectAttestationCommand.self, VerifyAttestationCommand.self, VerifyAssertionCommand.self,
        ]
    )
}

struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Apple's side and a fleet of devices over HTTP, and every object that a verifier must judge.",
        subcommands: [
            SimulateAppleCommand.self, SimulateFleetCommand.self, SimulateFaultsCommand.self,
            SimulateVerifierTestsCommand.self,
        ]
    )
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

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

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import ArgumentParser
import Findings
import Foundation
import StrictJSON

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "What an app's dictionary says for each URL. No network.",
        discussion: """
            Example:
              sealward ats explain http://example.com/ https://192.168.1.10/ --os ios17

            Without --info-plist or --ats-json the default dictionary {} is explained. Exit status: 0 nothing is blocked, 1 a URL is
            blocked, 2 an input cannot be read, 64 usage.
            """
    )

    @Argument(help: "URLs as the app loads them.")
    var urls: [String] = []

    @OptionGroup var dictionary: DictionaryOptions

    @Option(
        help: ArgumentHelp(
            "Which API loads: urlsession, web, media, low-level, dotnet-managed, dotnet-cfnetwork, dotnet-nsurlsession.",
            valueName: "ID"))
    var loader: Loader = .urlsession

    @Option(help: ArgumentHelp("Output format: text or json.", valueName: "FORMAT"))
    var format: TextOrJSON = .text

    @OptionGroup var shared: SharedOptions

    func validate() throws {
        if urls.isEmpty {
            throw ValidationError("Name at least one URL, for example: sealward ats explain https://example.com/")
        }
    }

    func run() async throws {
        try await CommandIO.run {
            let parsed = try urls.map { text in
                do {
                    return try LoadURL(text)
                } catch let malformed as MalformedInput {
                    throw ValidationError("\(malformed.description).")
                }
            }
            let policy = try dictionary.policyOfAnySystem()
            let nearMisses = NearMisses(policy)
            let decisions = parsed.map { nearMisses.explaining(policy.decide($0, loader: loader)) }
            switch format {
            case .json:
                try CommandIO.write(ExplainReport.json(decisions, policy).rendered() + "\n", to: shared.output)
            case .text:
                let color = CommandIO.mayColor(disabled: shared.noColor || shared.output != nil)
                try CommandIO.write(
                    ExplainReport.text(decisions, policy, loader, color: color).fitted, to: shared.output)
            }
            return decisions.contains { $0.verdict == .blocked } ? .findings : .clean
        }
    }
}

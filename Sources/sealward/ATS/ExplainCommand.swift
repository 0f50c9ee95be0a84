// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import Formats
import FoundationEssentials
import Vocabulary

struct ExplainCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "What an app's dictionary says for each URL. No network.",
        discussion: """
            Example:
              sealward ats explain http://example.com/ https://192.168.1.10/ --os ios17

            Without --info-plist or --ats-json the default dictionary {} is explained. Exit status: 0 nothing is blocked, 1 a URL is \
            blocked, 2 an input cannot be read or a URL is none that ATS decides about, 64 usage.
            """
    )

    @Argument(help: "URLs as the app loads them.")
    var urls: [String] = []

    @OptionGroup var dictionary: DictionaryOptions

    @Option(
        help: .value(
            "Which API loads: urlsession, web, media, low-level, dotnet-managed, dotnet-cfnetwork, dotnet-nsurlsession.",
            "ID"))
    var loader: Loader = .urlsession

    @Flag(help: "Print everything: console lines, all notes, and what differs on the default system.")
    var verbose = false

    @OptionGroup var form: ResultForm

    func validate() throws {
        if urls.isEmpty {
            throw ValidationError("Name at least one URL, for example: sealward ats explain https://example.com/")
        }
    }

    func result() async throws -> CommandResult {
        let parsed = urls.map { text in Result { () throws(MalformedInput) in try LoadURL(text) } }
        // A URL that cannot be judged is reported among others; alone it is wrong usage.
        if parsed.count == 1, let only = parsed.first {
            _ = try CommandIO.argument { () throws(MalformedInput) in try only.get() }
        }
        let policy = try dictionary.policy(ofAnySystem: true)
        let nearMisses = NearMisses(policy)
        let rows = zip(urls, parsed).map { text, url in
            (text: text, decision: url.map { nearMisses.explaining(policy.decide($0, loader: loader)) })
        }
        let color = form.shared.showsColors
        // What the sources contradict each other about is not known.
        let verdicts = rows.map { row in
            (try? row.decision.get()).flatMap { $0.disputedSources.isEmpty ? $0.verdict : nil }
        }
        return CommandResult(
            ExplainReport.json(rows, policy),
            text: ExplainReport.text(
                rows, policy, loader, color: color, isVerbose: verbose, columns: CommandIO.columns),
            Outcome(fails: verdicts.contains(.blocked), isUndetermined: verdicts.contains(nil)))
    }
}

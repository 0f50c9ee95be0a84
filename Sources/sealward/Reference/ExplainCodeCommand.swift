// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import ArgumentParser
import Findings
import StrictJSON

struct ExplainCodeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "What a code means, and who must do what about it.",
        discussion: """
            Example:
              sealward explain ats.tls.version-too-low

            CODE is a code of any command or answer, for example token.spent, or the id of a lint rule.

            Exit status: 0 done, 64 usage and unknown codes.
            """
    )

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json, markdown }

    @Argument(help: ArgumentHelp("A code or a rule. Without it all codes are listed.", valueName: "CODE"))
    var code: String?

    @Option(help: ArgumentHelp("Output format: text, json or markdown (all codes as a page).", valueName: "FORMAT"))
    var format: Format = .text

    @OptionGroup var shared: SharedOptions

    func validate() throws {
        guard let code, CodeCatalog.explanation(of: code) == nil, RuleCatalog.rule(code) == nil else { return }
        let hint =
            CodeCatalog.suggestion(for: code).map { "Did you mean '\($0)'?" } ?? "'sealward explain' lists them all."
        throw ValidationError("There is no code '\(code.terminalSafe(limit: 80))'. \(hint)")
    }

    func run() async throws {
        try await CommandIO.run {
            let one = code.flatMap(CodeCatalog.explanation)
            let rule = code.flatMap(RuleCatalog.rule)
            let text =
                switch format {
                case .text: (rule.map(RuleBook.text) ?? one.map(CodeCatalog.text) ?? CodeCatalog.list()).fitted
                case .json:
                    (rule.map { RuleBook.json([$0]) } ?? CodeCatalog.json(one.map { [$0] } ?? CodeCatalog.all))
                        .rendered()
                        + "\n"
                case .markdown: CodeCatalog.markdown()
                }
            try CommandIO.write(text, to: shared.output)
            return .clean
        }
    }
}

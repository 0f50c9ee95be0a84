// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import ArgumentParser
import Formats
import Vocabulary

struct RulesCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules",
        abstract: "List the lint rules, each with reason, example and citation.",
        discussion: """
            Example:
              sealward ats rules ATS011
            """
    )

    @Argument(help: .value("A rule, for example ATS011. Without it all are listed.", "ID"))
    var id: String?

    @Option(help: .value("Output format: text, json or markdown (all rules as a page).", "FORMAT"))
    var format: TextJSONOrPage = .text

    @OptionGroup var shared: SharedOptions

    func validate() throws {
        if let id, RuleCatalog.rule(id) == nil {
            throw ValidationError(
                "There is no rule '\(id)'. The rules are ATS001 to \(RuleCatalog.all.last?.id ?? ""); 'sealward ats rules' lists them."
            )
        }
    }

    func outcome() async throws -> Outcome {
        let rule = id.flatMap(RuleCatalog.rule)
        try format.write(
            RuleBook.json(rule.map { [$0] } ?? RuleCatalog.all), text: rule.map(RuleBook.text) ?? RuleBook.list(),
            page: { RuleBook.markdown() }, to: shared)
        return .clean
    }
}

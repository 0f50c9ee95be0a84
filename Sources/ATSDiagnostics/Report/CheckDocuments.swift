// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Formats
import PropertyLists
import TLSModel
import Vocabulary

/// Check reports as documents for other programs and for people: JUnit XML and Markdown.
package enum CheckDocuments {
    package static let junitHead =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"sealward ats check\">\n"
    package static let junitTail = "</testsuites>\n"

    /// One suite a target, one case a configuration; only the decisive one can fail the build, the others are diagnosis. With several systems the
    /// decisive one of each is a case.
    package static func junit(_ report: TargetReport) -> String {
        var cases = ""
        /// The results that decide.
        var decided: [ConfigurationResult.Result] = []
        for row in report.systems.isEmpty ? report.results : [] {
            let name = "\(row.configuration.section): \(row.configuration.name)"
            if row.configuration == report.decisive?.configuration {
                decided.append(row.result)
                cases += testCase(report, name, row.result, row.because)
            } else {
                let diagnosis = row.result == .pass ? "" : "\(row.result.rawValue) \(lines(row.because))"
                cases += testCase(report, name, "system-out", diagnosis)
            }
        }
        for system in report.systems {
            decided.append(system.decisive?.result ?? .undetermined)
            cases += testCase(
                report, system.profile.shownName, system.decisive?.result ?? .undetermined,
                system.decisive?.because ?? [])
        }
        let count = report.systems.isEmpty ? report.results.count : report.systems.count
        return
            "  <testsuite name=\"\(Markup.attribute(report.target))\" tests=\"\(count)\" failures=\"\(decided.count { $0 == .fail })\" "
            + "errors=\"\(decided.count { $0 == .undetermined })\" time=\"\(Double(report.elapsed.milliseconds) / 1000)\">\n"
            + cases + "  </testsuite>\n"
    }

    /// The case of a result that decides, with the warnings of its target.
    private static func testCase(
        _ report: TargetReport, _ name: String, _ result: ConfigurationResult.Result, _ because: [Cause]
    ) -> String {
        let message = Markup.attribute(because.first?.code.rawValue ?? result.rawValue)
        let element =
            switch result {
            case .pass: "system-out"
            case .fail: "failure message=\"\(message)\""
            case .undetermined: "error message=\"\(message)\""
            }
        return testCase(report, name, element, lines(because + report.warnings))
    }

    private static func testCase(_ report: TargetReport, _ name: String, _ element: String, _ text: String) -> String {
        let head = "    <testcase classname=\"\(Markup.attribute(report.host))\" name=\"\(Markup.attribute(name))\""
        if text.isEmpty, element == "system-out" { return head + "/>\n" }
        let end = element.prefix { $0 != " " }
        return head + ">\n      <\(element)>\(Markup.text(text))</\(end)>\n    </testcase>\n"
    }

    private static func lines(_ causes: [Cause]) -> String {
        causes.map { "\($0.code): \($0.message)" }.joined(separator: "\n")
    }

    package static func markdownHead(os: String) -> String { "# App Transport Security check on \(os)\n" }

    package static func markdown(_ report: TargetReport) -> String {
        if !report.systems.isEmpty { return markdown(systemsOf: report) }
        let result = report.decisive?.result.rawValue ?? "UNDETERMINED"
        var text = "\n## \(result) \(Markdown.code(report.target))\n\n"
        text += (report.decisive?.because ?? []).map(item).joined()
        let advice = report.advice.first
        for fix in advice?.fixes ?? [] { text += "- fix: \(Markdown.text(fix))\n" }
        text += report.warnings.map(item).joined()
        let isOfDefaults = advice?.proposal.map { $0.kind == .edit && $0.before.isEmpty && $0.doubt == nil } ?? true
        if let exception = report.smallestException.dictionary, isOfDefaults {
            let json = exception.propertyListValue.json.rendered(pretty: false)
            text += "- smallest exception: \(Markdown.code(json))\n"
        } else if let alternative = advice?.alternative {
            text += "- or: \(Markdown.text(alternative))\n"
        }
        if let facts = report.facts {
            text += "- negotiated: \(facts.handshake.version), \(facts.handshake.suite)\n"
        }
        text += "\n| configuration | result | because |\n|---|---|---|\n"
        for row in report.results {
            let reasons = row.because.map { Markdown.code($0.code.rawValue) }.joined(separator: " ")
            text += "| \(Markdown.text(row.configuration.name)) | \(row.result.rawValue) | \(reasons) |\n"
        }
        return text
    }

    private static func markdown(systemsOf report: TargetReport) -> String {
        var text = "\n## \(TargetSummary.verdict(report).rawValue) \(Markdown.code(report.target))\n\n"
        text += report.warnings.map(item).joined() + "\n| system | result | because |\n|---|---|---|\n"
        for system in report.systems {
            let result = (system.decisive?.result ?? .undetermined).rawValue
            let because = (system.decisive?.because ?? []).map(sentence).joined(separator: " ")
            text += "| \(Markdown.text(system.profile.shownName)) | \(result) | \(because) |\n"
        }
        for advice in report.advice {
            text += "\n\(Markdown.text(advice.systems.map(\.shownName).joined(separator: ", "))):\n\n"
            for line in advice.fixes + (advice.alternative.map { ["or: \($0)"] } ?? []) {
                text += "- \(Markdown.text(line))\n"
            }
        }
        return text
    }

    private static func item(_ cause: Cause) -> String { "- \(sentence(cause))\n" }

    private static func sentence(_ cause: Cause) -> String {
        "\(Markdown.code(cause.code.rawValue)): \(Markdown.text(cause.message))"
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import Formats
import PropertyLists
import Reporting
import TLSModel
import Vocabulary

/// Check reports as documents for other programs and for people: JUnit XML, Markdown, and one self-contained HTML page.
enum CheckDocuments {
    static let junitHead = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"sealward ats check\">\n"
    static let junitTail = "</testsuites>\n"

    /// One suite a target, one case a configuration; only the decisive one can fail the build, the others are diagnosis. With several systems the
    /// decisive one of each is a case.
    static func junit(_ report: TargetReport) -> String {
        if !report.systems.isEmpty { return junit(systemsOf: report) }
        let decisive = report.decisive?.configuration
        let failures = report.decisive?.result == .fail ? 1 : 0
        let errors = report.decisive?.result == .undetermined ? 1 : 0
        var text =
            "  <testsuite name=\"\(Markup.attribute(report.target))\" tests=\"\(report.results.count)\" failures=\"\(failures)\" "
        text += "errors=\"\(errors)\" time=\"\(Double(report.elapsed.milliseconds) / 1000)\">\n"
        for result in report.results {
            let name = "\(result.configuration.section): \(result.configuration.name)"
            text += "    <testcase classname=\"\(Markup.attribute(report.host))\" name=\"\(Markup.attribute(name))\""
            let shown = result.because + (result.configuration == decisive ? report.warnings : [])
            let reasons = shown.map { "\($0.code): \($0.message)" }.joined(separator: "\n")
            let first = result.because.first?.code.rawValue ?? result.result.rawValue
            if result.result == .pass, result.configuration == decisive, !report.warnings.isEmpty {
                let warnings = report.warnings.map { "\($0.code): \($0.message)" }.joined(separator: "\n")
                text += ">\n      <system-out>\(Markup.text(warnings))</system-out>\n    </testcase>\n"
            } else if result.result == .pass {
                text += "/>\n"
            } else if result.configuration == decisive {
                let element = result.result == .fail ? "failure" : "error"
                text +=
                    ">\n      <\(element) message=\"\(Markup.attribute(first))\">\(Markup.text(reasons))</\(element)>\n    </testcase>\n"
            } else {
                text +=
                    ">\n      <system-out>\(Markup.text("\(result.result.rawValue) \(reasons)"))</system-out>\n    </testcase>\n"
            }
        }
        return text + "  </testsuite>\n"
    }

    private static func junit(systemsOf report: TargetReport) -> String {
        let results = report.systems.map { $0.decisive?.result ?? .undetermined }
        var text =
            "  <testsuite name=\"\(Markup.attribute(report.target))\" tests=\"\(results.count)\" failures=\"\(results.count { $0 == .fail })\" "
        text +=
            "errors=\"\(results.count { $0 == .undetermined })\" time=\"\(Double(report.elapsed.milliseconds) / 1000)\">\n"
        for (system, result) in zip(report.systems, results) {
            text +=
                "    <testcase classname=\"\(Markup.attribute(report.host))\" name=\"\(Markup.attribute(system.profile.shownName))\""
            let because = system.decisive?.because ?? []
            let shown = (because + report.warnings).map { "\($0.code): \($0.message)" }.joined(separator: "\n")
            let element = result == .pass ? "system-out" : result == .fail ? "failure" : "error"
            let message =
                result == .pass
                ? "" : " message=\"\(Markup.attribute(because.first?.code.rawValue ?? result.rawValue))\""
            text +=
                shown.isEmpty && result == .pass
                ? "/>\n" : ">\n      <\(element)\(message)>\(Markup.text(shown))</\(element)>\n    </testcase>\n"
        }
        return text + "  </testsuite>\n"
    }

    static func markdownHead(os: String) -> String { "# App Transport Security check on \(os)\n" }

    static func markdown(_ report: TargetReport) -> String {
        if !report.systems.isEmpty { return markdown(systemsOf: report) }
        let result = report.decisive?.result.rawValue ?? "UNDETERMINED"
        var text = "\n## \(result) \(Markdown.code(report.target))\n\n"
        for cause in report.decisive?.because ?? [] {
            text += "- \(Markdown.code(cause.code.rawValue)): \(Markdown.text(cause.message))\n"
        }
        for warning in report.warnings {
            text += "- \(Markdown.code(warning.code.rawValue)): \(Markdown.text(warning.message))\n"
        }
        text +=
            "- smallest exception: \(Markdown.code(report.smallestException.dictionary?.propertyListValue.json.rendered(pretty: false) ?? "none helps"))\n"
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
        for warning in report.warnings {
            text += "- \(Markdown.code(warning.code.rawValue)): \(Markdown.text(warning.message))\n"
        }
        text += "\n| system | result | because |\n|---|---|---|\n"
        for system in report.systems {
            let because = (system.decisive?.because ?? []).map {
                "\(Markdown.code($0.code.rawValue)): \(Markdown.text($0.message))"
            }
            text +=
                "| \(Markdown.text(system.profile.shownName)) | \((system.decisive?.result ?? .undetermined).rawValue) | \(because.joined(separator: " ")) |\n"
        }
        return text
    }
}

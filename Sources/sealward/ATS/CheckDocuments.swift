// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import Formats
import FoundationEssentials
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

    static func markdownHead(os: String) -> String { "# App Transport Security check on \(os)\n" }

    static func markdown(_ report: TargetReport) -> String {
        if !report.systems.isEmpty { return markdown(systemsOf: report) }
        let result = report.decisive?.result.rawValue ?? "UNDETERMINED"
        var text = "\n## \(result) \(Markdown.code(report.target))\n\n"
        text += (report.decisive?.because ?? []).map(item).joined() + report.warnings.map(item).joined()
        let exception = report.smallestException.dictionary?.propertyListValue.json.rendered(pretty: false)
        text += "- smallest exception: \(Markdown.code(exception ?? "none helps"))\n"
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
        return text
    }

    private static func item(_ cause: Cause) -> String { "- \(sentence(cause))\n" }

    private static func sentence(_ cause: Cause) -> String {
        "\(Markdown.code(cause.code.rawValue)): \(Markdown.text(cause.message))"
    }
}

extension CheckDocuments {
    /// What the page shows of one target.
    static func page(_ report: TargetReport, on profile: OSProfile) -> DiagnosisPage.Target {
        var target = DiagnosisPage.Target(name: report.target)
        target.verdicts = verdicts(report, on: profile)
        target.configurations = report.results.map { row in
            (
                row.configuration.section, row.configuration.name, result(row), report.isLeastPassing(row),
                propertyList(row.configuration.dictionary)
            )
        }
        let causes = report.decisive?.because ?? []
        target.causes = causes.map { ($0, Remediation(for: $0)?.server) }
        target.notes = report.warnings.map { ($0, nil) }
        target.certificates = certificates(report)
        if let exception = report.smallestException.dictionary {
            let present =
                report.results.last { $0.configuration.isAppDictionary }?.configuration.dictionary ?? ATSDictionary()
            target.before = propertyList(present)
            target.after = propertyList(report.editedDictionary ?? exception)
        }
        target.noExceptionHelps = report.smallestException.dictionary == nil && report.decisive?.result == .fail
        target.serverConfiguration = NginxSnippet.text(for: causes, host: report.host, port: report.port)
        return target
    }

    /// The verdict on each system that was asked for.
    private static func verdicts(_ report: TargetReport, on profile: OSProfile) -> [DiagnosisPage.Verdict] {
        let all =
            report.systems.isEmpty
            ? [(profile, report.decisive)] : report.systems.map { ($0.profile, $0.decisive) }
        return all.map { ($0.shownName, result($1)) }
    }

    private static func result(_ row: ConfigurationResult?) -> DiagnosisPage.Result {
        row.flatMap { DiagnosisPage.Result(rawValue: $0.result.rawValue) } ?? .undetermined
    }

    private static func certificates(_ report: TargetReport) -> [DiagnosisPage.Certificate] {
        guard let chain = report.facts?.chain else { return [] }
        let root = chain.anchor.map { [($0.certificate, " (\($0.kind.rawValue) root)")] } ?? []
        return (chain.judged.map { ($0, "") } + root).map { certificate, suffix in
            (certificate.subject + suffix, seconds(certificate.notBefore), seconds(certificate.notAfter))
        }
    }

    /// Seconds since 1970; a date of a hostile certificate may be far out.
    static func seconds(_ date: Date) -> Int {
        let value = date.timeIntervalSince1970
        return value.isFinite ? Int(min(max(value, -1e12), 1e12)) : 0
    }

    /// The NSAppTransportSecurity dictionary in XML.
    private static func propertyList(_ dictionary: ATSDictionary) -> String {
        (["<key>NSAppTransportSecurity</key>"] + dictionary.propertyListValue.xmlLines(indentation: "    ")).joined(
            separator: "\n")
    }
}

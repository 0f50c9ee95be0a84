// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import FoundationEssentials
import PropertyLists
import Reporting
import TLSModel
import Vocabulary

extension CheckDocuments {
    /// What the page shows of one target.
    static func page(_ report: TargetReport, on profile: OSProfile) -> DiagnosisPage.Target {
        var target = DiagnosisPage.Target(name: report.target)
        target.verdicts = verdicts(report, on: profile)
        target.configurations = report.results.map { row in
            DiagnosisPage.Configuration(
                section: row.configuration.section, name: row.configuration.name,
                result: result(row),
                isSmallest: report.isLeastPassing(row), dictionary: propertyList(row.configuration.dictionary))
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

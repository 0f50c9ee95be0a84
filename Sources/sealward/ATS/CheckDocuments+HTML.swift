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
    static func page(_ report: TargetReport, on profile: OSProfile, at instant: Date) -> DiagnosisPage.Target {
        var target = DiagnosisPage.Target(name: report.target)
        target.verdicts = verdicts(report, on: profile, at: instant)
        target.configurations = report.results.map { row in
            DiagnosisPage.Configuration(
                section: row.configuration.section, name: row.configuration.name,
                result: DiagnosisPage.Result(rawValue: row.result.rawValue) ?? .undetermined,
                isSmallest: report.isLeastPassing(row), dictionary: propertyList(row.configuration.dictionary))
        }
        let causes = report.decisive?.because ?? []
        target.causes = causes.map { .init($0, fix: Remediation(for: $0)?.server) }
        target.notes = report.warnings.map { .init($0) }
        target.certificates = certificates(report)
        if let exception = report.smallestException.dictionary {
            let present =
                report.results.last { $0.configuration.isAppDictionary }?.configuration.dictionary ?? ATSDictionary()
            target.before = propertyList(present)
            target.after = propertyList(exception)
        }
        target.noExceptionHelps = report.smallestException.dictionary == nil && report.decisive?.result == .fail
        target.serverConfiguration = NginxSnippet.text(for: causes, host: report.host, port: report.port)
        return target
    }

    /// The verdict on each system that was asked for; if it was one, also on others where the same connection tells it.
    ///
    /// One connection speaks for another system where that one could have made it too: the facts are of the default configuration,
    /// version, group and signature scheme are ones that the system offers, and the judge agrees with what was measured.
    private static func verdicts(
        _ report: TargetReport, on profile: OSProfile, at instant: Date
    ) -> [DiagnosisPage
        .Verdict]
    {
        if !report.systems.isEmpty {
            return report.systems.map {
                let result = $0.decisive?.result ?? .undetermined
                return .init(system: $0.profile.shownName, result: .init(rawValue: result.rawValue) ?? .undetermined)
            }
        }
        guard let decisive = report.decisive else { return [] }
        let result = DiagnosisPage.Result(rawValue: decisive.result.rawValue) ?? .undetermined
        let own = DiagnosisPage.Verdict(system: profile.shownName, result: result)
        guard let facts = report.facts, report.hello.kind == .default, let url = try? LoadURL(report.target),
            passes(decisive, url, profile, facts, instant) == (result == .pass)
        else { return [own] }
        var all: [DiagnosisPage.Verdict] = []
        for id in stripSystems where id != profile.id {
            guard let other = OSProfile.named(id), facts.handshake.version <= other.maximumVersion,
                facts.handshake.group.map(other.groups.contains) != false,
                facts.handshake.signatureScheme.map(other.signatureSchemes.contains) != false
            else { continue }
            all.append(.init(system: other.name, result: passes(decisive, url, other, facts, instant) ? .pass : .fail))
        }
        return all + [own]
    }

    private static let stripSystems = ["ios9", "ios13", "ios17", "ios26", "macos15", "macos26"]

    private static func passes(
        _ row: ConfigurationResult, _ url: LoadURL, _ profile: OSProfile, _ facts: ConnectionFacts, _ instant: Date
    ) -> Bool {
        let policy = ATSPolicy(dictionary: row.configuration.dictionary, profile: profile)
        return evaluate(policy.decide(url).requirements, facts, host: url.host, at: instant).passed
    }

    private static func certificates(_ report: TargetReport) -> [DiagnosisPage.Certificate] {
        guard let chain = report.facts?.chain else { return [] }
        let root = chain.anchor.map { [($0.certificate, " (\($0.kind.rawValue) root)")] } ?? []
        return (chain.judged.map { ($0, "") } + root).map { certificate, suffix in
            DiagnosisPage.Certificate(
                name: certificate.subject + suffix, notBefore: seconds(certificate.notBefore),
                notAfter: seconds(certificate.notAfter))
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

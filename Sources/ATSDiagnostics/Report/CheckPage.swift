// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
package import Formats
package import FoundationEssentials
import PropertyLists
import TLSModel
import Vocabulary

/// The page of `ats check`: what each server does, why, and what fixes it. Every text is escaped.
package struct CheckPage {
    /// What the page has of one server: nothing else of its report is kept, for there may be many.
    package struct Target: Sendable {
        fileprivate let name: String
        /// The verdict on each system that was asked for.
        fileprivate let verdicts: [(system: String, result: ConfigurationResult.Result)]
        fileprivate let leaf: CertificateFacts?
        fileprivate let markup: HTML
        /// What changed since the run before, if there is a history.
        package var changes: [HistoryPage.Change] = []

        package init(_ report: TargetReport, on profile: OSProfile) {
            name = report.target
            let systems = report.systems.map { ($0.profile, $0.decisive) }
            verdicts = (systems.isEmpty ? [(profile, report.decisive)] : systems).map { profile, decisive in
                (profile.shownName, decisive?.result ?? .undetermined)
            }
            leaf = report.facts?.chain.judged.first
            markup = CheckPage.markup(report)
        }
    }

    private let version: String
    private let targets: [Target]
    private let instant: Date

    package init(version: String, targets: [Target], at instant: Date) {
        self.version = version
        self.targets = targets
        self.instant = instant
    }

    package func html() -> String {
        let failing = targets.count { $0.verdicts.contains { $0.result == .fail } }
        var page = HTMLPage(
            title: "App Transport Security check",
            lead:
                "\(targets.count) target\(targets.count == 1 ? "" : "s"), \(failing) failing, judged on \(CivilDate.text(of: instant))."
        )
        if !targets.isEmpty { page.section("Hosts by system", strip()) }
        if targets.contains(where: { !$0.changes.isEmpty }) { page.section("Since the previous run", changes()) }
        let leaves = targets.compactMap { target in target.leaf.map { ($0, target.name) } }
        if targets.count > 1, !leaves.isEmpty {
            page.section(
                "Certificates by expiry",
                CheckPage.timeline(leaves.sorted { $0.0.notAfter < $1.0.notAfter }, at: instant))
        }
        for target in targets { page.section(target.name, target.markup) }
        return page.rendered(footer: "sealward \(version)")
    }

    private static func tag(_ result: ConfigurationResult.Result) -> HTML {
        "<span class=\"tag \(result.rawValue.lowercased())\">\(result.rawValue)</span>"
    }

    private func strip() -> HTML {
        var systems: [String] = []
        for verdict in targets.flatMap(\.verdicts) where !systems.contains(verdict.system) {
            systems.append(verdict.system)
        }
        let rows = targets.map { target -> HTML in
            let cells = systems.map { system -> HTML in
                "<td>\(target.verdicts.first { $0.system == system }.map { CheckPage.tag($0.result) } ?? "–")</td>"
            }
            return "<tr><th scope=\"row\"><code>\(target.name)</code></th>\(cells)</tr>\n"
        }
        return """
            <div class="wide" tabindex="0" role="region" aria-label="Hosts by system"><table class="strip"><thead><tr><th>host</th>\
            \(systems.map { "<th>\($0)</th>" as HTML })</tr></thead><tbody>
            \(rows)</tbody></table></div>

            """
    }

    private static func markup(_ report: TargetReport) -> HTML {
        let advice = report.advice
        var result = HTML()
        for part in advice where !part.because.isEmpty {
            result +=
                "<h3>Why\(place(of: part))</h3>\n\(part.because.map { pair($0, fix: Remediation(for: $0)?.server) })"
        }
        if !report.warnings.isEmpty { result += "<h3>Notes</h3>\n\(report.warnings.map { pair($0, fix: nil) })" }
        if !report.results.isEmpty {
            let passing = report.results.count { $0.result == .pass }
            result +=
                "<details><summary>Configurations: \(passing) of \(report.results.count) pass</summary>\n\(grid(report))</details>\n"
        }
        if let chain = report.facts?.chain {
            let root = chain.anchor.map { [($0.certificate, "\($0.certificate.subject) (\($0.kind.rawValue) root)")] }
            let rows = chain.judged.map { ($0, $0.subject) } + (root ?? [])
            if !rows.isEmpty { result += "<h3>Certificates</h3>\n\(timeline(rows, at: report.instant))" }
        }
        result += "\(advice.map(proposal))"
        if let configuration = NginxSnippet.text(for: advice.flatMap(\.because), host: report.host, port: report.port) {
            result += "<h3>Or fix the server (nginx)</h3>\n<pre tabindex=\"0\">\(block: configuration)</pre>\n"
        }
        return result
    }

    /// The systems that a part is about, where there are several.
    private static func place(of advice: TargetAdvice) -> String {
        advice.systems.isEmpty ? "" : " on \(advice.systems.map(\.shownName).joined(separator: ", "))"
    }

    /// What would change the dictionary for the better.
    private static func proposal(_ advice: TargetAdvice) -> HTML {
        guard let alternative = advice.alternative else { return HTML() }
        let place = place(of: advice)
        guard let proposal = advice.proposal else {
            return "<h3>The Info.plist\(place)</h3>\n<p>\(alternative)</p>\n"
        }
        let lines = LineDifference.lines(from: propertyList(proposal.before), to: propertyList(proposal.after))
        let marked = lines.map { line -> HTML in
            "<span class=\"\(line.kind.rawValue)\">\(line.kind.sign) \(block: line.text)</span>"
        }
        let title: HTML = "The smallest change to the Info.plist\(place)"
        let change: HTML =
            lines.contains { $0.kind != .same } ? "<h3>\(title)</h3>\n<pre tabindex=\"0\">\(marked)</pre>\n" : ""
        guard proposal.kind == .withDelegate || proposal.doubt != nil else { return change }
        return "\(change)<p>\(alternative)</p>\n"
    }

    /// A cause at the left, what fixes it at the right.
    private static func pair(_ cause: Cause, fix: String?) -> HTML {
        let source = cause.citation.map { " <span class=\"path\">(\($0.source))</span>" as HTML } ?? ""
        let fix = fix.map { "<span class=\"dim\">Fix:</span> \($0)" as HTML } ?? ""
        return """
            <div class="pair"><p><code>\(cause.code.rawValue)</code> \(cause.message)\(source)</p><p>\(fix)</p></div>

            """
    }

    /// The NSAppTransportSecurity dictionary in XML.
    private static func propertyList(_ dictionary: ATSDictionary) -> String {
        (["<key>NSAppTransportSecurity</key>"] + dictionary.propertyListValue.xmlLines(indentation: "    ")).joined(
            separator: "\n")
    }

    private func changes() -> HTML {
        HistoryPage.table(targets.flatMap { target in target.changes.map { (target.name, $0) } }, first: "target")
    }

    private static func grid(_ report: TargetReport) -> HTML {
        var rows = HTML()
        var section = ""
        for row in report.results {
            if row.configuration.section != section {
                section = row.configuration.section
                rows += "<tr><td colspan=\"3\" class=\"path\">\(section)</td></tr>\n"
            }
            let isLeast = report.isLeastPassing(row)
            rows += """
                <tr\(isLeast ? " class=\"smallest\"" as HTML : "")><td>\(row.configuration.name)\
                <details><summary class="path">dictionary</summary>\
                <pre tabindex="0">\(block: propertyList(row.configuration.dictionary))</pre></details>\
                </td><td>\(tag(row.result))</td><td>\(isLeast ? "smallest that works" : "")</td></tr>

                """
        }
        return .table(["configuration", "result", "note"], rows)
    }

    /// Who renews by hand should begin thirty days before.
    private static let soon = 30 * 86_400.0

    /// - Parameter rows: certificates with what they are called.
    private static func timeline(_ rows: [(certificate: CertificateFacts, name: String)], at now: Date) -> HTML {
        let first = min(rows.map(\.certificate.notBefore).min() ?? now, now)
        let length = max(rows.map(\.certificate.notAfter).max() ?? now, now).timeIntervalSince(first)
        /// In hundredths; the dates of a hostile certificate may be far out.
        func percent(_ moment: Date) -> String {
            let share = length > 0 ? moment.timeIntervalSince(first) / length : 0
            let hundredths = Int((min(1, max(0, share)) * 10_000).rounded())
            return "\(hundredths / 100).\(hundredths % 100 / 10)\(hundredths % 10)"
        }
        var body = HTML()
        for (certificate, name) in rows {
            let isOut = now < certificate.notBefore || now > certificate.notAfter
            let isSoon = !isOut && certificate.notAfter < now + soon
            let state: HTML = isOut ? " class=\"out\"" : isSoon ? " class=\"soon\"" : ""
            let tag: HTML =
                isOut
                ? " <span class=\"tag fail\">outside</span>" : isSoon ? " <span class=\"tag warning\">soon</span>" : ""
            body += """
                <tr><td>\(name)</td><td class="day" data-of="from">\(CivilDate.text(of: certificate.notBefore))</td>\
                <td class="day" data-of="to">\(CivilDate.text(of: certificate.notAfter))\(tag)</td>\
                <td><div class="span"><i\(state) style="left:\(percent(certificate.notBefore))%;\
                right:calc(100% - \(percent(certificate.notAfter))%)"></i><b style="left:\(percent(now))%"></b></div></td></tr>

                """
        }
        return .table(["certificate", "from", "to", "validity"], body)
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// The page of `ats check`: what each server does, why, and what fixes it.
///
/// Fill it with plain values; nothing is judged here. Every text is escaped.
///
///     var target = DiagnosisPage.Target(name: "https://api.example.com/")
///     target.verdicts = [("macOS 26", .fail)]
///     let html = DiagnosisPage(version: "0.1.0", targets: [target]).html()
package struct DiagnosisPage: Sendable {
    package enum Result: String, Sendable {
        case pass = "PASS"
        case fail = "FAIL"
        case undetermined = "UNDETERMINED"
    }

    /// The verdict for one system, for the strip of hosts by systems.
    package typealias Verdict = (system: String, result: Result)

    /// One tested configuration: whether it is the smallest exception that works, and its dictionary as text, shown on demand.
    package typealias Configuration = (
        section: String, name: String, result: Result, isSmallest: Bool, dictionary: String?
    )

    /// A cause with what fixes it.
    package typealias Reason = (cause: Cause, fix: String?)

    /// One certificate of the chain; times in seconds since 1970.
    package typealias Certificate = (name: String, notBefore: Int, notAfter: Int)

    /// Everything about one server. Parts that stay empty are left out of the page.
    package struct Target: Sendable {
        package var name: String
        package var verdicts: [Verdict] = []
        package var configurations: [Configuration] = []
        /// First cause first.
        package var causes: [Reason] = []
        /// What is worth knowing and fails nothing.
        package var notes: [Reason] = []
        /// Leaf first.
        package var certificates: [Certificate] = []
        /// The plist before and after the smallest exception.
        package var before: String?
        package var after: String?
        /// Whether no exception of an Info.plist helps.
        package var noExceptionHelps = false
        /// What changed since the run before, if there is a history.
        package var changes: [HistoryPage.Change] = []
        /// A server configuration that fixes it.
        package var serverConfiguration: String?

        package init(name: String) { self.name = name }
    }

    package let version: String
    package let targets: [Target]
    /// The moment of judgement in seconds since 1970, for the timeline.
    package let judgedAt: Int?

    package init(version: String, targets: [Target], judgedAt: Int? = nil) {
        self.version = version
        self.targets = targets
        self.judgedAt = judgedAt
    }

    /// The page as text.
    package func html() -> String {
        let failing = targets.count { $0.verdicts.contains { $0.result == .fail } }
        let moment = judgedAt.map { ", judged on \(CivilDate.text($0))" } ?? ""
        var page = HTMLPage(
            title: "App Transport Security check",
            lead:
                "\(targets.count) target\(targets.count == 1 ? "" : "s"), \(failing) failing\(moment)."
        )
        if targets.contains(where: { !$0.verdicts.isEmpty }) { page.section("Hosts by system", strip()) }
        if targets.contains(where: { !$0.changes.isEmpty }) { page.section("Since the previous run", changes()) }
        if targets.count > 1, targets.contains(where: { !$0.certificates.isEmpty }) {
            page.section("Certificates by expiry", calendar())
        }
        for target in targets { page.section(target.name, markup(target)) }
        return page.rendered(footer: "sealward \(version)")
    }

    private func tag(_ result: Result) -> HTML {
        "<span class=\"tag \(result.rawValue.lowercased())\">\(result.rawValue)</span>"
    }

    private func strip() -> HTML {
        var systems: [String] = []
        for verdict in targets.flatMap(\.verdicts) where !systems.contains(verdict.system) {
            systems.append(verdict.system)
        }
        let rows = targets.map { target -> HTML in
            let cells = systems.map { system -> HTML in
                "<td>\(target.verdicts.first { $0.system == system }.map { tag($0.result) } ?? "–")</td>"
            }
            return "<tr><th scope=\"row\"><code>\(target.name)</code></th>\(cells)</tr>\n"
        }
        return """
            <div class="wide" tabindex="0" role="region" aria-label="Hosts by system"><table class="strip"><thead><tr><th>host</th>\
            \(systems.map { "<th>\($0)</th>" as HTML })</tr></thead><tbody>
            \(rows)</tbody></table></div>

            """
    }

    private func markup(_ target: Target) -> HTML {
        var result = HTML()
        if !target.causes.isEmpty { result += "<h3>Why</h3>\n\(target.causes.map(pair))" }
        if !target.notes.isEmpty { result += "<h3>Notes</h3>\n\(target.notes.map(pair))" }
        if !target.configurations.isEmpty { result += "<h3>Configurations</h3>\n\(grid(target.configurations))" }
        if !target.certificates.isEmpty {
            result += "<h3>Certificates</h3>\n\(timeline(target.certificates.map { ($0, $0.name) }))"
        }
        if let before = target.before, let after = target.after, before != after {
            let lines = LineDifference.lines(from: before, to: after).map { line -> HTML in
                "<span class=\"\(line.kind.rawValue)\">\(line.kind.sign) \(block: line.text)</span>"
            }
            result += "<h3>The smallest change to the Info.plist</h3>\n<pre tabindex=\"0\">\(lines)</pre>\n"
        }
        if target.noExceptionHelps { result += "<p>No exception in the Info.plist helps.</p>\n" }
        if let configuration = target.serverConfiguration {
            result += "<h3>Or fix the server (nginx)</h3>\n<pre tabindex=\"0\">\(block: configuration)</pre>\n"
        }
        return result
    }

    /// A cause at the left, what fixes it at the right.
    private func pair(_ reason: Reason) -> HTML {
        let cause = reason.cause
        let source = cause.citation.map { " <span class=\"path\">(\($0.source))</span>" as HTML } ?? ""
        let fix = reason.fix.map { "<span class=\"dim\">Fix:</span> \($0)" as HTML } ?? ""
        return """
            <div class="pair"><p><code>\(cause.code.rawValue)</code> \(cause.message)\(source)</p><p>\(fix)</p></div>

            """
    }

    private func changes() -> HTML {
        HistoryPage.table(targets.flatMap { target in target.changes.map { (target.name, $0) } }, first: "target")
    }

    /// Every leaf, the one that expires first on top.
    private func calendar() -> HTML {
        let leaves = targets.compactMap { target in target.certificates.first.map { ($0, target.name) } }
        return timeline(leaves.sorted { $0.0.notAfter < $1.0.notAfter })
    }

    private func grid(_ configurations: [Configuration]) -> HTML {
        var rows = HTML()
        var section = ""
        for row in configurations {
            if row.section != section {
                section = row.section
                rows += "<tr><td colspan=\"3\" class=\"path\">\(section)</td></tr>\n"
            }
            rows += "<tr\(row.isSmallest ? " class=\"smallest\"" as HTML : "")><td>\(row.name)"
            if let dictionary = row.dictionary {
                rows += """
                    <details><summary class="path">dictionary</summary><pre tabindex="0">\(block: dictionary)</pre></details>
                    """
            }
            rows += "</td><td>\(tag(row.result))</td><td>\(row.isSmallest ? "smallest that works" : "")</td></tr>\n"
        }
        return .table(["configuration", "result", "note"], rows)
    }

    /// Thirty days in seconds: who renews by hand should begin.
    private static let soon = 30 * 86_400

    /// - Parameter rows: certificates with what they are called.
    private func timeline(_ rows: [(certificate: Certificate, name: String)]) -> HTML {
        let certificates = rows.map(\.certificate)
        let now = judgedAt ?? certificates.map(\.notBefore).max() ?? 0
        let first = min(certificates.map(\.notBefore).min() ?? now, now)
        let last = max(certificates.map(\.notAfter).max() ?? now, now)
        func percent(_ moment: Int) -> String {
            // In hundredths of a percent, in Double so that absurd dates cannot overflow.
            let share = last > first ? (Double(moment) - Double(first)) / (Double(last) - Double(first)) : 0
            let hundredths = Int((min(1, max(0, share)) * 10_000).rounded())
            return "\(hundredths / 100).\(hundredths % 100 / 10)\(hundredths % 10)"
        }
        let marker: HTML = judgedAt == nil ? "" : "<b style=\"left:\(percent(now))%\"></b>"
        var body = HTML()
        for (certificate, name) in rows {
            let isOut = now < certificate.notBefore || now > certificate.notAfter
            let isSoon = !isOut && certificate.notAfter < now + DiagnosisPage.soon
            let state: HTML = isOut ? " class=\"out\"" : isSoon ? " class=\"soon\"" : ""
            let tag: HTML =
                isOut
                ? " <span class=\"tag fail\">outside</span>" : isSoon ? " <span class=\"tag warning\">soon</span>" : ""
            body += """
                <tr><td>\(name)</td><td class="day" data-of="from">\(CivilDate.text(certificate.notBefore))</td>\
                <td class="day" data-of="to">\(CivilDate.text(certificate.notAfter))\(tag)</td>\
                <td><div class="span"><i\(state) style="left:\(percent(certificate.notBefore))%;\
                right:calc(100% - \(percent(certificate.notAfter))%)"></i>\(marker)</div></td></tr>

                """
        }
        return .table(["certificate", "from", "to", "validity"], body)
    }
}

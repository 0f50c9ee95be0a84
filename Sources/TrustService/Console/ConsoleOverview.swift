// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import Reporting
import TrustStores
import TrustTokens
import Vocabulary

/// The overview as a page: plain facts in, markup out.
struct ConsoleOverview {
    let now: Date
    /// The apps that the visitor may see.
    let apps: [String]
    /// The one that is shown.
    let app: String?
    var node: ConsoleNodeFacts
    /// nil if there is no app, or the store does not answer.
    var facts: ConsoleAppFacts?

    func html() -> HTML {
        var tabs: HTML = ""
        if apps.count > 1 {
            let links: [HTML] = apps.map { id in
                let current: HTML = id == app ? " aria-current=\"page\"" : ""
                return "<a href=\"/console/?app=\(id.utf8.percentEncoded())\"\(current)>\(id)</a>"
            }
            tabs = "<nav class=\"tabs\" aria-label=\"Apps\">\(links)</nav>\n"
        }
        let mode: HTML = facts.map { "<span class=\"tag note\">\($0.settings.mode.rawValue)</span>" } ?? ""
        return """
            \(tabs)<div class="title"><h1>\(app ?? "No app") \(mode)</h1></div>
            <p id="fresh" class="dim">As of \(ConsoleText.instant(now)).</p>
            <div id="alerts">\(alerts())</div>
            \(facts.map(sections) ?? silent)<div class="cards">
            <section id="health"><h2>Store and clock</h2>\(health())</section>
            </div>

            """
    }

    private func sections(_ facts: ConsoleAppFacts) -> HTML {
        """
        <div id="tiles" class="tiles">\(tiles(facts))</div>
        <div class="cards">
        <section id="activity" class="whole"><h2>Last 24 hours, all nodes</h2><div class="charts">\
        \(chart("attestations", "Attestations", EventKind.attested, "accent", facts))\(chart("refused", "Refused", EventKind.refused, "bad", facts))</div></section>
        <section id="refusals"><h2>Refusals by code</h2>\(refusals(facts))</section>
        <section id="unsupported"><h2>Clients without support</h2>\(unsupported(facts))</section>
        <section id="risk"><h2>Keys per device within 30 days</h2>\(risk(facts))</section>
        <section id="ramp"><h2>Ramp</h2>\(ramp(facts))</section>
        </div>

        """
    }

    private var silent: HTML {
        "<p class=\"dim\">\(app == nil ? "No app is configured." : "The store does not answer.")</p>\n"
    }

    // MARK: - What is out of the ordinary

    private func alerts() -> HTML {
        var list: [HTML] = []
        if let fault = node.fault {
            list.append("<li class=\"bad\"><code>\(fault.code.description)</code> \(fault.title)</li>")
        }
        for alert in facts?.risk.alerts ?? [] {
            let link: HTML =
                alert.keys.map { " \(keys("Show these \($0.environment) keys", above: $0.threshold, $0.environment))" }
                ?? ""
            list.append("<li class=\"warn\"><code>\(alert.code.description)</code> \(alert.message)\(link)</li>")
        }
        return list.isEmpty ? "<p class=\"calm\">No alerts.</p>" : "<ul class=\"alerts\">\(list)</ul>"
    }

    /// A link to the keys with a metric above a number.
    private func keys(_ text: String, above metric: Int, _ environment: String? = nil) -> HTML {
        let environment: HTML = environment.map { "&amp;environment=\($0)" } ?? ""
        let (least, _) = metric.addingReportingOverflow(1)
        return
            "<a href=\"/console/keys?app=\((app ?? "").utf8.percentEncoded())\(environment)&amp;metric=\(least)\">\(text)</a>"
    }

    private func tiles(_ facts: ConsoleAppFacts) -> HTML {
        func tile(_ name: String, _ value: String, _ note: String, isOff: Bool = false) -> HTML {
            let style: HTML = isOff ? " warn" : ""
            return
                "<div class=\"tile\(style)\"><span class=\"dim\">\(name)</span><strong>\(value)</strong><span class=\"dim\">\(note)</span></div>\n"
        }
        let simulated = ConsoleText.sum(facts.keys.filter(\.simulated).map(\.keys))
        let support = facts.risk.support
        return """
            \(tile("Attestations", ConsoleText.count(ConsoleText.sum(facts.counts(EventKind.attested))), "last 24 hours"))\
            \(tile("Refused", ConsoleText.count(ConsoleText.sum(facts.counts(EventKind.refused))), "last 24 hours"))\
            \(tile("Keys", ConsoleText.count(ConsoleText.sum(facts.keys.map(\.keys))), simulated > 0 ? "\(ConsoleText.count(simulated)) simulated" : "not revoked"))\
            \(tile("Without support", ConsoleText.percent(support.recentRatio), "usual \(ConsoleText.percent(support.usualRatio))", isOff: support.isAlert))
            """
    }

    // MARK: - Charts

    private func chart(_ id: HTML, _ name: String, _ kind: String, _ style: HTML, _ facts: ConsoleAppFacts) -> HTML {
        let counts = facts.counts(kind)
        let highest = ConsoleText.count(counts.max() ?? 0)
        return ConsoleColumns(
            id: id, title: name,
            description: "\(name) by hour: \(ConsoleText.count(ConsoleText.sum(counts))) in all, at most \(highest).",
            head: ("Hour", name),
            columns: zip(facts.hours, counts).map {
                .init(label: ConsoleText.clock($0), value: Double($1), text: ConsoleText.count($1))
            }, aside: "at most \(highest) an hour", style: style
        ).html()
    }

    private func refusals(_ facts: ConsoleAppFacts) -> HTML {
        ConsoleTable.bars(
            label: "Refusals by code", head: ("Code", "Count"),
            rows: facts.refusals.prefix(20).map { (ConsoleText.code($0.code), $0.count, "bad") },
            empty: "Nothing was refused.")
    }

    private func unsupported(_ facts: ConsoleAppFacts) -> HTML {
        let support = facts.risk.support
        let limit = UnsupportedMonitor.risen(from: support.usualRatio)
        let clients = zip(facts.counts(EventKind.unsupported), facts.counts(EventKind.attestedAddress))
        return ConsoleColumns(
            id: "support", title: "Share by hour",
            description:
                "Share of clients that report no support, by hour: \(ConsoleText.percent(support.recentRatio)) in the last day; up to \(ConsoleText.percent(limit)) is usual.",
            head: ("Hour", "Share"),
            columns: zip(facts.hours, clients).map { hour, counts in
                let all = ConsoleText.sum([counts.0, counts.1])
                let share = all > 0 ? Double(counts.0) / Double(all) : 0
                let text = all > 0 ? "\(ConsoleText.percent(share)) of \(ConsoleText.count(all))" : "no clients"
                return .init(label: ConsoleText.clock(hour), value: share, text: text)
            }, band: limit, aside: "alert above \(ConsoleText.percent(limit))",
            style: support.isAlert ? "bad" : "accent"
        ).html()
    }

    private func risk(_ facts: ConsoleAppFacts) -> HTML {
        let classes = ConsoleRiskClass.of(facts.risk.metrics, threshold: facts.baseline.threshold)
        let table = ConsoleTable.bars(
            label: "Keys by risk metric", head: ("Metric", "Keys"),
            rows: classes.map { (keys($0.name, above: $0.low - 1), $0.keys, $0.isAbove ? "bad" : "accent") },
            empty: "No receipt has a metric yet.")
        return """
            <p class="dim">Apple's risk metric in the newest receipts; usual is \(facts.baseline.median), alert above \(facts.baseline.threshold). A metric leads to the keys that have it or a higher one.</p>
            \(table)
            """
    }

    private func ramp(_ facts: ConsoleAppFacts) -> HTML {
        guard let ramp = facts.settings.ramp?.policy else {
            return "<p class=\"dim\">No ramp is configured: all installations attest.</p>\n"
        }
        let paused: HTML = ramp.isPaused ? "<p class=\"warn\">Paused: no installation is told to attest.</p>\n" : ""
        let share = ConsoleText.percent(ramp.share(at: now))
        guard case .plan(let plan, let start) = ramp.rule, plan.dailyUsers > 1 else {
            return "\(paused)<p>A fixed share: \(share) of installations attest.</p>\n"
        }
        let rows = zip(facts.hours, facts.counts(EventKind.attested)).reversed().map { hour, attested -> [HTML] in
            let from = ramp.elapsed(since: start, at: hour)
            let planned = plan.attested(after: from + 3600) - plan.attested(after: from)
            return ["\(ConsoleText.clock(hour))", "\(ConsoleText.count(planned))", "\(ConsoleText.count(attested))"]
        }
        let days = ConsoleText.decimal(max(ramp.elapsed(since: start, at: now), 0) / 86_400)
        let table = ConsoleTable(
            label: "Attestations by hour, planned and counted", head: ["Hour", "Planned", "Counted"], rows: rows)
        return """
            \(paused)<p>\(share) of installations are told to attest, after \(days) of \(ConsoleText.decimal(plan.days)) days of the plan.</p>
            \(table.folded())
            """
    }

    // MARK: - The node

    private func health() -> HTML {
        func seconds(_ duration: Duration?) -> String {
            duration.map { ConsoleText.decimal($0.inSeconds) + " s" } ?? "–"
        }
        let state: HTML =
            node.fault.map { "<span class=\"tag fail\">\($0.code.description)</span>" }
            ?? "<span class=\"tag pass\">ready</span>"
        return """
            <dl class="facts"><div><dt>State</dt><dd>\(state)</dd></div>\
            <div><dt>Clock offset from the store's</dt><dd>\(seconds(node.clockOffset))</dd></div>\
            <div><dt>Store's horizon ahead of the clock</dt><dd>\(seconds(node.horizonLead.map { max($0, .zero) }))</dd></div></dl>

            """
    }
}

/// Keys by risk metric, in few classes: single ones up to 4, then powers of two.
struct ConsoleRiskClass: Equatable {
    let name: String
    /// The lowest metric of the class.
    let low: Int
    let keys: Int
    /// Whether all of the class are above the threshold.
    let isAbove: Bool

    static func of(_ metrics: [RiskStanding.Metric], threshold: Int) -> [ConsoleRiskClass] {
        let highs = [1, 2, 3, 4] + (3...20).map { 1 << $0 } + [.max]
        return zip([0] + highs, highs).compactMap { before, high in
            let low = high == 1 ? 1 : before + 1
            let keys = ConsoleText.sum(metrics.filter { (high == 1 ? 0 : low)...high ~= $0.metric }.map(\.keys))
            let name = high == .max ? "\(low) or more" : low == high ? "\(high)" : "\(low)–\(high)"
            return keys > 0 ? ConsoleRiskClass(name: name, low: low, keys: keys, isAbove: low > threshold) : nil
        }
    }
}

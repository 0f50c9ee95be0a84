// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import Reporting
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
        let mode: HTML = facts.map { "<span class=\"tag note\">\($0.mode)</span>" } ?? ""
        return """
            \(tabs)<div class="title"><h1>\(app ?? "No app") \(mode)</h1></div>
            \(sections())
            """
    }

    private func sections() -> HTML {
        """
        <p id="fresh" class="dim">As of \(ConsoleText.instant(now)).</p>
        <div id="alerts">\(alerts())</div>
        <div id="tiles" class="tiles">\(tiles())</div>
        <div class="cards">
        <section id="activity" class="whole"><h2>Last 24 hours, all nodes</h2>\(activity())</section>
        <section id="refusals"><h2>Refusals by code</h2>\(refusals())</section>
        <section id="unsupported"><h2>Clients without support</h2>\(unsupported())</section>
        <section id="risk"><h2>Keys per device within 30 days</h2>\(risk())</section>
        <section id="ramp"><h2>Ramp</h2>\(ramp())</section>
        <section id="health"><h2>Store and clock</h2>\(health())</section>
        </div>

        """
    }

    // MARK: - What is out of the ordinary

    private func alerts() -> HTML {
        var list: [HTML] = []
        if let fault = node.fault {
            list.append("<li class=\"bad\"><code>\(fault.code.description)</code> \(fault.title)</li>")
        }
        for alert in facts?.risk.alerts ?? [] {
            list.append(
                "<li class=\"warn\"><code>\(alert.code.description)</code> \(alert.message)\(keys(of: alert))</li>")
        }
        return list.isEmpty ? "<p class=\"calm\">No alerts.</p>" : "<ul class=\"alerts\">\(list)</ul>"
    }

    /// A link to the keys among which an alert found some.
    private func keys(of alert: RiskStanding.Alert) -> HTML {
        guard let environment = alert.environment, let app else { return "" }
        return
            " <a href=\"/console/keys?app=\(app.utf8.percentEncoded())&amp;environment=\(environment)\">Show the \(environment) keys</a>"
    }

    private func tiles() -> HTML {
        var tiles: [HTML] = []
        if let facts {
            let attested = facts.hours.reduce(0) { $0.clampedSum($1.attested) }
            let refused = facts.hours.reduce(0) { $0.clampedSum($1.refused) }
            tiles.append(tile("Attestations", ConsoleText.count(attested), "last 24 hours"))
            tiles.append(tile("Refused", ConsoleText.count(refused), "last 24 hours"))
            let keys = facts.keys.reduce(0) { $0.clampedSum($1.keys) }
            let simulated = facts.keys.filter(\.simulated).reduce(0) { $0.clampedSum($1.keys) }
            tiles.append(
                tile(
                    "Keys", ConsoleText.count(keys),
                    simulated > 0 ? "\(ConsoleText.count(simulated)) simulated" : "not revoked"))
            let support = facts.risk.support
            let isKnown = facts.support.contains { $0.total > 0 }
            tiles.append(
                tile(
                    "Without support", isKnown ? ConsoleText.percent(support.recentRatio) : "–",
                    "usual \(ConsoleText.percent(support.usualRatio))", isOff: support.isAlert))
            if let ramp = facts.ramp {
                tiles.append(
                    tile("Ramp", ConsoleText.percent(ramp.share), ramp.isPaused ? "paused" : "of installations"))
            }
        }
        return "\(tiles)"
    }

    private func tile(_ name: String, _ value: String, _ note: String, isOff: Bool = false) -> HTML {
        let style: HTML = isOff ? " warn" : ""
        return
            "<div class=\"tile\(style)\"><span class=\"dim\">\(name)</span><strong>\(value)</strong><span class=\"dim\">\(note)</span></div>\n"
    }

    // MARK: - Charts

    private func activity() -> HTML {
        guard facts != nil else { return silent }
        let charts = [
            chart("attestations", "Attestations", \.attested, "accent"), chart("refused", "Refused", \.refused, "bad"),
        ]
        return "<div class=\"charts\">\(charts)</div>"
    }

    private func chart(
        _ id: HTML, _ name: String, _ kind: KeyPath<ConsoleAppFacts.Hour, Int>, _ style: HTML
    ) -> HTML {
        let hours = facts?.hours ?? []
        let highest = ConsoleText.count(hours.map { $0[keyPath: kind] }.max() ?? 0)
        let total = ConsoleText.count(hours.reduce(0) { $0.clampedSum($1[keyPath: kind]) })
        return ConsoleColumns(
            id: id, title: name, description: "\(name) by hour: \(total) in all, at most \(highest).",
            head: ("Hour", name),
            columns: hours.map { hour in
                let value = hour[keyPath: kind]
                return .init(
                    label: ConsoleText.clock(hour.start), value: Double(value), text: ConsoleText.count(value))
            },
            aside: "at most \(highest) an hour", style: style
        ).html()
    }

    private var silent: HTML {
        "<p class=\"dim\">\(app == nil ? "No app is configured." : "The store does not answer.")</p>\n"
    }

    private func refusals() -> HTML {
        guard let facts else { return silent }
        return ConsoleTable.bars(
            label: "Refusals by code", head: ("Code", "Count"),
            rows: facts.refusals.prefix(20).map { ("\(ConsoleText.code($0.code))", $0.count, "bad") },
            empty: "Nothing was refused.")
    }

    private func unsupported() -> HTML {
        guard let facts else { return silent }
        let support = facts.risk.support
        let limit = UnsupportedMonitor.risen(from: support.usualRatio)
        return ConsoleColumns(
            id: "support",
            title: "Share by hour",
            description:
                "Share of clients that report no support, by hour: \(ConsoleText.percent(support.recentRatio)) in the last day; up to \(ConsoleText.percent(limit)) is usual.",
            head: ("Hour", "Share"),
            columns: facts.support.map { hour in
                let share = hour.total > 0 ? Double(hour.unsupported) / Double(hour.total) : 0
                let text =
                    hour.total > 0 ? "\(ConsoleText.percent(share)) of \(ConsoleText.count(hour.total))" : "no clients"
                return .init(label: ConsoleText.clock(hour.hour), value: share, text: text)
            },
            marks: [
                .init(
                    value: support.usualRatio, label: "usual \(ConsoleText.percent(support.usualRatio))", style: "usual"
                )
            ],
            band: limit,
            aside: "alert above \(ConsoleText.percent(limit))",
            style: support.isAlert ? "bad" : "accent"
        ).html()
    }

    private func risk() -> HTML {
        guard let facts else { return silent }
        let classes = ConsoleRiskClass.of(facts.risk.metrics, threshold: facts.baseline.threshold)
        let table = ConsoleTable.bars(
            label: "Keys by risk metric", head: ("Metric", "Keys"),
            rows: classes.map { (name: "\($0.name)", count: $0.keys, style: $0.isAbove ? "bad" : "accent") },
            empty: "No receipt has a metric yet.")
        return """
            <p class="dim">Apple's risk metric in the newest receipts; usual is \(facts.baseline.median), alert above \(facts.baseline.threshold).</p>
            \(table)
            """
    }

    private func ramp() -> HTML {
        guard let facts else { return silent }
        guard let ramp = facts.ramp else {
            return "<p class=\"dim\">No ramp is configured: all installations attest.</p>\n"
        }
        let paused: HTML = ramp.isPaused ? "<p class=\"warn\">Paused: no installation is told to attest.</p>\n" : ""
        guard let plan = ramp.plan else {
            return "\(paused)<p>A fixed share: \(ConsoleText.percent(ramp.share)) of installations attest.</p>\n"
        }
        let length = max(plan.seconds, 1)
        let planned = plan.share(after: ramp.elapsed)
        let days = ConsoleText.coordinate(plan.days)
        let curve = ConsoleCurve(
            id: "plan", title: "Plan",
            description:
                "Share of installations by plan over \(days) days; now at \(ConsoleText.percent(planned)).",
            values: (0...40).map { plan.share(after: Double($0) / 40 * length) },
            point: (ramp.elapsed / length, planned), axis: ("start", "\(days) days")
        ).html()
        let rows: [[HTML]] = ramp.hours.reversed().map {
            ["\(ConsoleText.clock($0.start))", "\(ConsoleText.count($0.planned))", "\(ConsoleText.count($0.attested))"]
        }
        let hours = ConsoleTable(
            label: "Attestations by hour, planned and counted", head: ["Hour", "Planned", "Counted"], rows: rows
        ).folded()
        let now = ramp.hours.last.map { hour -> HTML in
            "<p>This hour: \(ConsoleText.count(hour.attested)) attested, \(ConsoleText.count(hour.planned)) planned.</p>\n"
        }
        return "\(paused)\(curve)\(now ?? "")\(hours)"
    }

    // MARK: - The node

    private func health() -> HTML {
        func seconds(_ duration: Duration?) -> String {
            duration.map { ConsoleText.coordinate($0.inSeconds) + " s" } ?? "–"
        }
        let state: HTML =
            node.fault.map { "<span class=\"tag fail\">\($0.code.description)</span>" }
            ?? "<span class=\"tag pass\">ready</span>"
        let rows: [(String, HTML)] = [
            ("State", state),
            ("Clock offset from the store's", "\(seconds(node.clockOffset))"),
            ("Store's horizon ahead of the clock", "\(seconds(node.horizonLead.map { max($0, .zero) }))"),
        ]
        let list: [HTML] = rows.map { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" }
        return "<dl class=\"facts\">\(list)</dl>\n"
    }
}

/// Keys by risk metric, in few classes: single ones up to 4, then powers of two.
struct ConsoleRiskClass: Equatable {
    let name: String
    let keys: Int
    /// Whether all of the class are above the threshold.
    let isAbove: Bool

    static func of(_ metrics: [RiskStanding.Metric], threshold: Int) -> [ConsoleRiskClass] {
        var classes: [(low: Int, high: Int, keys: Int)] = []
        var (low, high) = (0, 1)
        while low < 1 << 20 {
            let keys = metrics.filter { low <= $0.metric && $0.metric <= high }.reduce(0) { $0.clampedSum($1.keys) }
            classes.append((low, high, keys))
            low = high + 1
            high = high < 4 ? high + 1 : high * 2
        }
        let rest = metrics.filter { $0.metric >= low }.reduce(0) { $0.clampedSum($1.keys) }
        classes.append((low, .max, rest))
        return classes.filter { $0.keys > 0 }.map { entry in
            let name =
                entry.high == .max
                ? "\(entry.low) or more"
                : entry.low <= 0 || entry.low == entry.high ? "\(entry.high)" : "\(entry.low)–\(entry.high)"
            return ConsoleRiskClass(name: name, keys: entry.keys, isAbove: entry.low > threshold)
        }
    }
}

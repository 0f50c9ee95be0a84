// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import TrustTokens
import Vocabulary

/// The overview as a page: plain facts in, markup out.
struct ConsoleOverview {
    /// What the store says of one app.
    struct Facts: Sendable {
        let settings: Configuration.App
        let risk: RiskStanding
        let baseline: MetricBaseline
        /// Keys that are not revoked, by environment and kind.
        let keys: [KeyCount]
        /// The starts of the last 24 hours, the one that is not over included.
        let hours: [Date]
        let tallies: [SignalTally]

        /// How many events of a kind each hour had.
        func counts(_ kind: String) -> [Int] {
            hours.map { hour in ConsoleText.sum(tallies.filter { $0.kind == kind && $0.hour == hour }.map(\.count)) }
        }

        /// Refusals by code, the most frequent first.
        var refusals: [(code: String, count: Int)] {
            Dictionary(grouping: tallies.filter { $0.kind == EventKind.refused }, by: \.code)
                .map { ($0.key, ConsoleText.sum($0.value.map(\.count))) }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
        }
    }

    /// What this node knows of itself.
    struct Node: Sendable {
        /// What keeps it from being ready; nil if it is ready.
        var fault: Problem?
        /// nil for a store that has no clock of its own.
        var clockOffset: Duration?
        var horizonLead: Duration?
        /// What `mode=observe` found of the shown app, and of callers whose token names none, by route and class.
        var observed: [(route: String, app: String, counts: [String: Double])] = []
    }

    let now: Date
    /// The apps that the visitor may see.
    let apps: [String]
    /// The one that is shown.
    let app: String?
    var node: Node
    /// nil if there is no app, or the store does not answer.
    var facts: Facts?

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
        let silent = app == nil ? "No app is configured." : "The store does not answer."
        return """
            \(tabs)<div class="title"><h1>\(app ?? "No app") \(mode)</h1></div>
            <p id="fresh" class="dim">As of \(ConsoleText.instant(now)).</p>
            <div id="alerts">\(alerts())</div>
            \(facts.map(sections) ?? "<p class=\"dim\">\(silent)</p>\n")<div class="cards">
            <section id="health"><h2>Store and clock</h2>\(health())</section>
            \(observed())</div>

            """
    }

    /// The share of each class that enforcement would find; nothing where no route is watched.
    private func observed() -> HTML {
        guard !node.observed.isEmpty else { return "" }
        let table = ConsoleTable(
            label: "What enforcement would find",
            head: ["Route", "App"] + ObservedClass.allCases.map { "\($0.rawValue)" },
            rows: node.observed.map { row in
                let all = row.counts.values.reduce(0, +)
                return ["<code>\(row.route)</code>", "\(row.app)"]
                    + ObservedClass.allCases.map { kind -> HTML in
                        let count = row.counts[kind.rawValue] ?? 0
                        return
                            "\(ConsoleText.percent(all > 0 ? count / all : 0)) <span class=\"dim\">\(ConsoleText.count(count))</span>"
                    }
            }
        ).html()
        return
            "<section id=\"observed\" class=\"whole\"><h2>What enforcement would find, this node since its start</h2>\(table)</section>\n"
    }

    private func sections(_ facts: Facts) -> HTML {
        let refusals = facts.refusals.prefix(20)
        let codes = ConsoleTable(
            label: "Refusals by code", head: ["Code", "Count"],
            rows: zip(refusals, ConsoleText.bars(refusals.map(\.count), "bad")).map {
                [ConsoleText.code($0.code), $1]
            },
            empty: "Nothing was refused."
        ).html()
        return """
            <div class="cards">
            <section id="sums"><h2>In short</h2>\(sums(facts))</section>
            <section id="activity" class="whole"><h2>Last 24 hours, all nodes</h2>\(activity(facts))</section>
            <section id="refusals"><h2>Refusals by code</h2>\(codes)</section>
            <section id="risk"><h2>Keys per device within 30 days</h2>\(risk(facts))</section>
            <section id="ramp"><h2>Ramp</h2>\(ramp(facts))</section>
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

    private func sums(_ facts: Facts) -> HTML {
        func count(_ counts: [Int]) -> String { ConsoleText.count(ConsoleText.sum(counts)) }
        let support = facts.risk.support
        return ConsoleTable.facts([
            ("Attestations in 24 hours", "\(count(facts.counts(EventKind.attested)))"),
            ("Refused in 24 hours", "\(count(facts.counts(EventKind.refused)))"),
            (
                "Keys that are not revoked",
                "\(count(facts.keys.map(\.keys))), \(count(facts.keys.filter(\.simulated).map(\.keys))) simulated"
            ),
            (
                "Clients without support",
                "\(ConsoleText.percent(support.recentRatio)), usual \(ConsoleText.percent(support.usualRatio))"
            ),
        ])
    }

    // MARK: - Hours, metrics and the ramp

    /// The hours with what each had, the newest first.
    private func activity(_ facts: Facts) -> HTML {
        let limit = UnsupportedMonitor.risen(from: facts.risk.support.usualRatio)
        let support = zip(facts.counts(EventKind.unsupported), facts.counts(EventKind.attestedAddress)).map {
            let all = ConsoleText.sum([$0, $1])
            let share = all > 0 ? Double($0) / Double(all) : 0
            let text = all > 0 ? "\(ConsoleText.percent(share)) of \(ConsoleText.count(all))" : "–"
            return ConsoleText.bar(text, share, of: 1, share > limit ? "bad" : "accent")
        }
        var columns: [(head: HTML, cells: [HTML])] = [
            ("Hour", facts.hours.map { "\(ConsoleText.clock($0))" }),
            ("Attested", ConsoleText.bars(facts.counts(EventKind.attested))),
            ("Refused", ConsoleText.bars(facts.counts(EventKind.refused), "bad")), ("Without support", support),
        ]
        if let (plan, start) = plan(facts) {
            let planned = facts.hours.map { hour -> HTML in
                let from = hour.timeIntervalSince(start)
                return "\(ConsoleText.count(plan.attested(after: from + 3600) - plan.attested(after: from)))"
            }
            columns.insert(("Planned", planned), at: 1)
        }
        let rows = facts.hours.indices.reversed().map { hour in columns.map { $0.cells[hour] } }
        return """
            <p class="dim">Clients without support are those that report it, of all clients; an alert begins above \(ConsoleText.percent(limit)).</p>
            \(ConsoleTable(label: "Last 24 hours", head: columns.map(\.head), rows: rows).html())
            """
    }

    private func risk(_ facts: Facts) -> HTML {
        let classes = ConsoleRiskClass.of(facts.risk.metrics, threshold: facts.baseline.threshold)
        let top = Double(classes.map(\.keys).max() ?? 0)
        let rows: [[HTML]] = classes.map {
            [
                keys($0.name, above: $0.low - 1),
                ConsoleText.bar(ConsoleText.count($0.keys), Double($0.keys), of: top, $0.isAbove ? "bad" : "accent"),
            ]
        }
        return """
            <p class="dim">Apple's risk metric in the newest receipts; usual is \(facts.baseline.median), alert above \(facts.baseline.threshold). A metric leads to the keys that have it or a higher one.</p>
            \(ConsoleTable(label: "Keys by risk metric", head: ["Metric", "Keys"], rows: rows, empty: "No receipt has a metric yet.").html())
            """
    }

    /// The plan of a ramp that has one.
    private func plan(_ facts: Facts) -> (RampPlan, start: Date)? {
        guard case .plan(let plan, let start)? = facts.settings.ramp?.policy.rule, plan.dailyUsers > 1
        else { return nil }
        return (plan, start)
    }

    private func ramp(_ facts: Facts) -> HTML {
        guard let ramp = facts.settings.ramp?.policy else {
            return "<p class=\"dim\">No ramp is configured: all installations attest.</p>\n"
        }
        let paused: HTML = ramp.isPaused ? "<p class=\"warn\">Paused: no installation is told to attest.</p>\n" : ""
        let share = ConsoleText.percent(ramp.share(at: now))
        guard let (plan, start) = plan(facts) else {
            return "\(paused)<p>A fixed share: \(share) of installations attest.</p>\n"
        }
        let days = ConsoleText.decimal(max(now.timeIntervalSince(start), 0) / 86_400)
        return
            "\(paused)<p>\(share) of installations are told to attest, after \(days) of \(ConsoleText.decimal(plan.days)) days of the plan.</p>\n"
    }

    // MARK: - The node

    private func health() -> HTML {
        func seconds(_ duration: Duration?) -> String {
            duration.map { ConsoleText.decimal($0 / .seconds(1)) + " s" } ?? "–"
        }
        let state: HTML =
            node.fault.map { "<span class=\"tag fail\">\($0.code.description)</span>" }
            ?? "<span class=\"tag pass\">ready</span>"
        return ConsoleTable.facts([
            ("State", state), ("Clock offset from the store's", "\(seconds(node.clockOffset))"),
            ("Store's horizon ahead of the clock", "\(seconds(node.horizonLead.map { max($0, .zero) }))"),
        ])
    }
}

/// Keys by risk metric, in few classes: single ones up to 4, then powers of two.
struct ConsoleRiskClass: Equatable {
    let name: String
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

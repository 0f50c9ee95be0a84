// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// The page of `ats history`: how each server's verdict went from run to run, and what changed.
///
/// Fill it with plain values; nothing is judged here. Every text is escaped.
package struct HistoryPage: Sendable {
    /// One run's verdict, in seconds since 1970: `PASS`, `FAIL` or `UNDETERMINED`.
    package typealias Point = (at: Int64, result: String)

    /// One difference, as text.
    package typealias Change = (at: Int64, field: String, before: String, after: String)

    /// One server, with points and changes oldest first.
    package typealias Target = (name: String, points: [Point], changes: [Change])

    package let version: String
    package let runs: Int
    /// When the first and the last run began, in seconds since 1970.
    package let span: ClosedRange<Int64>
    package let targets: [Target]
    /// Targets that the page leaves out.
    package let omitted: Int
    /// Days since 1970 with more than one run, which their times tell apart.
    private let crowded: Set<Int64>

    package init(version: String, runs: Int, span: ClosedRange<Int64>, targets: [Target], omitted: Int) {
        self.version = version
        self.runs = runs
        self.span = span
        self.targets = targets
        self.omitted = omitted
        let times = Set(targets.flatMap { $0.points.map(\.at) + $0.changes.map(\.at) })
        crowded = Set(Dictionary(grouping: times, by: HistoryPage.number).filter { $0.value.count > 1 }.keys)
    }

    /// The page as text.
    package func html() -> String {
        let changed = targets.count { !$0.changes.isEmpty }
        var page = HTMLPage(
            title: "App Transport Security history",
            lead:
                "\(runs) run\(runs == 1 ? "" : "s") from \(day(span.lowerBound)) to \(day(span.upperBound)); \(changed) target\(changed == 1 ? "" : "s") changed."
        )
        for target in targets { page.section(target.name, markup(target)) }
        if omitted > 0 {
            page.section("Not shown", "<p>\(omitted) more targets; use --format text or json for all of them.</p>\n")
        }
        return page.rendered(footer: "sealward \(version)")
    }

    /// The times of a file that somebody else wrote may be any numbers.
    private static func bounded(_ seconds: Int64) -> Int64 { min(max(seconds, -1_000_000_000_000), 1_000_000_000_000) }

    /// The number of a day, the second of a run in it.
    private static func number(_ seconds: Int64) -> Int64 { (bounded(seconds) - second(seconds)) / 86_400 }
    private static func second(_ seconds: Int64) -> Int64 { (bounded(seconds) % 86_400 + 86_400) % 86_400 }

    /// The day of a run, with its time in UTC where it is not the only one.
    private func day(_ seconds: Int64) -> String {
        let day = CivilDate.text(Int(HistoryPage.bounded(seconds)))
        guard crowded.contains(HistoryPage.number(seconds)) else { return day }
        let second = HistoryPage.second(seconds)
        let parts = [second / 3600, second / 60 % 60, second % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        return "\(day) \(parts.joined(separator: ":")) UTC"
    }

    private func markup(_ target: Target) -> HTML {
        let changes: HTML =
            target.changes.isEmpty
            ? "<p class=\"path\">Nothing changed.</p>\n"
            : HistoryPage.table(target.changes.map { (day($0.at), $0) }, first: "run of")
        return "\(course(target.points))\(changes)"
    }

    /// Changes in rows, each after a first cell.
    package static func table(_ rows: [(cell: String, change: Change)], first: String) -> HTML {
        let rows = rows.map { cell, change -> HTML in
            """
            <tr><td>\(cell)</td><td>\(change.field)</td><td data-of="before"><code>\(change.before)</code></td>\
            <td data-of="after"><code>\(change.after)</code></td></tr>

            """
        }
        return .table([first, "what", "before", "after"], "\(rows)")
    }

    /// The width of a course in the units of its picture.
    private static let width = 1000.0

    /// A band for each run until the next one, all courses on one scale of time.
    private func course(_ points: [Point]) -> HTML {
        guard let first = points.first, let last = points.last else { return "" }
        let bands = points.enumerated().map { index, point -> HTML in
            let start = place(point.at)
            let next = index + 1 < points.count ? place(points[index + 1].at) : HistoryPage.width
            return """
                <rect class="\(point.result.lowercased())" x="\(tenths(start))" y="0" \
                width="\(tenths(max(4, next - start)))" height="24"><title>\(day(point.at)) \(point.result)</title></rect>

                """
        }
        return """
            <svg class="course" viewBox="0 0 1000 24" preserveAspectRatio="none" role="img" aria-label="verdicts from \
            \(day(first.at)) to \(day(last.at)), most recently \(last.result)">
            \(bands)</svg>

            """
    }

    /// In Double, so that absurd times cannot overflow. The last run has a twentieth of the width.
    private func place(_ at: Int64) -> Double {
        let length = Double(span.upperBound) - Double(span.lowerBound)
        let share = length > 0 ? (Double(at) - Double(span.lowerBound)) / length : 0
        return min(1, max(0, share)) * HistoryPage.width * 0.95
    }

    private func tenths(_ number: Double) -> String {
        let value = Int((min(2000, max(0, number)) * 10).rounded())
        return "\(value / 10).\(value % 10)"
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import FoundationEssentials
import Vocabulary

/// Numbers and instants as the console writes them.
enum ConsoleText {
    static func count(_ number: Int) -> String { number.grouped(by: ",") }

    /// A count of the metrics, which are floating.
    static func count(_ number: Double) -> String { count(Int(exactly: number.rounded()) ?? .max) }

    /// A code with its meaning from the catalogue.
    static func code(_ name: String) -> HTML {
        let known = (ProblemTable.explanations + RefusalExplanations.attestations + RefusalExplanations.assertions)
            .first { $0.code.description.hasSameBytes(as: name) }
        let meaning: HTML = known.map { " <span class=\"dim\">\($0.meaning)</span>" } ?? ""
        return "<code>\(name)</code>\(meaning)"
    }

    /// `12.3 %`, of a share of 1.
    static func percent(_ share: Double) -> String {
        let tenths = Int(exactly: (share * 1000).rounded()) ?? 0
        return "\(tenths / 10).\(abs(tenths % 10)) %"
    }

    /// `2026-11-21 12:00:05`, in UTC.
    static func instant(_ date: Date) -> HTML {
        let text = RFC3339.text(date)
        return "<time datetime=\"\(text)\">\(String(text.prefix(10))) \(String(text.dropFirst(11).prefix(8)))</time>"
    }

    /// `12:00`, in UTC.
    static func clock(_ date: Date) -> String { String(RFC3339.text(date).dropFirst(11).prefix(5)) }

    /// The sum of counts, or the largest number if it is larger.
    static func sum(_ counts: [Int]) -> Int {
        counts.reduce(0) { sum, count in
            let (sum, overflow) = sum.addingReportingOverflow(count)
            return overflow ? .max : sum
        }
    }

    /// A number with a bar of its share of the largest one. What is not nothing can be seen.
    static func bar(_ text: String, _ value: Double, of largest: Double, _ style: HTML = "accent") -> HTML {
        let width = value > 0 && largest > 0 ? min(max(value / largest * 100, 1.5), 100) : 0
        return """
            \(text)<svg class="bar" aria-hidden="true" viewBox="0 0 100 10" preserveAspectRatio="none">\
            <rect class="\(style)" x="0" y="0" width="\(decimal(width))" height="10"/></svg>
            """
    }

    static func bars(_ counts: [Int], _ style: HTML = "accent") -> [HTML] {
        counts.map { bar(count($0), Double($0), of: Double(counts.max() ?? 0), style) }
    }

    static func decimal(_ number: Double) -> String {
        let hundredths = Int(exactly: (min(max(number, -1e6), 1e6) * 100).rounded()) ?? 0
        return String(Double(hundredths) / 100)
    }
}

/// A table. The first cell of a row is its head.
struct ConsoleTable {
    /// What the table is of, for whoever does not see its heading.
    let label: String
    let head: [HTML]
    let rows: [[HTML]]
    /// Said if there is no row.
    var empty = "Nothing yet."
    /// Whether a narrow screen shows each row as a list of its cells, one below the other with their heads: for what is too long for columns.
    var stacks = false

    static func facts(_ facts: [(String, HTML)]) -> HTML {
        let rows: [HTML] = facts.map { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" }
        return "<dl class=\"facts\">\(rows)</dl>\n"
    }

    func html() -> HTML {
        guard !rows.isEmpty else { return "<p class=\"dim\">\(empty)</p>\n" }
        // A cell that is no longer displayed as one loses its role in the browsers' trees, so a table that stacks states them.
        func role(_ name: HTML) -> HTML { stacks ? " role=\"\(name)\"" : "" }
        let body: [HTML] = rows.map { row in
            let cells: [HTML] = zip(head, row).enumerated().map { place, cell in
                let named: HTML = stacks ? " data-head=\"\(cell.0)\"" : ""
                return place == 0
                    ? "<th scope=\"row\"\(role("rowheader"))\(named)>\(cell.1)</th>"
                    : "<td\(role("cell"))\(named)>\(cell.1)</td>"
            }
            return "<tr\(role("row"))>\(cells)</tr>\n"
        }
        let heads: [HTML] = head.map { "<th scope=\"col\"\(role("columnheader"))>\($0)</th>" }
        let group = role("rowgroup")
        let stack: HTML = stacks ? " class=\"stack\"" : ""
        return """
            <div class="wide" role="region" aria-label="\(label)" tabindex="0"><table\(stack)\(role("table"))><thead\(group)><tr\(role("row"))>\(heads)</tr></thead><tbody\(group)>
            \(body)</tbody></table></div>

            """
    }
}

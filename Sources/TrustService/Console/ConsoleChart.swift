// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import Reporting
import Vocabulary

/// Numbers and instants as the console writes them.
enum ConsoleText {
    /// `1,234,567`
    static func count(_ number: Int) -> String {
        var groups: [String] = []
        var digits = Substring(String(number.magnitude))
        while digits.utf8.count > 3 {
            groups.append(String(digits.suffix(3)))
            digits = digits.dropLast(3)
        }
        groups.append(String(digits))
        return (number < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
    }

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

    /// A number to hundredths.
    static func decimal(_ number: Double) -> String {
        let hundredths = Int(exactly: (min(max(number, -1e6), 1e6) * 100).rounded()) ?? 0
        return String(Double(hundredths) / 100)
    }
}

/// A chart of columns over time: a drawing with a title and a description, and the same numbers as a table.
struct ConsoleColumns {
    struct Column {
        /// The span of time, for the table and on pointing.
        let label: String
        let value: Double
        /// The value as it is written.
        let text: String
    }

    /// Unique on the page.
    let id: HTML
    let title: String
    /// One sentence for whoever does not see the drawing.
    let description: String
    /// What the columns of the table are called.
    let head: (String, String)
    let columns: [Column]
    /// The range from 0 that is usual.
    var band: Double?
    /// Said beside the title: the highest value, say.
    var aside = ""
    /// The look of the columns: `accent` or `bad`.
    var style: HTML = "accent"

    func html() -> HTML {
        let top = max(columns.map(\.value).max() ?? 0, band ?? 0)
        func height(_ value: Double) -> Double { top > 0 ? min(max(value / top, 0), 1) * 100 : 0 }
        let width = ConsoleText.decimal(Double(max(columns.count, 1)) * 10)
        var drawing: HTML = ""
        if let band {
            let high = height(band)
            drawing +=
                "<rect class=\"band\" x=\"0\" y=\"\(ConsoleText.decimal(100 - high))\" width=\"\(width)\" height=\"\(ConsoleText.decimal(high))\"/>"
        }
        for (index, column) in columns.enumerated() where column.value > 0 {
            // What is not nothing can be seen.
            let high = max(height(column.value), 1.5)
            drawing +=
                "<rect class=\"\(style)\" x=\"\(ConsoleText.decimal(Double(index) * 10 + 1))\" y=\"\(ConsoleText.decimal(100 - high))\" width=\"8\" height=\"\(ConsoleText.decimal(high))\"><title>\(column.label): \(column.text)</title></rect>"
        }
        let rows: [[HTML]] = columns.reversed().map { ["\($0.label)", "\($0.text)"] }
        return """
            <figure class="chart"><figcaption><h3>\(title)</h3><span class="dim">\(aside)</span></figcaption>
            <svg role="img" aria-labelledby="\(id)-title \(id)-text" viewBox="0 0 \(width) 100" preserveAspectRatio="none">\
            <title id="\(id)-title">\(title)</title><desc id="\(id)-text">\(description)</desc>\(drawing)</svg>
            <div class="axis"><span>\(columns.first?.label ?? "")</span><span>\(columns.last?.label ?? "")</span></div>
            \(ConsoleTable(label: title, head: ["\(head.0)", "\(head.1)"], rows: rows).folded())</figure>

            """
    }
}

/// A table. Numbers stand in columns after the first.
struct ConsoleTable {
    /// What the table is of, for whoever does not see its heading.
    let label: String
    let head: [HTML]
    let rows: [[HTML]]
    /// Said if there is no row.
    var empty = "Nothing yet."
    /// Whether a narrow screen shows each row as a list of its cells, one below the other with their heads: for what is too long for columns.
    var stacks = false

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

    /// The same, to be opened.
    func folded() -> HTML { "<details><summary>Table</summary>\(html())</details>" }

    /// A table whose last column is a bar of the number before it.
    ///
    /// - Parameter rows: a name, its count, and the look of its bar.
    static func bars(
        label: String, head: (HTML, HTML), rows: [(name: HTML, count: Int, style: HTML)], empty: String = "Nothing yet."
    ) -> HTML {
        let top = Double(rows.map(\.count).max() ?? 0)
        return ConsoleTable(
            label: label,
            head: [head.0, head.1, "<span class=\"hidden\">Share of the largest</span>"],
            rows: rows.map { row in
                let width = top > 0 ? max(Double(row.count) / top * 100, 0.5) : 0
                let bar: HTML = """
                    <svg class="bar" aria-hidden="true" viewBox="0 0 100 10" preserveAspectRatio="none">\
                    <rect class="\(row.style)" x="0" y="0" width="\(ConsoleText.decimal(width))" height="10"/></svg>
                    """
                return [row.name, "\(ConsoleText.count(row.count))", bar]
            },
            empty: empty
        ).html()
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Foundation
import TestSupport
import Testing
import Vocabulary

/// Text from outside in every report, as properties: whatever scalars it has, no format gets markup, a line or a column of it.
struct ReportEscapeTests {
    /// Scalars that mean something to some reader, and their neighbours.
    private static let notable: [ClosedRange<UInt32>] = [
        0...0x9F, 0x300...0x310, 0x600...0x605, 0x61C...0x61C, 0x200B...0x200F, 0x2028...0x202E, 0x2066...0x2069,
        0xD7F0...0xD7FF, 0xE000...0xE00F, 0xFDD0...0xFDEF, 0xFEFF...0xFEFF, 0xFFF9...0xFFFF, 0x1F1E6...0x1F1FF,
        0x1FFFE...0x20000, 0xE0001...0xE007F, 0x10FFF0...0x10FFFF, 0x20...0x7E, 0x21...0x2F, 0x3A...0x40, 0x5B...0x60,
        0x7B...0x7E,
    ]

    private static let fragments = [
        "\r\n", "|\u{301}", "\\|", "\\", "`\u{301}", "<\u{301}script>", "</code>", "]]>", "--><script>", "::error::x",
        "%0A", "##vso[task.x]", "##[error]", "#", "##teamcity[", "\n ::group::x",
        "\n::set-output name=a::b", "\n# head", "&#x0;", "\" onload=\"", "' x='", "<!--", "<![CDATA[", "\n\n| a | b |",
    ]

    private static func text(_ random: inout SplitMix) -> String {
        var result = String.UnicodeScalarView()
        for _ in 0..<(1 + random.below(12)) {
            if random.below(4) == 0 {
                result.append(contentsOf: fragments[random.below(fragments.count)].unicodeScalars)
            } else {
                let range = notable[random.below(notable.count)]
                let value = range.lowerBound + UInt32(random.below(range.count))
                if let scalar = Unicode.Scalar(value) { result.append(scalar) }
            }
        }
        return String(result)
    }

    private static func report(_ random: inout SplitMix, findings: Int) -> FindingsReport {
        let list = (0..<findings).map { _ in
            Finding(
                rule: "ATS001", severity: [.error, .warning, .note][random.below(3)],
                location: random.below(2) == 0 ? nil : SourceLocation(line: 3, column: 5),
                keyPath: [text(&random), text(&random)], message: text(&random),
                fix: random.below(2) == 0 ? nil : text(&random),
                citation: .apple("NSAppTransportSecurity", read: "2026-11-21"))
        }
        return FindingsReport(
            version: "1", rules: [],
            files: [(text(&random), list), (text(&random), [])],
            unreadable: [(text(&random), text(&random))])
    }

    private static let rounds = LongForm.isAsked ? 20_000 : 300

    @Test func linesStayLines() {
        var random = SplitMix(state: 11)
        for _ in 0..<Self.rounds {
            let report = Self.report(&random, findings: 3)
            // What a runner or an editor takes for the end of a line.
            func lines(_ text: String) -> [Substring] {
                text.unicodeScalars.split { [0x0A, 0x0D, 0x85, 0x2028, 0x2029, 0x0B, 0x0C].contains($0.value) }
                    .map { Substring($0) }
            }
            let commands = lines(report.github())
            #expect(commands.count == 3)
            for command in commands {
                let word = command.dropFirst(2).prefix { $0 != " " }
                #expect(command.hasPrefix("::") && ["error", "warning", "notice"].contains(word), "\(command)")
                // The properties end where the rule is named: a path adds none.
                let rest = Array(command.utf8.dropFirst(2 + word.utf8.count + 1))
                let end = rest.indices.first { rest[$0...].starts(with: "::".utf8) } ?? rest.endIndex
                let properties = rest[..<end]
                #expect([2, 4].contains(properties.split(separator: 0x2C).count), "\(command)")
            }
            #expect(lines(report.xcode()).count == 3)
            for scalar in report.junit().unicodeScalars {
                #expect(!(0x2028...0x202E).contains(scalar.value) && !(0x2066...0x2069).contains(scalar.value))
            }
            for scalar in report.text(colored: false).unicodeScalars where scalar != "\n" {
                #expect(scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value))
                #expect(!(0x202A...0x202E).contains(scalar.value) && !(0x2066...0x2069).contains(scalar.value))
            }
        }
    }

    @Test func nothingIsACommandForABuildMachine() throws {
        var random = SplitMix(state: 14)
        let marks = try Regex("##[A-Za-z]*\\[")
        for _ in 0..<Self.rounds {
            let report = Self.report(&random, findings: 3)
            let sarif = report.sarif()
            for text in [
                report.text(colored: false).commandSafe, report.junit().commandSafe, report.github(),
                report.markdown().commandSafe, report.xcode().commandSafe, report.html(), sarif.rendered(),
            ] { #expect(text.firstMatch(of: marks) == nil, "\(text)") }
            // The document's own text is as it was.
            #expect(try JSONReader.read(sarif.encoded()) == sarif)
            for line in report.junit().split(separator: "\n") {
                #expect(line.firstMatch(of: /^::\p{Alphabetic}/) == nil, "\(line)")
            }
        }
    }

    /// Cells as GitHub's grammar has them: a backslash takes the sign behind it along, also inside of code.
    private static func cells(_ row: String) -> Int {
        var count = 0
        var isEscaped = false
        for scalar in row.unicodeScalars {
            if isEscaped {
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else if scalar == "|" {
                count += 1
            }
        }
        return count - 1
    }

    /// As older renderers have them: only the sign before a bar counts.
    private static func plainCells(_ row: String) -> Int {
        var count = 0
        var last: Unicode.Scalar = " "
        for scalar in row.unicodeScalars {
            if scalar == "|", last != "\\" { count += 1 }
            last = scalar
        }
        return count - 1
    }

    @Test func markdownTablesKeepTheirColumns() {
        var random = SplitMix(state: 12)
        for _ in 0..<Self.rounds {
            let rows = Self.report(&random, findings: 3).markdown().unicodeScalars.split(separator: "\n").map(
                String.init)
            let table = rows.filter { $0.hasPrefix("| error") || $0.hasPrefix("| warning") || $0.hasPrefix("| note") }
            #expect(table.count == 3)
            for row in table { #expect(Self.cells(row) == 5 && Self.plainCells(row) == 5, "\(row)") }
            for row in rows {
                var rest = row.unicodeScalars[...]
                while let start = rest.firstIndex(of: "<") {
                    let tag = String(rest[start...])
                    // In a span of code everything is text.
                    let isInSpan = row.unicodeScalars[..<start].count { $0 == "`" } % 2 == 1
                    #expect(
                        isInSpan || tag.utf8.starts(with: "<code>".utf8) || tag.utf8.starts(with: "</code>".utf8),
                        "\(row)")
                    rest = rest[rest.index(after: start)...]
                }
            }
        }
    }

    private static let python = #"""
        import html.parser, json, sys, xml.etree.ElementTree as tree
        counts = {"junit": 0, "html": 0, "sarif": 0}
        known = set("html head meta title style body main header h1 p section h2 div span strong code ul li footer".split())
        class Page(html.parser.HTMLParser):
            def handle_starttag(self, tag, attributes):
                assert tag in known, tag
                for name, _ in attributes:
                    assert name in ("lang", "charset", "name", "content", "http-equiv", "class"), name
                counts["html"] += tag == "strong"
            def handle_comment(self, data): assert False, data
            def unknown_decl(self, data): assert False, data
        for line in sys.stdin:
            pages = json.loads(line)
            root = tree.fromstring(pages["junit"].encode())
            counts["junit"] += len(root.findall(".//testcase"))
            assert {e.tag for e in root.iter()} <= {"testsuites", "testsuite", "testcase", "failure", "system-out", "error"}
            page = Page(convert_charrefs=True)
            page.feed(pages["html"])
            page.close()
            counts["sarif"] += len(json.loads(pages["sarif"])["runs"][0]["results"])
        print(json.dumps(counts))
        """#

    /// Python's parsers of XML, HTML and JSON read what is written, and find our elements only.
    @Test func otherParsersReadIt() throws {
        var random = SplitMix(state: 13)
        let lines = (0..<Self.rounds).map { _ in
            let report = Self.report(&random, findings: 3)
            let pages: JSONValue = [
                "junit": .string(report.junit()), "html": .string(report.html()),
                "sarif": .string(report.sarif().rendered()),
            ]
            return pages.rendered(pretty: false)
        }
        let run = try ProgramRun(
            URL(fileURLWithPath: "/usr/bin/env"), ["python3", "-c", Self.python], input: lines.joined(separator: "\n"))
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.json["junit"] as? Int == Self.rounds * 5)
        #expect(run.json["html"] as? Int == Self.rounds * 3)
        #expect(run.json["sarif"] as? Int == Self.rounds * 3)
    }
}

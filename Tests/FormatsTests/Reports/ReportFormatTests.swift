// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Foundation
import TestSupport
import Testing
import Vocabulary

#if canImport(FoundationXML)
    import FoundationXML
#endif

@Suite struct ReportFormatTests {
    private static let nasty = "a <b> & \"c\" '|' `d` %0A\n::error::x ]]>\u{1B}[31m</script>"

    private static func report(
        line: Int = 3, failOn: Severity = .error, path: String = "App ä/Info.plist"
    )
        -> FindingsReport
    {
        let citation = Citation.apple(
            "NSAppTransportSecurity", url: "https://developer.apple.com/x", read: "2026-11-21")
        func finding(_ severity: Severity, _ rule: String, _ message: String) -> Finding {
            Finding(
                rule: rule, severity: severity, location: SourceLocation(line: line, column: 5),
                keyPath: ["NSAppTransportSecurity", "x.example.com"], message: message, fix: "Fix it.",
                citation: citation)
        }
        return FindingsReport(
            version: "1.2.3",
            rules: ["R001", "R002"].map {
                ($0, .error, "Summary.", "Reason.", citation)
            },
            files: [
                (
                    path,
                    [finding(.error, "R001", nasty), finding(.warning, "R002", "w"), finding(.note, "R002", "n")]
                ),
                ("Clean.plist", []),
            ],
            failOn: failOn,
            unreadable: [("Broken.plist", "line 1: is broken")]
        )
    }

    /// A file with too many findings was read, and no format says otherwise.
    @Test func whatIsNotListedWasRead() {
        let report = FindingsReport(
            version: "1.0.0", rules: [], files: [("Many.plist", [])],
            unlisted: [("Many.plist", "has 3 more findings, which are not listed")])
        #expect(report.text(colored: false).hasPrefix("Many.plist: has 3 more findings, which are not listed\n"))
        #expect(report.html().contains("Not listed") && !report.html().contains("Could not be read"))
        #expect(report.markdown().contains("## Not listed\n\n- `Many.plist`: has 3 more findings"))
        #expect(!report.markdown().contains("Not read"))
        #expect(report.junit().contains("errors=\"1\"") && report.junit().contains("name=\"list\"><error"))
        #expect(report.sarif().rendered().contains("Many.plist: has 3 more findings"))
    }

    @Test func textIsForTerminals() {
        let text = Self.report().text(colored: false)
        #expect(text.contains("App ä/Info.plist\n  3:5  error R001  NSAppTransportSecurity.x.example.com"))
        #expect(text.hasSuffix("1 error, 1 warning and 1 note in 2 files.\n"))
        #expect(!text.contains("\u{1B}"))
        #expect(Self.report().text(colored: true).contains("\u{1B}[1;31merror"))
    }

    @Test func xcodeLines() {
        let lines = Self.report().xcode().split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.last == "App ä/Info.plist:3:5: note: n [R002]")
    }

    @Test func githubCommandsCannotBeInjected() {
        let lines = Self.report(path: "a,b:c.plist").github().split(separator: "\n")
        #expect(lines.count == 3)
        #expect(
            lines.allSatisfy { $0.hasPrefix("::error ") || $0.hasPrefix("::warning ") || $0.hasPrefix("::notice ") })
        #expect(lines.first?.hasPrefix("::error file=a%2Cb%3Ac.plist,line=3,col=5,title=R001::a <b>") == true)
        #expect(lines.first?.contains("%250A%0A") == true)
    }

    @Test func markdownHasNoLooseMarkup() {
        let text = Self.report().markdown()
        #expect(text.contains("a &lt;b&gt; &amp; \"c\" '\\|' \\`d\\`"))
        #expect(text.split(separator: "\n").count { $0.hasPrefix("| error |") } == 1)
    }

    @Test(arguments: [(Severity.error, 1), (.warning, 2), (.note, 3)]) func junitIsWellFormed(
        _ failOn: Severity, _ failures: Int
    ) throws {
        let counter = ElementCounter()
        let parser = XMLParser(data: Data(Self.report(failOn: failOn).junit().utf8))
        parser.delegate = counter
        #expect(parser.parse())
        #expect(counter.counts["failure", default: 0] == failures)
        #expect(counter.counts["testcase"] == 5)
        #expect(counter.counts["error"] == 1)
    }

    private final class ElementCounter: NSObject, XMLParserDelegate {
        var counts: [String: Int] = [:]
        func parser(
            _: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            counts[name, default: 0] += 1
        }
    }

    @Test func fingerprintsSurviveMovedLines() throws {
        func prints(_ report: FindingsReport) -> [String] {
            report.sarif().rendered().split(separator: "\n").filter { $0.contains("sealward/v1") }.map(String.init)
        }
        let first = prints(Self.report(line: 3))
        #expect(first.count == 3 && Set(first).count == 3)
        #expect(first == prints(Self.report(line: 300)))
        #expect(first != prints(Self.report(path: "Other.plist")))
    }

    /// Two independent readers of SARIF from PyPI accept the document.
    @Test(.enabled(if: PythonPackages.has("sarif", "sarif_pydantic"), "pip install sarif-tools sarif-pydantic"))
    func sarifIsReadByOthers() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "sealward-sarif-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("r.sarif")
        try Self.report().sarif().rendered().write(to: file, atomically: true, encoding: .utf8)
        let output = try PythonPackages.run(
            """
            import sys, json
            from sarif import loader
            from sarif_pydantic import Sarif
            d = loader.load_sarif_file(sys.argv[1])
            print(len(d.get_results()), d.get_distinct_tool_names(), sorted(r["Severity"] for r in d.get_records()))
            s = Sarif.model_validate(json.load(open(sys.argv[1])))
            print(len(s.runs[0].results), s.runs[0].results[0].locations[0].physical_location.artifact_location.uri)
            """,
            [file.path]
        )
        #expect(output.contains("3 ['sealward'] ['error', 'note', 'warning']"), "\(output)")
        #expect(output.contains("3 App%20%C3%A4/Info.plist"), "\(output)")
    }

    @Test func pagesAreSelfContainedAndEscaped() {
        let page = Self.report().html()
        #expect(page.contains("a &lt;b&gt; &amp; &quot;c&quot;"))
        #expect(
            !page.contains("<script") && !page.contains("src=") && !page.contains("href=") && !page.contains("url("))
        #expect(page.contains("prefers-color-scheme:dark") && page.contains("width=device-width"))
    }
}

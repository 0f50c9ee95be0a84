// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import Findings
import Foundation
import TLSFacts

extension CheckDocuments {
    static func htmlHead(os: String) -> String {
        """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
        <title>App Transport Security check</title><style>\(style)</style></head><body>
        <h1>App Transport Security check</h1><p class="quiet">What an app on \(escape(os)) gets from these servers.</p>

        """
    }

    static let htmlTail = "</body></html>\n"

    static func html(_ report: TargetReport) -> String {
        let result = report.decisive?.result.rawValue ?? "UNDETERMINED"
        var text = "<section><h2><span class=\"\(result)\">\(result)</span> \(escape(report.target))</h2>\n"
        text += "<div class=\"strip\">"
        for row in report.results {
            let marks = report.isLeastPassing(row) ? " smallest" : ""
            text += "<span class=\"\(row.result.rawValue)\(marks)\" title=\"\(escape(row.configuration.name))\"></span>"
        }
        text += "</div>\n"
        if let because = report.decisive?.because, !because.isEmpty {
            text +=
                "<ol>"
                + because.map { "<li><code>\(escape($0.code.rawValue))</code> \(escape($0.message))</li>" }.joined()
                + "</ol>\n"
        }
        if report.decisive?.result != .pass {
            if let code = report.decisive?.because.first?.code, let snippet = CheckSnippets.nginx(for: code) {
                text += "<p>On the server (nginx)</p><pre>\(escape(snippet))</pre>\n"
            }
            if let snippet = CheckSnippets.plist(report.smallestException) {
                text += "<p>Or the smallest exception in Info.plist</p><pre>\(escape(snippet))</pre>\n"
            } else if report.decisive?.result == .fail {
                text += "<p>No exception helps.</p>\n"
            }
        }
        if let facts = report.facts { text += html(facts) }
        text += "<details><summary>Configurations</summary><table><tr><th>configuration<th>result<th>because</tr>\n"
        for row in report.results {
            let reasons = row.because.map { escape($0.code.rawValue) }.joined(separator: "<br>")
            text +=
                "<tr><td>\(escape(row.configuration.name))<td class=\"\(row.result.rawValue)\">\(row.result.rawValue)<td>\(reasons)</tr>\n"
        }
        return text + "</table></details></section>\n"
    }

    private static func html(_ facts: ConnectionFacts) -> String {
        var text = "<p>\(escape(facts.handshake.version.description)) · \(escape(facts.handshake.suite.description))"
        if let group = facts.handshake.group { text += " · \(escape(group.description))" }
        text += "</p>\n<table><tr><th>certificate<th>from<th>to</tr>\n"
        for certificate in facts.chain.judged {
            text +=
                "<tr><td>\(escape(certificate.subject))<td>\(day(certificate.notBefore))<td>\(day(certificate.notAfter))</tr>\n"
        }
        if let anchor = facts.chain.anchor {
            text += "<tr><td>\(escape(anchor.certificate.subject)) (\(anchor.kind.rawValue) root)<td>"
            text += "\(day(anchor.certificate.notBefore))<td>\(day(anchor.certificate.notAfter))</tr>\n"
        }
        return text + "</table>\n"
    }

    private static func day(_ date: Date) -> String { String(date.formatted(.iso8601).prefix(10)) }

    private static let style = """
        :root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{max-width:60rem;margin:0 auto;padding:1rem}
        section{border-top:1px solid #8886;padding:1rem 0;overflow-wrap:anywhere}h2{font-size:1.1rem}
        h2 span{color:#fff;border-radius:.3rem;padding:.1rem .5rem}.quiet{opacity:.7}
        .strip{display:flex;gap:2px}.strip span{flex:1;height:1rem;border-radius:2px}.strip .smallest{outline:2px solid currentColor}
        span.PASS{background:#1a7f37}span.FAIL{background:#cf222e}span.UNDETERMINED{background:#9a6700}
        table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.2rem .4rem;border-bottom:1px solid #8884;vertical-align:top}
        td.FAIL{color:#cf222e}td.PASS{color:#1a7f37}td.UNDETERMINED{color:#9a6700}pre{overflow-x:auto;background:#8882;padding:.5rem}
        """
}

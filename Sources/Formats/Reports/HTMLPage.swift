// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// One self-contained page: no script, no font, no image from anywhere; readable on a phone, light and dark.
package struct HTMLPage {
    private let title: String
    /// One sentence below the title.
    private let lead: String
    /// The finished markup of the page's sections.
    private var body = HTML()

    package init(title: String, lead: String) {
        self.title = title
        self.lead = lead
    }

    /// Everything that is put in comes through here: the text of a file or a server is never markup.
    static func text(_ text: String) -> String { Markup.text(text.terminalSafe) }

    package mutating func section(_ heading: String, _ markup: HTML) {
        body += "<section><h2>\(heading)</h2>\n\(markup)</section>\n"
    }

    package func rendered(footer: String) -> String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
        <title>\(Self.text(title))</title>
        <style>
        \(Self.style)
        </style>
        </head>
        <body>
        <header><div class="bar"><span class="brand">Sealward</span><h1>\(Self.text(title))</h1></div></header>
        <main>
        <p class="lead dim">\(Self.text(lead))</p>
        \(body.markup)</main>
        <footer class="dim">\(Self.text(footer))</footer>
        </body>
        </html>

        """
    }

    private static let style =
        ReportStyle.style + "\n" + """
            h2{font-size:1.1rem}h3{margin:1.1rem 0 .4rem}h2+h3{margin-top:.5rem}
            header h1{padding:.55rem 0}
            .lead{margin:0 0 1rem}
            ul,ol.causes{margin:0;padding-left:1.4rem}
            pre{background:var(--code);border:1px solid var(--line);border-radius:.35rem;padding:.6rem .75rem;overflow-x:auto;margin:.4rem 0 0}
            .pair{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,2fr);gap:.25rem 1.5rem;border-top:1px solid var(--line);padding:.5rem 0}
            .pair:first-of-type{border-top:0}.pair p{margin:.15rem 0}
            .path{color:var(--dim);font-size:.85rem;overflow-wrap:anywhere}
            .smallest td:first-child{font-weight:600}
            .strip th:first-child{position:sticky;left:0;background:var(--card);min-width:11rem}.strip td,.strip th+th{text-align:center}
            td:has(>.span){vertical-align:middle}td.day{white-space:nowrap}
            .span{position:relative;height:1.1rem;background:var(--code);border:1px solid var(--line);border-radius:.3rem;min-width:7rem}
            .span i{position:absolute;top:0;bottom:0;background:var(--goodbg);border:1px solid var(--good);border-radius:.2rem}
            .span i.soon{background:var(--warnbg);border-color:var(--warn)}.span i.out{background:var(--badbg);border-color:var(--bad)}
            .span b{position:absolute;top:-.2rem;bottom:-.2rem;width:2px;background:var(--ink)}
            .course{display:block;width:100%;height:1.4rem;border:1px solid var(--line);border-radius:.3rem;margin:0 0 .6rem}
            .course .pass{fill:var(--good)}.course .fail{fill:var(--bad)}.course .undetermined{fill:var(--warn)}
            .del{color:var(--bad);background:var(--badbg);display:block}.ins{color:var(--good);background:var(--goodbg);display:block}
            .same{display:block}
            @media (max-width:40rem){.strip th:first-child{position:static}.stack thead{display:none}.stack tr,.stack td{display:block;width:100%}
            .stack tr{border-top:1px solid var(--line);padding:.4rem 0}.stack td{border:0;padding:.1rem 0}
            td[data-of]::before{content:attr(data-of);display:inline-block;min-width:4rem;color:var(--dim);font-size:.85rem}
            .pair{grid-template-columns:minmax(0,1fr)}}
            @media print{body{background:#fff}section{break-inside:avoid}}
            """
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings

/// One self-contained page: no script, no font, no image from anywhere; readable on a phone, light and dark.
struct HTMLPage {
    let title: String
    /// One sentence below the title.
    let lead: String
    /// The finished markup of the page's sections.
    var body = ""

    /// Everything that is put in comes through here: the text of a file or a server is never markup.
    static func text(_ text: String) -> String { Markup.text(text.terminalSafe) }

    /// Text that may have several lines.
    static func block(_ text: String) -> String { Markup.text(text) }

    mutating func section(_ heading: String, _ markup: String) {
        body += "<section><h2>\(Self.text(heading))</h2>\n\(markup)</section>\n"
    }

    func rendered(footer: String) -> String {
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
        <main>
        <header><h1>\(Self.text(title))</h1><p class="lead">\(Self.text(lead))</p></header>
        \(body)<footer>\(Self.text(footer))</footer>
        </main>
        </body>
        </html>

        """
    }

    private static let style =
        ReportPalette.style + "\n" + """
            *{box-sizing:border-box}
            body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
            main{max-width:72rem;margin:0 auto;padding:1rem}
            h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}h2{font-size:1.15rem;margin:0 0 .75rem;overflow-wrap:anywhere}
            h3{font-size:1rem;margin:1.25rem 0 .5rem}
            .lead{color:var(--dim);margin:.25rem 0 1rem}
            section{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:1rem;margin:0 0 1rem}
            footer{color:var(--dim);font-size:.85rem;padding:.5rem 0 2rem}
            .wide{overflow-x:auto}
            table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.45rem .6rem;border-top:1px solid var(--line)}
            thead th{border-top:0;color:var(--dim);font-weight:600;font-size:.85rem}
            code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.86em}
            td code,li code,p code{overflow-wrap:anywhere}
            pre{background:var(--code);border:1px solid var(--line);border-radius:.4rem;padding:.75rem;overflow-x:auto;margin:.5rem 0 0}
            .tag{display:inline-block;border-radius:1rem;padding:.05rem .6rem;font-size:.82rem;font-weight:600;white-space:nowrap}
            .pass{color:var(--good);background:var(--goodbg)}.fail,.error{color:var(--bad);background:var(--badbg)}
            .undetermined,.warning{color:var(--warn);background:var(--warnbg)}.note{color:var(--note);background:var(--notebg)}
            .fix{color:var(--dim)}
            .finding{border-top:1px solid var(--line);padding:.7rem 0}.finding:first-of-type{border-top:0}.finding p{margin:.3rem 0 0}
            .path{color:var(--dim);font-size:.85rem;overflow-wrap:anywhere}
            .smallest{outline:2px solid var(--good);outline-offset:-2px}
            .strip td,.strip th+th{text-align:center}
            ol.causes{margin:0;padding-left:1.4rem}ol.causes li{margin:.35rem 0}
            .bar{position:relative;height:1.1rem;background:var(--code);border:1px solid var(--line);border-radius:.3rem;min-width:12rem}
            .bar i{position:absolute;top:0;bottom:0;background:var(--goodbg);border:1px solid var(--good);border-radius:.2rem}
            .bar i.out{background:var(--badbg);border-color:var(--bad)}
            .bar b{position:absolute;top:-.2rem;bottom:-.2rem;width:2px;background:var(--ink)}
            .course{display:block;width:100%;height:1.4rem;border:1px solid var(--line);border-radius:.3rem;margin:0 0 .6rem}
            .course .pass{fill:var(--good)}.course .fail{fill:var(--bad)}.course .undetermined{fill:var(--warn)}
            .del{color:var(--bad);background:var(--badbg);display:block}.ins{color:var(--good);background:var(--goodbg);display:block}
            .same{display:block}
            @media (max-width:40rem){main{padding:.6rem}section{padding:.75rem}h1{font-size:1.3rem}
            .stack thead{display:none}.stack tr,.stack td{display:block;width:100%}.stack tr{border-top:1px solid var(--line);padding:.4rem 0}
            .stack td{border:0;padding:.1rem .4rem}}
            @media print{body{background:#fff}section{break-inside:avoid}}
            """
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The look of every page that Sealward makes: reports and the console.
package enum ReportStyle {
    /// Colors for light and dark, and the form of what all pages have: text, sections, tables, tags.
    ///
    /// `--bg` the page, `--card` what lies on it, `--ink` text, `--dim` text of less weight, `--line` borders; the others by what they say.
    /// Each text color has a contrast of at least 4.5 to 1 on its ground (WCAG 2.2, criterion 1.4.3).
    package static let style = """
        :root{--bg:#f6f7f9;--card:#fff;--ink:#1b1f24;--dim:#59636e;--line:#d8dee4;--good:#116329;--goodbg:#dafbe1;--bad:#a40e26;
        --badbg:#ffebe9;--warn:#7d4e00;--warnbg:#fff8c5;--note:#0550ae;--notebg:#ddf4ff;--code:#eff1f4}
        @media (prefers-color-scheme:dark){:root{--bg:#0d1117;--card:#161b22;--ink:#e6edf3;--dim:#9198a1;--line:#30363d;--good:#7ee787;
        --goodbg:#12361f;--bad:#ff9a92;--badbg:#4b1113;--warn:#f0c75e;--warnbg:#3d2e00;--note:#79c0ff;--notebg:#0c2d6b;--code:#0b0f14}}
        *{box-sizing:border-box}
        html{-webkit-text-size-adjust:100%}
        body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;\
        font-variant-numeric:tabular-nums}
        :is(a,button,input,select,summary,[tabindex]):focus-visible{outline:2px solid var(--note);outline-offset:2px}
        code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9em}
        :is(code,h1,h2,h3,p,li){overflow-wrap:anywhere}
        h1{font-size:1.35rem;line-height:1.25;margin:0}
        h2{font-size:1rem;margin:0 0 .5rem}
        h3{font-size:.9rem;margin:0;font-weight:600}
        p{margin:.25rem 0 .5rem}
        .dim{color:var(--dim);font-size:.87rem}
        header{background:var(--card);border-bottom:1px solid var(--line)}
        .bar{max-width:80rem;margin:0 auto;padding:0 1rem;display:flex;flex-wrap:wrap;align-items:center;gap:0 1.25rem}
        .brand{font-weight:700;color:var(--ink);text-decoration:none;padding:.7rem 0}
        main{max-width:80rem;margin:0 auto;padding:1rem}
        main>h1{margin:.25rem 0 1rem}
        footer{max-width:80rem;margin:0 auto;padding:0 1rem 2rem}
        section{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:1rem;min-width:0}
        main>section{margin:0 0 1rem}
        .wide{overflow-x:auto}
        table{border-collapse:collapse;width:100%}
        th,td{text-align:left;vertical-align:baseline;padding:.32rem .75rem .32rem 0;border-top:1px solid var(--line);font-weight:400}
        thead th{border-top:0;color:var(--dim);font-size:.82rem;font-weight:600;white-space:nowrap}
        td:last-child,th:last-child{padding-right:0}
        details{margin:.25rem 0 0}
        summary{color:var(--dim);font-size:.82rem;cursor:pointer}
        .tag{display:inline-block;border-radius:1rem;padding:.02rem .6rem;font-size:.8rem;font-weight:600;white-space:nowrap;vertical-align:middle}
        .tag.pass{color:var(--good);background:var(--goodbg)}
        .tag.fail,.tag.error{color:var(--bad);background:var(--badbg)}
        .tag.undetermined,.tag.warning{color:var(--warn);background:var(--warnbg)}
        .tag.note{color:var(--note);background:var(--notebg);border:0}
        @media (max-width:40rem){main{padding:.75rem}section{padding:.8rem}}
        """
}

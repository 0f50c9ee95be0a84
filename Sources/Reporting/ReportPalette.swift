// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The colours of every page that Sealward makes, for light and dark, as custom properties of CSS.
package enum ReportPalette {
    /// `--bg` the page, `--card` what lies on it, `--ink` text, `--dim` text of less weight, `--line` borders; the others by what they say.
    /// Each text colour has a contrast of at least 4.5 to 1 on its ground (WCAG 2.2, criterion 1.4.3).
    package static let style = """
        :root{--bg:#f6f7f9;--card:#fff;--ink:#1b1f24;--dim:#59636e;--line:#d8dee4;--good:#116329;--goodbg:#dafbe1;--bad:#a40e26;
        --badbg:#ffebe9;--warn:#7d4e00;--warnbg:#fff8c5;--note:#0550ae;--notebg:#ddf4ff;--code:#eff1f4}
        @media (prefers-color-scheme:dark){:root{--bg:#0d1117;--card:#161b22;--ink:#e6edf3;--dim:#9198a1;--line:#30363d;--good:#7ee787;
        --goodbg:#12361f;--bad:#ff9a92;--badbg:#4b1113;--warn:#f0c75e;--warnbg:#3d2e00;--note:#79c0ff;--notebg:#0c2d6b;--code:#0b0f14}}
        """
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Testing

@Suite struct HTMLTests {
    @Test func whatIsPutInIsTextUnlessItIsMarkup() {
        let name = "<b title=\"x\">'&'\u{202E}\u{0}</b>"
        let cell: HTML = "<td title=\"\(name)\">\(name)</td>"
        let escaped = "&lt;b title=&quot;x&quot;&gt;&#39;&amp;&#39;\\u{202e}\\u{0}&lt;/b&gt;"
        #expect(cell.markup == "<td title=\"\(escaped)\">\(escaped)</td>")
        let row: HTML = "<tr>\([cell, cell])</tr>\(7)"
        #expect(row.markup == "<tr>\(cell.markup)\(cell.markup)</tr>7")
        var list = HTML()
        list += cell
        #expect(list == cell)
    }
}

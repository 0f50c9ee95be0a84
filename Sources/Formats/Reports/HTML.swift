// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// Markup whose literals were written here and whose values are escaped.
///
/// What is interpolated is text unless it is markup of this type itself, so a name from outside cannot become a tag or leave an attribute
/// in double quotes.
///
///     let row: HTML = "<td title=\"\(user)\">\(user)</td>"
package struct HTML: Sendable, Equatable, ExpressibleByStringInterpolation {
    /// The markup as it is sent.
    package private(set) var markup: String

    package init() { markup = "" }
    package init(stringLiteral value: String) { markup = value }
    package init(stringInterpolation: Pieces) { markup = stringInterpolation.markup }

    /// The pieces of a literal.
    package struct Pieces: StringInterpolationProtocol {
        fileprivate var markup = ""

        package init(literalCapacity: Int, interpolationCount: Int) { markup.reserveCapacity(literalCapacity) }

        package mutating func appendLiteral(_ literal: String) { markup += literal }
        package mutating func appendInterpolation(_ text: String) { markup += HTMLPage.text(text) }
        /// Text that may have several lines.
        package mutating func appendInterpolation(block text: String) { markup += Markup.text(text) }
        package mutating func appendInterpolation(_ number: Int) { markup += String(number) }
        package mutating func appendInterpolation(_ html: HTML) { markup += html.markup }
        /// Pieces one after the other.
        package mutating func appendInterpolation(_ list: [HTML]) { for html in list { markup += html.markup } }
    }

    /// A table that becomes a list on a narrow screen.
    package static func table(_ heads: [String], _ rows: HTML) -> HTML {
        let cells = heads.map { "<th>\($0)</th>" as HTML }
        return "<table class=\"stack\"><thead><tr>\(cells)</tr></thead><tbody>\n\(rows)</tbody></table>\n"
    }

    package static func += (left: inout HTML, right: HTML) { left.markup += right.markup }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Formats

/// The forms of a command that has no others.
enum TextOrJSON: String, ExpressibleByArgument, CaseIterable {
    case text, json

    /// Writes the answer of a command in this form.
    ///
    /// - Parameter fits: whether long lines of the text are broken; not for those that a program reads.
    func write(
        _ json: @autoclosure () -> JSONValue, text: @autoclosure () -> String, fits: Bool = true,
        to shared: SharedOptions
    ) throws {
        if self == .json { return try CommandIO.write(json().rendered() + "\n", to: shared.output) }
        try CommandIO.write(fits ? text().fitted : text(), to: shared.output)
    }
}

/// The forms of a command whose whole answer is a page of the documentation too.
enum TextJSONOrPage: String, ExpressibleByArgument, CaseIterable {
    case text, json, markdown

    /// Writes the answer of a command in this form.
    func write(
        _ json: @autoclosure () -> JSONValue, text: @autoclosure () -> String, page: () -> String,
        to shared: SharedOptions
    ) throws {
        switch self {
        case .text: try TextOrJSON.text.write(nil, text: text(), to: shared)
        case .json: try TextOrJSON.json.write(json(), text: "", to: shared)
        case .markdown: try CommandIO.write(page(), to: shared.output)
        }
    }
}

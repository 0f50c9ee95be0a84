// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Findings
import Foundation

/// An instant given on the command line in RFC 3339, for example `2026-11-21T12:00:00Z`.
///
/// A day, an hour or an offset that does not exist is refused, where Foundation counts on into the next one.
struct Instant: ExpressibleByArgument {
    let date: Date

    init?(argument: String) {
        guard let date = RFC3339.date(argument.utf8) else { return nil }
        self.date = date
    }
}

/// An instant given on the command line in RFC 3339, or a date, which is its midnight in UTC.
struct DayOrInstant: ExpressibleByArgument {
    let date: Date
    let text: String

    init?(argument: String) {
        guard let date = RFC3339.date(argument.utf8) ?? RFC3339.day(argument.utf8) else { return nil }
        self.date = date
        text = argument
    }
}

/// The options that every command has.
struct SharedOptions: ParsableArguments {
    @Option(
        name: .customLong("output"),
        help: ArgumentHelp("Write the result to a file; - is standard output.", valueName: "FILE"))
    private var file: String?

    /// The file of the result; nil for standard output.
    var output: String? { file == "-" ? nil : file }

    @Flag(name: .long, help: "Disable color.")
    var noColor = false

    @Flag(name: .long, help: "Print nothing but the result.")
    var quiet = false
}

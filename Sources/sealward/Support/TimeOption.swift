// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Vocabulary

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
        guard let date = RFC3339.instantOrDay(argument) else { return nil }
        self.date = date
        text = argument
    }
}

/// A length of time given on the command line: `90s`, `15m`, `24h`, `7d`, or seconds as a plain number.
struct DurationOption: ExpressibleByArgument {
    let seconds: UInt32

    init?(argument: String) {
        var digits = Array(argument.utf8)[...]
        let units: [UInt8: UInt32] = [0x73: 1, 0x6D: 60, 0x68: 3600, 0x64: 86_400]
        let unit = digits.last.flatMap { units[$0] }
        if unit != nil { digits.removeLast() }
        guard digits.allSatisfy({ 0x30...0x39 ~= $0 }), let number = UInt32(String(decoding: digits, as: UTF8.self))
        else { return nil }
        let (seconds, isTooLong) = number.multipliedReportingOverflow(by: unit ?? 1)
        if isTooLong { return nil }
        self.seconds = seconds
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

    @Flag(help: "Disable color.")
    var noColor = false

    @Flag(help: "Print nothing but the result.")
    var quiet = false

    /// Whether the result goes to a terminal that shows colors.
    var showsColors: Bool { CommandIO.mayColor(disabled: noColor || output != nil) }
}

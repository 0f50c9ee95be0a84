// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// An instant given on the command line in RFC 3339, for example `2026-11-21T12:00:00Z`.
struct Instant: ExpressibleByArgument {
    let date: Date

    init?(argument: String) {
        let withFraction = ISO8601DateFormatter()
        withFraction.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        guard let date = ISO8601DateFormatter().date(from: argument) ?? withFraction.date(from: argument) else {
            return nil
        }
        self.date = date
    }
}

/// The options that every command has.
struct SharedOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("Write the result to a file.", valueName: "FILE"))
    var output: String?

    @Flag(name: .long, help: "Never use colour.")
    var noColor = false

    @Flag(name: .long, help: "Print nothing but the result.")
    var quiet = false
}

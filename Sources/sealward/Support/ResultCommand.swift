// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Formats

extension ParsableCommand {
    /// Runs any command, also those that the parser makes.
    mutating func start() async throws {
        if var command = self as? any AsyncParsableCommand { try await command.run() } else { try run() }
    }
}

/// A command whose ``outcome()`` does the work and says how it ended.
protocol WorkingCommand: AsyncParsableCommand {
    /// - Throws: ``CommandFault`` and `MalformedInput`, which end the command with status 2 and one sentence.
    func outcome() async throws -> Outcome
}

extension WorkingCommand {
    func run() async throws { try await CommandIO.run(outcome) }
}

/// A command with one result, which it prints as text or JSON.
protocol ResultCommand: WorkingCommand {
    var form: ResultForm { get }

    func result() async throws -> CommandResult
}

extension ResultCommand {
    func outcome() async throws -> Outcome {
        let result = try await result()
        try form.format.write(result.json(), text: result.text(), fits: result.fits, to: form.shared)
        return result.outcome
    }
}

/// What a command found, for programs and for people, and how it ends.
struct CommandResult {
    let json: () -> JSONValue
    let text: () -> String
    /// Whether long lines of the text are broken; not for those that a program reads.
    let fits: Bool
    let outcome: Outcome

    init(
        _ json: @autoclosure @escaping () -> JSONValue, text: @autoclosure @escaping () -> String, fits: Bool = true,
        _ outcome: Outcome = .clean
    ) {
        self.json = json
        self.text = text
        self.fits = fits
        self.outcome = outcome
    }
}

/// The form and the place of a result.
struct ResultForm: ParsableArguments {
    @Option(help: .value("Output format: text or json.", "FORMAT"))
    var format: TextOrJSON = .text

    @OptionGroup var shared: SharedOptions
}

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

/// The options that every command has.
struct SharedOptions: ParsableArguments {
    @Option(name: .customLong("output"), help: .value("Write the result to a file; - is standard output.", "FILE"))
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

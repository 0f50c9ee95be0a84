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

    /// - Throws: as ``WorkingCommand/outcome()``.
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
    @Option(help: ArgumentHelp("Output format: text or json.", valueName: "FORMAT"))
    var format: TextOrJSON = .text

    @OptionGroup var shared: SharedOptions
}

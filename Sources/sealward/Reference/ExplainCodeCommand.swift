// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import ATSLint
import ArgumentParser
import Formats
import Vocabulary

struct ExplainCodeCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "What a code, an error number, a name or a key means, and who must do what about it.",
        discussion: """
            Examples:
              sealward explain ats.tls.version-too-low
              sealward explain -1022
              sealward explain "NSURLErrorDomain -1200"
              sealward explain com.apple.devicecheck.error 3
              sealward explain NSAllowsLocalNetworking

            WHAT is a code of any command or answer, or several codes, the id of a lint rule, a number of NSURLErrorDomain, of a CFStream error, of AVFoundation, \
            CoreMedia or WebKit, an OSStatus of TLS or the Keychain, a DCError, with or without sign and domain, the name of such an error, a TLS alert, a status \
            of App Check (App Check 403) or of the receipt service (receipt 404), a key of NSAppTransportSecurity, a word of an answer (tier none, receiptOld), or a line of a log.

            Exit status: 0 done, 2 a number that nobody documents, 64 usage and unknown words.
            """
    )

    @Argument(help: .value("A code, rule, number, name or key. Without it all codes are listed.", "WHAT"))
    var words: [String] = []

    @Option(help: .value("Output format: text, json or markdown (all codes as a page).", "FORMAT"))
    var format: TextJSONOrPage = .text

    @OptionGroup var shared: SharedOptions

    private var what: String? { words.isEmpty ? nil : words.joined(separator: " ") }

    /// Nil for words that say nothing known.
    private var answer: (json: () -> JSONValue, text: () -> String, outcome: Outcome)? {
        guard let what else { return ({ CodeCatalog.json(CodeCatalog.all) }, { CodeCatalog.list() }, .clean) }
        if let rule = RuleCatalog.rule(what) { return ({ RuleBook.json([rule]) }, { RuleBook.text(rule) }, .clean) }
        let codes = words.compactMap(CodeCatalog.explanation)
        if codes.count == words.count {
            return (
                { CodeCatalog.json(codes) }, { codes.map(CodeCatalog.text).joined(separator: "\n") }, .clean
            )
        }
        if let subject = ExplainedSubject(wordOfAnswers: what) ?? ExplainedSubject(what) {
            return ({ CodeCatalog.json(subject) }, { subject.text }, subject.isKnown ? .clean : .undetermined)
        }
        var log = DeviceLog { SecretText.redacted($0, hidesUnnamed: false) }
        log.read(Array(what.utf8))
        let report = log.report()
        return report.failures.isEmpty ? nil : ({ report.json }, { report.text }, .clean)
    }

    func validate() throws {
        guard let what, answer == nil else { return }
        let hint =
            CodeCatalog.suggestion(for: what).map { "Did you mean '\($0)'?" } ?? "'sealward explain' lists them all."
        throw ValidationError(
            "There is no code '\(SecretText.redacted(what, hidesUnnamed: false).terminalSafe(limit: 80))'. \(hint)")
    }

    func outcome() async throws -> Outcome {
        guard let answer else { return .undetermined }
        try format.write(answer.json(), text: answer.text(), page: { CodeCatalog.markdown() }, to: shared)
        return answer.outcome
    }

    /// The words of the command line in which negative numbers and PEM are no options: behind the `=` of the option before them, or behind `--`
    /// where numbers are explained.
    static func allowingMinus(_ given: [String]) -> [String] {
        let isNumber = { (word: String) in
            word.utf8.first == UInt8(ascii: "-") && word.utf8.dropFirst().first.map { 0x30...0x39 ~= $0 } == true
        }
        let explains =
            given.first.map { [configuration.commandName, DoctorCommand.configuration.commandName].contains($0) }
            == true
        var words: [String] = []
        for word in given {
            if word.hasPrefix("-----BEGIN ") || isNumber(word) && !explains, let option = words.last,
                option.hasPrefix("--"), option != "--", !option.contains("=")
            {
                words[words.endIndex - 1] = option + "=" + word
            } else {
                words.append(word)
            }
        }
        guard explains, !words.contains("--") else { return words }
        let numbers = words.filter(isNumber)
        return numbers.isEmpty ? words : words.filter { !isNumber($0) } + ["--"] + numbers
    }
}

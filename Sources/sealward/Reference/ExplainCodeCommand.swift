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

            WHAT is a code of any command or answer, the id of a lint rule, a number of NSURLErrorDomain, of a CFStream error, of AVFoundation, \
            CoreMedia or WebKit, an OSStatus of TLS or a DCError, with or without sign and domain, the name of such an error, a TLS alert, a status \
            of App Check (App Check 403) or of the receipt service (receipt 404), a key of NSAppTransportSecurity, or a line of a log.

            Exit status: 0 done, 64 usage and unknown words.
            """
    )

    @Argument(
        help: ArgumentHelp("A code, rule, number, name or key. Without it all codes are listed.", valueName: "WHAT"))
    var words: [String] = []

    @Option(help: ArgumentHelp("Output format: text, json or markdown (all codes as a page).", valueName: "FORMAT"))
    var format: TextJSONOrPage = .text

    @OptionGroup var shared: SharedOptions

    private var what: String? { words.isEmpty ? nil : words.joined(separator: " ") }

    /// Nil for words that say nothing known.
    private var answer: (json: () -> JSONValue, text: () -> String)? {
        guard let what else { return ({ CodeCatalog.json(CodeCatalog.all) }, { CodeCatalog.list() }) }
        if let rule = RuleCatalog.rule(what) { return ({ RuleBook.json([rule]) }, { RuleBook.text(rule) }) }
        if let code = CodeCatalog.explanation(of: what) {
            return ({ CodeCatalog.json([code]) }, { CodeCatalog.text(code) })
        }
        if let subject = ExplainedSubject(what) { return ({ CodeCatalog.json(subject) }, { subject.text }) }
        var log = DeviceLog()
        log.read(Array(what.utf8))
        let report = log.report()
        return report.failures.isEmpty ? nil : ({ report.json }, { report.text })
    }

    func validate() throws {
        guard let what, answer == nil else { return }
        let hint =
            CodeCatalog.suggestion(for: what).map { "Did you mean '\($0)'?" } ?? "'sealward explain' lists them all."
        throw ValidationError("There is no code '\(what.terminalSafe(limit: 80))'. \(hint)")
    }

    func outcome() async throws -> Outcome {
        guard let answer else { return .undetermined }
        try format.write(answer.json(), text: answer.text(), page: { CodeCatalog.markdown() }, to: shared)
        return .clean
    }

    /// The words of the command line with those that begin with a negative number behind `--`, and PEM behind the `=` of its option: they are
    /// no options.
    static func allowingMinus(_ given: [String]) -> [String] {
        var words: [String] = []
        for word in given {
            if word.hasPrefix("-----BEGIN "), let option = words.last, option.hasPrefix("--"), !option.contains("=") {
                words[words.endIndex - 1] = option + "=" + word
            } else {
                words.append(word)
            }
        }
        guard let first = words.first,
            [configuration.commandName, DoctorCommand.configuration.commandName].contains(first),
            !words.contains("--")
        else { return words }
        let isNumber = { (word: String) in
            word.utf8.first == UInt8(ascii: "-") && word.utf8.dropFirst().first.map { 0x30...0x39 ~= $0 } == true
        }
        let numbers = words.filter(isNumber)
        return numbers.isEmpty ? words : words.filter { !isNumber($0) } + ["--"] + numbers
    }
}

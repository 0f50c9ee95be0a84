// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import AppTransportSecurity
import ArgumentParser
import Formats
import FoundationEssentials
import Vocabulary

struct LintCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "lint",
        abstract: "Read an app's ATS dictionary as Apple does, and report what is wrong.",
        discussion: """
            PATH is an Info.plist in any form (XML, a part of it, binary, the old style, JSON, what plutil, PlistBuddy and defaults print), an \
            .app, .appex, .ipa or .xcarchive, the file of a project, or a folder to search. - is standard input. \
            Only regular files are opened, and /dev/stdin or /dev/fd/N, which a shell writes for <(...). In a folder, links are followed \
            only to files of the same folder.

            Example:
              sealward ats lint Info.plist --fail-on warning

            Exit status: 0 no finding of that severity, 1 findings, 2 something cannot be read, 64 usage.
            """
    )

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json, sarif, junit, github, xcode, markdown, html
    }

    @Argument(help: .value("What to lint.", "PATH"))
    var paths: [String] = []

    @Option(help: .value("Output format: text, json, sarif, junit, github, xcode, markdown or html.", "FORMAT"))
    var format: Format = .text

    @Option(help: .value("The mildest severity that fails the run: error, warning or note.", "SEVERITY"))
    var failOn: Severity = .error

    @Option(
        name: .customLong("minimum-os"),
        help: .value("The oldest system the app runs on, for example ios15 or macos12.", "ID"))
    var minimumOS: String?

    @Option(help: .value("\(LinkedSDK.help).", "N"))
    var sdk: LinkedSDK?

    @Option(help: .value("The configuration that .NET project files are read for: Release, Debug or yours.", "NAME"))
    var configuration = "Release"

    @Option(help: .value("Known findings that do not fail the run.", "FILE"))
    var baseline: String?

    @Flag(
        help:
            "Write the baseline: all findings if there is none yet, otherwise drop what is fixed. It never gains findings."
    )
    var updateBaseline = false

    @Option(help: .value("An earlier Info.plist, app or folder: report only what got weaker since.", "OLD"))
    var against: String?

    @Flag(help: "Apply safe fixes in place.")
    var fix = false

    @Flag(help: "Print a draft of the justification for App Review.")
    var justify = false

    @Option(help: .value("A report of 'ats check --format json', for --justify.", "FILE"))
    var checkReport: String?

    @OptionGroup var values: BuildValueOptions

    @OptionGroup var shared: SharedOptions

    func validate() throws {
        if fix, !values.isEmpty {
            throw ValidationError("--fix changes the file as it is: leave out --define and --xcconfig.")
        }
        if paths.isEmpty { throw ValidationError("Name what to lint, for example: sealward ats lint Info.plist") }
        if let minimumOS, MinimumSystem(id: minimumOS) == nil {
            throw ValidationError(
                "'\(minimumOS.terminalSafe(limit: 40))' is not a system; write for example ios15, watchos8 or macos10.12."
            )
        }
        if updateBaseline, baseline == nil { throw ValidationError("--update-baseline needs --baseline FILE.") }
        if checkReport != nil, !justify { throw ValidationError("--check-report requires --justify.") }
        if against != nil, fix || justify {
            throw ValidationError("--against cannot be combined with --fix or --justify.")
        }
        if paths.count(where: { $0 == "-" }) > 1 { throw ValidationError("Standard input can be read only once.") }
    }

    func outcome() async throws -> Outcome {
        let budget = ReadingBudget()
        let values = try values.values()
        let progress = ProgressLine(counting: "files looked at", quiet: shared.quiet)
        func input() -> LintInput {
            LintInput(of: self, budget: budget, values: values, progress: progress)
        }
        defer { progress?.clear() }
        var gathered = input()
        for path in paths { try gathered.add(path) }
        progress?.clear()
        if fix { try gathered.fix(quiet: shared.quiet) }
        var results: [LintResult]
        if let against {
            var old = input()
            try old.add(against)
            progress?.clear()
            for (path, reason) in old.unreadable { throw CommandFault("\(path): \(reason).") }
            results = gathered.weakenings(since: old)
        } else {
            results = Linter.lint(gathered.subjects)
        }
        if let baseline {
            results = try LintBaselines.apply(baseline, to: results, update: updateBaseline, quiet: shared.quiet)
        }
        let report = FindingsReport(
            version: Sealward.configuration.version,
            rules: RuleCatalog.all.map(\.reportDescription),
            files: results.map {
                (LintInput.relative($0.subject.path), $0.findings.map(\.finding))
            },
            failOn: failOn,
            unreadable: gathered.unreadable,
            unlisted: results.filter { $0.omitted > 0 }.map {
                (LintInput.relative($0.subject.path), "has \($0.omitted) more findings, which are not listed")
            },
            notes: notes(results, gathered)
        )
        let evidence = try checkReport.map { try CommandIO.value(of: $0, CheckEvidence.init(json:)) }
        let draft = justify ? JustificationDraft(results, evidence: evidence).text() : nil
        try CommandIO.write(render(report, results, gathered, draft), to: shared.output)
        if format != .text || draft != nil {
            for (path, reason) in report.gaps { CommandIO.say("sealward: \(path): \(reason).") }
            for note in LintCommand.builds(results) { CommandIO.say("sealward: \(note)") }
        }
        return Outcome(fails: report.fails, isUndetermined: !report.gaps.isEmpty)
    }

    /// Notes for a reader of the text, besides findings: the HTTP stacks of .NET apps, and skipped files.
    private func notes(_ results: [LintResult], _ input: LintInput) -> [String] {
        var notes = LintCommand.builds(results)
        for stack in results.compactMap(\.subject.networkStack) {
            let effect = stack.atsApplies ? "ATS applies to it" : "ATS does not apply to it"
            let line =
                "HttpClient uses \(stack.handler.className) in \(configuration): \(stack.source); \(effect)."
            for note in [line] + stack.notFollowed.map({ "\($0)." }) where !notes.contains(note) { notes.append(note) }
        }
        if !input.skipped.isEmpty {
            let paths = input.skipped.prefix(5).map(LintInput.relative).joined(separator: ", ")
            let more = input.skipped.count > 5 ? " and \(input.skipped.count - 5) more" : ""
            notes.append(
                "Skipped, because builds and package managers write them: \(paths)\(more). Name one to lint it.")
        }
        return notes
    }

    /// What builds write over the lists that were linted.
    private static func builds(_ results: [LintResult]) -> [String] {
        results.compactMap { result in
            ProjectFile.note(result.subject.path.lastName, result.subject.document).map {
                "\(LintInput.relative(result.subject.path)): \($0)."
            }
        }
    }

    /// The report in UTF-8: a large one is made once.
    private func render(
        _ report: FindingsReport, _ results: [LintResult], _ input: LintInput, _ draft: String?
    ) -> [UInt8] {
        if let draft, format == .text || format == .markdown { return Array(draft.commandSafe.utf8) }
        let text: String
        switch format {
        case .json: return json(results, report, input, draft).encoded() + [0x0A]
        case .sarif: return report.sarif().encoded() + [0x0A]
        // Its commands are ours; what they quote is escaped in each.
        case .github: return Array(report.github().utf8)
        case .text: text = report.text(colored: shared.showsColors).fitted
        case .junit: text = report.junit()
        case .xcode: text = report.xcode()
        case .markdown: text = report.markdown()
        case .html: text = report.html()
        }
        return Array(text.commandSafe.utf8)
    }

    private func json(
        _ results: [LintResult], _ report: FindingsReport, _ input: LintInput, _ draft: String?
    ) -> JSONValue {
        .omittingNone([
            "schema": "sealward.ats-lint/1",
            "files": .array(results.map { $0.json(attest: input.attest[$0.subject.path]) }),
            "unreadable": .unlessEmpty(report.gaps.map { ["path": .string($0.path), "reason": .string($0.reason)] }),
            "skipped": .unlessEmpty(input.skipped.map { .string(LintInput.relative($0)) }),
            "justification": draft.map(JSONValue.string),
        ])
    }
}

/// The baseline file of `ats lint`.
enum LintBaselines {
    /// Takes tolerated findings out of the results, and writes the file where that is asked for.
    static func apply(_ path: String, to results: [LintResult], update: Bool, quiet: Bool) throws -> [LintResult] {
        if path == "-", update {
            throw ValidationError("--update-baseline needs a file to write; --baseline - is only read.")
        }
        guard path == "-" || FileManager.default.fileExists(atPath: path) else {
            guard update else {
                throw CommandFault("\(path): there is no such file; write it with --update-baseline.")
            }
            let baseline = Baseline(results)
            try CommandIO.write(baseline.json().rendered() + "\n", to: path)
            InputFile.note(path)
            let count = results.reduce(0) { $0 + $1.findings.count }
            if !quiet {
                CommandIO.say("\(path): written; it tolerates \(count) \(count == 1 ? "finding" : "findings").")
            }
            return baseline.compare(results).new
        }
        let baseline = try CommandIO.value(of: path, Baseline.init(json:))
        let (new, healed, tightened) = baseline.compare(results)
        if update, healed > 0 {
            try CommandIO.write(tightened.json().rendered() + "\n", to: path, replacesInput: true)
            if !quiet { CommandIO.say("\(path): \(healed) fixed findings were dropped.") }
        } else if healed > 0, !quiet {
            CommandIO.say("\(path): \(healed) findings are fixed; --update-baseline drops them.")
        }
        return new
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import ArgumentParser
import Formats
import FoundationEssentials
import Vocabulary

struct HistoryCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "What changed between the runs of 'ats check --history', target by target.",
        discussion: """
            Example:
              sealward ats check --targets-from fleet.txt --history fleet.sqlite --quiet
              sealward ats history fleet.sqlite

            It compares the verdict, its first cause, the leaf certificate, when the chain expires, and the key-exchange group, between runs \
            that judged for the same systems with the same dictionary. With --keep older runs are removed from the file, but never the \
            last one.

            Exit status: 0 done, 2 the file cannot be used, 64 usage.
            """
    )

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json, html }

    @Argument(help: .value("The file that 'ats check --history' wrote.", "FILE"))
    var file: String

    @Option(help: .value("Show only changes of runs since this time.", "RFC3339"))
    var since: Instant?

    @Option(help: .value("First remove runs that began more than this many days ago.", "DAYS"))
    var keep: Int?

    @Option(help: .value("Output format: text, json or html (the course over time).", "FORMAT"))
    var format: Format = .text

    @OptionGroup var shared: SharedOptions

    /// The most targets of a page; those that changed come first.
    private static let pageLimit = 500
    /// The most runs of a target on a page: the newest.
    private static let pointLimit = 500

    func validate() throws { try HistoryCommand.validate(keep: keep) }

    static func validate(keep: Int?) throws {
        if let keep, !(1...36_500).contains(keep) { throw ValidationError("Runs are kept for 1 to 36500 days.") }
    }

    func outcome() async throws -> Outcome {
        let history = try HistoryCommand.open(file, writes: keep != nil, creates: false)
        let stream = try ResultStream(path: shared.output, sparing: HistoryFile.files(of: file))
        try CommandIO.named(file) { () throws(InputFault) in
            if let keep { try HistoryCommand.forget(history, keep, quiet: shared.quiet) }
        }
        let runs = try CommandIO.named(file) { () throws(InputFault) in try history.runs() }
        // All of it, before a word is written: no half of a document is left if the file cannot be read to its end.
        try each(history) { _ in }
        switch format {
        case .text: try text(history, runs, stream)
        case .json: try json(history, runs, stream)
        case .html: try html(history, runs, stream)
        }
        try stream.close()
        return .clean
    }

    typealias Runs = (count: Int, first: Int64?, last: Int64?)

    private var start: Int64? { since.map { Int64($0.date.timeIntervalSince1970) } }

    private func each(_ history: HistoryFile, _ body: (TargetHistory) throws -> Void) throws {
        do {
            try history.each { try body(TargetHistory($0, $1, since: start)) }
        } catch let fault as InputFault {
            throw CommandFault("\(file.terminalSafe): \(fault.reason).")
        }
    }

    private func text(_ history: HistoryFile, _ runs: Runs, _ stream: ResultStream) throws {
        var (targets, changed) = (0, 0)
        try each(history) { target in
            targets += 1
            if target.changes.isEmpty { return }
            changed += 1
            try stream.write(target.text.fitted)
        }
        let span = runs.first.flatMap { first in
            runs.last.map { " from \(TargetHistory.time(first)) to \(TargetHistory.time($0))" }
        }
        try stream.write(
            "\(changed) of \(targets) targets changed in \(runs.count) run\(runs.count == 1 ? "" : "s")\(span ?? "")\n")
    }

    private func json(_ history: HistoryFile, _ runs: Runs, _ stream: ResultStream) throws {
        func time(_ seconds: Int64?) -> String { JSONValue.optional(seconds.map(TargetHistory.time)).rendered() }
        try stream.write(
            "{\n  \"schema\": \"sealward.ats-history/1\",\n  \"runs\": \(runs.count),\n  \"first\": \(time(runs.first)),\n"
                + "  \"last\": \(time(runs.last)),\n  \"targets\": [")
        var written = 0
        try each(history) { target in
            try stream.write((written == 0 ? [] : [UInt8(ascii: ",")]) + CheckedTargets.indented(target.json))
            written += 1
        }
        try stream.write(CheckedTargets.tail(isEmpty: written == 0))
    }

    private func html(_ history: HistoryFile, _ runs: Runs, _ stream: ResultStream) throws {
        var (changed, same): ([HistoryPage.Target], [HistoryPage.Target]) = ([], [])
        var omitted = 0
        try each(history) { target in
            guard (target.changes.isEmpty ? same : changed).count < HistoryCommand.pageLimit else {
                omitted += 1
                return
            }
            if target.changes.isEmpty { same.append(page(target)) } else { changed.append(page(target)) }
        }
        let first = runs.first ?? 0
        let shown = Array((changed + same).prefix(HistoryCommand.pageLimit))
        let document = HistoryPage(
            version: Sealward.configuration.version, runs: runs.count, span: first...max(first, runs.last ?? first),
            targets: shown, omitted: omitted + changed.count + same.count - shown.count)
        try stream.write(document.html())
    }

    private func page(_ target: TargetHistory) -> HistoryPage.Target {
        let points = target.comparable.suffix(HistoryCommand.pointLimit).map { point -> HistoryPage.Point in
            (point.at, point.summary.verdict.rawValue)
        }
        return (target.target, points, target.changes.suffix(HistoryCommand.pointLimit).map(\.row))
    }

    // MARK: - For check too

    static func open(_ path: String, writes: Bool, creates: Bool) throws(CommandFault) -> HistoryFile {
        try CommandIO.named(path) { () throws(InputFault) in try HistoryFile(path, writes: writes, creates: creates) }
    }

    static func forget(_ history: HistoryFile, _ days: Int, quiet: Bool) throws(InputFault) {
        let gone = try history.forget(before: Date().addingTimeInterval(-86_400 * Double(days)))
        if gone > 0, !quiet {
            CommandIO.say("sealward: \(gone) run\(gone == 1 ? "" : "s") of more than \(days) days ago removed.")
        }
    }
}

extension TargetHistory.Change {
    /// As a page shows it.
    var row: HistoryPage.Change { (at, field.rawValue, TargetHistory.shown(before), TargetHistory.shown(after)) }
}

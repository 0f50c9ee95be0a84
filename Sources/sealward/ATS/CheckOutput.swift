// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import Formats
import FoundationEssentials
import Vocabulary

/// Renders reports as they come: `jsonl` at once, every other form in the order in which the targets were given.
struct CheckOutput {
    let command: CheckCommand
    /// The systems with the SDKs of nscurl's rows: mostly one.
    private let profiles: [OSProfile]
    private let progress: ProgressLine?
    private var profile: OSProfile { profiles.first ?? .standard }
    /// Whether several systems were asked for, or one in that manner.
    private var hasSystems: Bool { command.systems != nil }
    let targets: TargetList
    /// The places of the list that are checked, in order.
    let places: [UInt32]
    /// Of the whole list, for the marks of a shard.
    private let digest: String?
    private let stream: ResultStream
    private let text: CheckText
    /// Where the results are whose turn has not come: in the journal if there is one, else in a temporary file.
    private var waiting: [Int: PieceFile.Place] = [:]
    private var spool: PieceFile?
    let journal: CheckJournal?
    let history: CheckHistoryRun?
    /// What the page shows, by the place of the target; only the HTML form collects it.
    private var pages: [Int: CheckPage.Target] = [:]
    private var turn = 0
    private var written = 0
    private var verdicts: [TargetSummary.Verdict: Int] = [:]
    /// Whether the legend of the fractions is needed.
    private var hasFractions = false
    /// Results that were not asked for now.
    private(set) var kept = KeptResults()
    private(set) var finished = 0

    /// - Parameters:
    ///   - targets: the whole list.
    ///   - places: what is checked of it, in order.
    ///   - journal: where results are kept that were rendered before they come here.
    init(
        of command: CheckCommand, on profiles: [OSProfile], targets: TargetList, places: [UInt32],
        journal: CheckJournal?, history: CheckHistoryRun?, stream: ResultStream
    ) throws {
        self.command = command
        self.profiles = profiles
        progress = ProgressLine(of: places.count, quiet: command.shared.quiet)
        self.targets = targets
        self.places = places
        self.journal = journal
        self.history = history
        self.stream = stream
        digest = command.fleet.shard == nil ? nil : FleetOptions.digest(of: targets)
        var width = 0
        for place in places where width < CheckOutput.widest {
            let name = CheckText.shortName(try targets.target(at: Int(place)).url)
            width = max(width, name.displayWidth)
        }
        text = CheckText(
            // What is kept may be printed elsewhere the next time.
            colored: command.shared.showsColors && command.fleet.state == nil, verbose: command.verbose,
            width: min(CheckOutput.widest, width), showsAddresses: command.allAddresses)
    }

    /// The widest column of names; longer names move their line.
    private static let widest = 48

    var outcome: Outcome { Outcome(fails: count(.fail) > 0, isUndetermined: count(.undetermined) > 0) }

    private func count(_ verdict: TargetSummary.Verdict) -> Int { verdicts[verdict, default: 0] }

    mutating func begin() throws {
        switch command.format {
        case .json:
            try stream.write(
                CheckedTargets.head(os: profile.id, sdk: profile.sdk?.description, checked: RFC3339.text(Date())))
        case .junit: try stream.write(CheckDocuments.junitHead)
        case .markdown: try stream.write(CheckDocuments.markdownHead(os: words))
        case .text where hasSystems: try stream.write(text.head(profiles))
        case .text, .nscurl, .jsonl, .html: break
        }
    }

    private var words: String { profiles.map(\.shownID).joined(separator: ", ") }

    /// What this form says about a target, as it is written; empty if it says nothing or says it at the end.
    mutating func rendered(_ report: TargetReport, at place: Int) throws -> [UInt8] {
        if report.results.contains(where: { $0.result != .pass }) { hasFractions = true }
        // The form of nscurl has no place for it.
        if command.format == .nscurl {
            for warning in report.warnings { CommandIO.say("sealward: \(warning.message.terminalSafe)") }
        }
        if command.format == .html {
            if isShown(report) { pages[place] = CheckPage.Target(report, on: profile) }
            return []
        }
        return isShown(report) ? try render(report, place) : []
    }

    /// Takes what was rendered for a target.
    ///
    /// - Parameter isKept: whether it is of an earlier time.
    mutating func add(_ result: CheckResult, isKept: Bool = false) throws {
        if isKept {
            kept.add(result.checked)
            if CheckOutput.hasFraction(result.text) { hasFractions = true }
        }
        finished += 1
        verdicts[result.verdict, default: 0] += 1
        defer { progress?.advance() }
        if command.format == .jsonl { return try emit(result.text) }
        guard turn < places.count, places[turn] == result.place else {
            waiting[result.place] = try result.line ?? spooled(result.text)
            return
        }
        try emit(result.text)
        turn += 1
        while turn < places.count, try emitWaiting(Int(places[turn])) { turn += 1 }
    }

    /// Whether the line of a target that was rendered before has a fraction that is not whole, as in `14/16  230 ms`.
    private static func hasFraction(_ text: [UInt8]) -> Bool {
        let words = text.prefix { $0 != 0x0A }.split(separator: 0x20)
        guard let unit = words.firstIndex(where: { $0.elementsEqual("ms".utf8) }), unit >= 2 else { return false }
        let numbers = words[unit - 2].split(separator: UInt8(ascii: "/"))
        return numbers.count == 2 && numbers.first != numbers.last
    }

    private mutating func spooled(_ text: [UInt8]) throws -> PieceFile.Place {
        try CheckOutput.named("a temporary file for results") { () throws(InputFault) in
            let file = if let spool { spool } else { try PieceFile.temporary() }
            spool = file
            if waiting.isEmpty { try file.cut(at: 0) }
            return try file.append(text)
        }
    }

    /// Writes a result that waits; false if there is none.
    private mutating func emitWaiting(_ place: Int) throws -> Bool {
        guard let piece = waiting.removeValue(forKey: place) else { return false }
        try emit(
            CheckOutput.named("a result that was kept in a file") { () throws(InputFault) in
                if let journal { return try journal.text(at: piece) }
                return try spool?.bytes(at: piece) ?? []
            })
        return true
    }

    private static func named<Value>(
        _ name: String, _ body: () throws(InputFault) -> Value
    ) throws(CommandFault) -> Value {
        do throws(InputFault) { return try body() } catch { throw CommandFault("\(name) \(error.reason).") }
    }

    /// Writes what is known of targets whose predecessors never finished, and closes the document.
    mutating func end(at instant: Date) throws {
        for place in places[min(turn, places.count)...] {
            _ = try emitWaiting(Int(place))
        }
        progress?.clear()
        switch command.format {
        case .json: try stream.write(CheckedTargets.tail(isEmpty: written == 0))
        case .junit: try stream.write(CheckDocuments.junitTail)
        case .html:
            for place in pages.keys {
                // What changed since the run before.
                pages[place]?.changes = try history?.changes(of: targets.name(at: place)).map(\.row) ?? []
            }
            let page = CheckPage(
                version: Sealward.configuration.version, targets: pages.keys.sorted().compactMap { pages[$0] },
                at: instant)
            try stream.write(page.html())
        case .text:
            if kept.count > 0 {
                let results = "\(kept.count) result\(kept.count == 1 ? " is" : "s are")"
                try stream.write("\(results) from --state, \(kept.times)\n")
            }
            if hasFractions, !hasSystems {
                try stream.write(
                    "The fraction counts the configurations of nscurl that pass; the first, or the app's dictionary, decides. --verbose lists them.\n"
                        .fitted)
            }
            if places.count > 1 {
                try stream.write(
                    "\(count(.pass)) pass, \(count(.fail)) fail, \(count(.undetermined)) undetermined on \(words)\n"
                )
            }
        case .nscurl, .jsonl, .markdown: break
        }
        try stream.close()
    }

    private func isShown(_ report: TargetReport) -> Bool { !command.changes || report.changesBetweenSystems }

    private mutating func emit(_ bytes: [UInt8]) throws {
        if bytes.isEmpty { return }
        progress?.clear()
        if command.format == .json, written > 0 { try stream.write(",") }
        try stream.write(bytes)
        written += 1
    }

    private func render(_ report: TargetReport, _ place: Int) throws -> [UInt8] {
        switch command.format {
        case .text: Array((hasSystems ? text.matrix(report) : text.render(report)).fitted.commandSafe.utf8)
        case .nscurl:
            Array(
                NSCurlText.render(report, url: try targets.target(at: place).displayURL, verbose: command.verbose)
                    .commandSafe.utf8)
        case .json: CheckedTargets.indented(document(report, place))
        // Each line is a document.
        case .jsonl: CheckedTargets.line(document(report, place))
        case .html: []
        case .junit: Array(CheckDocuments.junit(report).utf8)
        case .markdown: Array(CheckDocuments.markdown(report).commandSafe.utf8)
        }
    }

    private func document(_ report: TargetReport, _ place: Int) -> JSONValue {
        var json = report.json
        // What is kept may be shown much later.
        if journal != nil, let members = json.members {
            json = .object(members + [.init("checked", .string(RFC3339.text(Date())))])
        }
        guard let shard = command.fleet.shard else { return json }
        let mark = ShardMark(
            shard: shard, place: place, targets: targets.count, list: digest, os: profile.id,
            sdk: profile.sdk?.description)
        return mark.added(to: json)
    }
}

/// How many results are of an earlier time, and of which.
struct KeptResults {
    private(set) var count = 0
    private var first: Date?
    private var last: Date?
    private var isUnknown = false

    mutating func add(_ written: Date?) {
        count += 1
        guard let written else { return isUnknown = true }
        first = min(first ?? written, written)
        last = max(last ?? written, written)
    }

    /// When they were checked, as the end of a sentence.
    var times: String {
        guard let first, let last else { return "at an unknown time" }
        let known = first == last ? "at \(RFC3339.text(first))" : "from \(RFC3339.text(first)) to \(RFC3339.text(last))"
        return isUnknown ? "\(known), some at an unknown time" : known
    }
}

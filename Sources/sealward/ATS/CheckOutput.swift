// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import Formats
import FoundationEssentials
import Reporting
import Vocabulary

/// Renders reports as they come: `jsonl` at once, every other form in the order in which the targets were given.
struct CheckOutput {
    struct Options {
        let format: CheckFormat
        /// The systems with the SDKs of nscurl's rows: mostly one.
        let profiles: [OSProfile]
        /// Whether several systems were asked for, or one in that manner.
        let comparesSystems: Bool
        /// Whether targets are left out whose verdict is the same on all systems.
        let showsChangesOnly: Bool
        let verbose: Bool
        /// Whether the addresses of a name are targets of their own.
        let showsAddresses: Bool
        let colored: Bool
        let progress: ProgressLine?
        /// The moment of judgement.
        let instant: Date
    }

    private let options: Options
    private var profile: OSProfile { options.profiles.first ?? .standard }
    private var hasSystems: Bool { options.comparesSystems }
    private let targets: TargetList
    /// The places of the list that are checked, in order.
    private let places: [UInt32]
    private let shard: Shard?
    /// Of the whole list, for the marks of a shard.
    private let digest: String?
    private let stream: ResultStream
    private let text: CheckText
    /// Where the results are whose turn has not come: in the journal if there is one, else in a temporary file.
    private var waiting: [Int: PieceFile.Place] = [:]
    private var spool: PieceFile?
    private let journal: CheckJournal?
    /// What the page shows, by the place of the target; only the HTML form collects it.
    private var pages: [Int: DiagnosisPage.Target] = [:]
    private var turn = 0
    private var written = 0
    private var summary = CheckSummary()
    /// Results that were not asked for now.
    private(set) var kept = KeptResults()
    private(set) var finished = 0

    /// - Parameters:
    ///   - targets: the whole list.
    ///   - places: what is checked of it, in order.
    ///   - journal: where results are kept that were rendered before they come here.
    init(
        options: Options, targets: TargetList, places: [UInt32], shard: Shard? = nil, journal: CheckJournal? = nil,
        stream: ResultStream
    ) throws {
        self.options = options
        self.targets = targets
        self.places = places
        self.shard = shard
        self.journal = journal
        self.stream = stream
        digest = shard == nil ? nil : FleetOptions.digest(of: targets)
        var width = 0
        for place in places where width < CheckOutput.widest {
            let url = try targets.target(at: Int(place)).url
            let name = CheckText.shortName(host: url.host, port: url.effectivePort, isSecure: url.isSecure)
            width = max(width, name.displayWidth)
        }
        text = CheckText(
            colored: options.colored, verbose: options.verbose, width: min(CheckOutput.widest, width),
            showsAddresses: options.showsAddresses)
    }

    /// The widest column of names; longer names move their line.
    private static let widest = 48
    /// FAIL beats undetermined.
    var outcome: Outcome {
        summary.outcome
    }

    mutating func begin() throws {
        switch options.format {
        case .json:
            try stream.write(
                CheckedTargets.head(os: profile.id, sdk: profile.sdk?.description, checked: RFC3339.text(Date())))
        case .junit: try stream.write(CheckDocuments.junitHead)
        case .markdown: try stream.write(CheckDocuments.markdownHead(os: words))
        case .text where hasSystems: try stream.write(text.head(options.profiles))
        case .text, .nscurl, .jsonl, .html: break
        }
    }

    private var words: String { options.profiles.map(\.shownID).joined(separator: ", ") }

    /// What this form says about a target, as it is written; empty if it says nothing or says it at the end.
    mutating func rendered(_ report: TargetReport, at place: Int) throws -> [UInt8] {
        // The form of nscurl has no place for it.
        if options.format == .nscurl {
            for warning in report.warnings { CommandIO.say("sealward: \(warning.message.terminalSafe)") }
        }
        if options.format == .html {
            if isShown(report) { pages[place] = CheckDocuments.page(report, on: profile) }
            return []
        }
        return isShown(report) ? try render(report, place) : []
    }

    /// Takes what was rendered for a target.
    ///
    /// - Parameter isKept: whether it is of an earlier time.
    mutating func add(_ result: CheckResult, isKept: Bool = false) throws {
        if isKept { kept.add(result.checked) }
        finished += 1
        summary.add(result.verdict)
        defer { options.progress?.advance() }
        if options.format == .jsonl { return try emit(result.text) }
        guard turn < places.count, places[turn] == result.place else {
            waiting[result.place] = try result.line ?? spooled(result.text)
            return
        }
        try emit(result.text)
        turn += 1
        while turn < places.count, try emitWaiting(Int(places[turn])) { turn += 1 }
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

    /// Puts beside each target of the page what changed since the run before.
    mutating func compare(_ changes: (_ target: String) throws -> [TargetHistory.Change]) throws {
        for place in pages.keys {
            pages[place]?.changes = try changes(try targets.name(at: place)).map(\.row)
        }
    }

    /// Writes what is known of targets whose predecessors never finished, and closes the document.
    mutating func end() throws {
        for place in places[min(turn, places.count)...] {
            _ = try emitWaiting(Int(place))
        }
        options.progress?.clear()
        switch options.format {
        case .json: try stream.write(CheckedTargets.tail(isEmpty: written == 0))
        case .junit: try stream.write(CheckDocuments.junitTail)
        case .html:
            let page = DiagnosisPage(
                version: Sealward.configuration.version, targets: pages.keys.sorted().compactMap { pages[$0] },
                judgedAt: CheckDocuments.seconds(options.instant))
            try stream.write(page.html())
        case .text:
            if kept.count > 0 {
                let results = "\(kept.count) result\(kept.count == 1 ? " is" : "s are")"
                try stream.write("\(results) from --state, \(kept.times)\n")
            }
            if summary.failed > 0, !hasSystems {
                try stream.write(
                    "The fraction counts the configurations of nscurl that pass; the first, or the app's dictionary, decides. --verbose lists them.\n"
                        .fitted)
            }
            if places.count > 1 {
                try stream.write(
                    "\(summary.passed) pass, \(summary.failed) fail, \(summary.undetermined) undetermined on \(words)\n"
                )
            }
        case .nscurl, .jsonl, .markdown: break
        }
        try stream.close()
    }

    private func isShown(_ report: TargetReport) -> Bool { !options.showsChangesOnly || report.changesBetweenSystems }

    private mutating func emit(_ bytes: [UInt8]) throws {
        if bytes.isEmpty { return }
        options.progress?.clear()
        if options.format == .json, written > 0 { try stream.write(",") }
        try stream.write(bytes)
        written += 1
    }

    private func render(_ report: TargetReport, _ place: Int) throws -> [UInt8] {
        switch options.format {
        case .text: Array((hasSystems ? text.matrix(report) : text.render(report)).fitted.commandSafe.utf8)
        case .nscurl:
            Array(
                NSCurlText.render(report, url: try targets.target(at: place).displayURL, verbose: options.verbose)
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
        guard let shard else { return json }
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

/// How many targets ended how.
struct CheckSummary {
    private(set) var passed = 0
    private(set) var failed = 0
    private(set) var undetermined = 0

    /// FAIL beats undetermined.
    var outcome: Outcome {
        if failed > 0 { return .findings }
        return undetermined > 0 ? .undetermined : .clean
    }

    mutating func add(_ verdict: TargetSummary.Verdict) {
        switch verdict {
        case .pass: passed += 1
        case .fail: failed += 1
        case .undetermined: undetermined += 1
        }
    }
}

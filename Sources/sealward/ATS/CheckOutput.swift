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
    /// The rendered reports whose turn has not come, as long as they are few.
    private var waiting: [Int: [UInt8]] = [:]
    private var waitingBytes = 0
    /// Where the others are: in the journal if there is one, else in a temporary file.
    private var elsewhere: PiecePlaces
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
        elsewhere = PiecePlaces(limit: targets.count)
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
    /// How many bytes of reports wait in memory before the next go to a file. Few, because what is kept a while between what is freed at once
    /// leaves holes in the heap: with 4 MiB a list of 50,000 took 12 MB more.
    private static let waitingLimit = 64 << 10
    /// How many wait in memory if there can be no file.
    private static let limitWithoutFile = 4 << 20

    private enum Rendered {
        case bytes([UInt8])
        /// In the journal, or in the temporary file.
        case elsewhere(PieceFile.Place)
    }

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
    mutating func add(_ rendered: [UInt8], at place: Int, verdict: TargetSummary.Verdict) throws {
        try take(.bytes(rendered), verdict, at: place)
    }

    /// Takes what the journal has of an earlier time.
    mutating func add(_ record: CheckJournal.Record) throws {
        kept.add(record.written)
        try take(.elsewhere(record.piece), record.verdict, at: record.place)
    }

    /// Takes what was rendered for a target and is in the journal.
    mutating func add(_ kept: PieceFile.Place, at place: Int, verdict: TargetSummary.Verdict) throws {
        try take(.elsewhere(kept), verdict, at: place)
    }

    private mutating func take(_ rendered: Rendered, _ verdict: TargetSummary.Verdict, at place: Int) throws {
        finished += 1
        summary.add(verdict)
        defer { options.progress?.advance() }
        if options.format == .jsonl {
            try emit(rendered)
        } else if turn < places.count, places[turn] == place {
            try emit(rendered)
            turn += 1
            while turn < places.count, let next = removeWaiting(Int(places[turn])) {
                try emit(next)
                turn += 1
            }
            if elsewhere.count == 0 { try? spool?.cut(at: 0) }
        } else {
            try wait(rendered, at: place)
        }
    }

    private mutating func wait(_ rendered: Rendered, at place: Int) throws {
        let piece: PieceFile.Place
        switch rendered {
        case .bytes(let bytes) where bytes.isEmpty: piece = .empty
        case .bytes(let bytes) where waitingBytes + bytes.count <= CheckOutput.waitingLimit:
            keepInMemory(bytes, at: place)
            return
        case .bytes(let bytes):
            do throws(InputFault) {
                let file = if let spool { spool } else { try PieceFile.temporary() }
                spool = file
                piece = try file.append(bytes)
            } catch {
                if spool == nil, waitingBytes + bytes.count <= CheckOutput.limitWithoutFile {
                    keepInMemory(bytes, at: place)
                    return
                }
                throw CommandFault("a temporary file for results \(error.reason).")
            }
        case .elsewhere(let kept): piece = kept
        }
        guard elsewhere.keep(piece, at: place) else {
            throw CommandFault("the result of target \(place + 1) is too long, or there twice.")
        }
    }

    private mutating func keepInMemory(_ bytes: [UInt8], at place: Int) {
        waitingBytes += bytes.count
        waiting[place] = bytes
    }

    /// Puts beside each target of the page what changed since the run before.
    mutating func compare(_ changes: (_ target: String) throws -> [TargetCourse.Change]) throws {
        for place in pages.keys {
            pages[place]?.changes = try changes(try targets.name(at: place)).map(HistoryPage.Change.init)
        }
    }

    /// Writes what is known of targets whose predecessors never finished, and closes the document.
    mutating func end() throws {
        for place in places[min(turn, places.count)...] {
            if let next = removeWaiting(Int(place)) { try emit(next) }
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

    private mutating func removeWaiting(_ place: Int) -> Rendered? {
        if let piece = elsewhere.take(at: place) { return .elsewhere(piece) }
        guard let bytes = waiting.removeValue(forKey: place) else { return nil }
        waitingBytes -= bytes.count
        return .bytes(bytes)
    }

    private mutating func emit(_ next: Rendered) throws {
        let bytes: [UInt8]
        do throws(InputFault) {
            switch next {
            case .bytes(let rendered): bytes = rendered
            case .elsewhere(let place) where place.count == 0: bytes = []
            case .elsewhere(let place):
                if let journal {
                    bytes = try journal.bytes(at: place)
                } else {
                    bytes = try spool?.bytes(at: place) ?? []
                }
            }
        } catch {
            throw CommandFault("a result that was kept in a file \(error.reason).")
        }
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
        // A line is a document of its own.
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

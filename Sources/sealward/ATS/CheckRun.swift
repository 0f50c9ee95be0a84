// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import FoundationEssentials
import Vocabulary

/// One run over a list: what the journal has is taken from it, everything else is asked, kept and then shown.
struct CheckRun {
    let session: CheckSession
    let list: TargetList
    let places: [UInt32]
    let concurrency: Int
    let statePath: String?
    let journal: CheckJournal?
    let gate: PoliteGate?
    let history: CheckHistoryRun?
    /// Results of the journal that were written longer ago are asked for again; nil for none.
    let maximumAge: TimeInterval?

    /// How many results are written, and waited for, together.
    private static let batch = 256

    /// Takes from the journal what is in it.
    ///
    /// - Parameter show: takes each result.
    /// - Returns: the places of the list that are done.
    func replay(_ show: (CheckJournal.Record) throws -> Void) throws -> Set<Int> {
        guard let journal else { return [] }
        var known: Set<Int> = []
        let now = Date()
        // Of several results for a place the newest counts: where each is in the file.
        var newest = [Int](repeating: -1, count: list.count)
        var batch: [(target: String, summary: TargetSummary)] = []
        do {
            let found = try journal.replay(count: list.count) { newest[$0.place] = $0.piece.offset }
            try journal.replay(count: list.count) { record in
                guard newest[record.place] == record.piece.offset, isFresh(record, at: now) else { return }
                known.insert(record.place)
                try show(record)
                if history == nil { return }
                batch.append((try list.name(at: record.place), record.summary))
                if batch.count == CheckRun.batch {
                    history?.append(batch)
                    batch = []
                }
            }
            // What was damaged may have been asked for again in a run before this one.
            let damaged = min(found, places.count - newest.count { $0 >= 0 })
            if damaged > 0 {
                CommandIO.say(
                    "sealward: \((statePath ?? "").terminalSafe): \(damaged) result\(damaged == 1 ? " is" : "s are") damaged and asked for again."
                )
            }
        } catch let fault as InputFault {
            throw CommandFault("\((statePath ?? "").terminalSafe): \(fault.reason).")
        }
        history?.append(batch)
        return known
    }

    private func isFresh(_ record: CheckJournal.Record, at now: Date) -> Bool {
        guard let maximumAge else { return true }
        // A result from the future says nothing about its age.
        return record.written.map { -60...maximumAge ~= now.timeIntervalSince($0) } ?? false
    }

    /// Checks every place that is not in `known`, in the order of ``places``.
    ///
    /// - Parameters:
    ///   - render: what is shown of a report.
    ///   - show: takes what was rendered, once it is on the disk if there is a journal.
    func run(
        except known: Set<Int>, render: (Int, TargetReport) throws -> [UInt8], show: (CheckResult) throws -> Void
    ) async throws {
        let open = known.isEmpty ? places : places.filter { !known.contains(Int($0)) }
        try await session.run(list, places: open, concurrency: concurrency, gate: gate, atMost: CheckRun.batch) {
            reports in
            let results = try reports.map { place, report in
                CheckResult(
                    place: place, verdict: TargetSummary.verdict(report), summary: TargetSummary(report),
                    rendered: .bytes(try render(place, report)))
            }
            let kept = try kept(results)
            if let history { history.append(try kept.map { (try list.name(at: $0.place), $0.summary) }) }
            for result in kept { try show(result) }
        }
    }

    private func kept(_ results: [CheckResult]) throws -> [CheckResult] {
        guard let journal else { return results }
        let records = results.map { ($0.place, $0.verdict, $0.summary, $0.bytes) }
        do throws(InputFault) {
            return zip(results, try journal.append(records, at: Date())).map { $0.kept(at: $1) }
        } catch {
            throw CommandFault("\((statePath ?? "").terminalSafe): \(error.reason); start again with the same --state.")
        }
    }
}

/// One run in a history. It begins with its first result, and a history that cannot be written does not end the check.
final class CheckHistoryRun {
    private let path: String
    private let file: HistoryFile
    private let instant: Date
    private let start: Date
    private let asked: String
    private let token: String?
    private var number: Int64?
    /// Whether a result is missing in the history, because it could not be written.
    private(set) var isIncomplete = false
    private var isUnreadable = false

    /// Opens the history.
    ///
    /// - Parameters:
    ///   - instant: the time that the run judges at.
    ///   - start: when it began.
    ///   - asked: what the run asks of every target.
    ///   - token: what the run has in common with itself if it is taken up again.
    init(_ path: String, at instant: Date, start: Date, asked: String, token: String?) throws(CommandFault) {
        self.path = path
        self.instant = instant
        self.start = start
        self.asked = asked
        self.token = token
        file = try HistoryCommand.open(path, writes: true, creates: true)
    }

    /// Forgets runs that are older than so many days.
    func forget(_ days: Int, quiet: Bool) throws(CommandFault) {
        try HistoryCommand.named(path) { () throws(HistoryFault) in
            try HistoryCommand.forget(file, days, quiet: quiet)
        }
    }

    /// What this run found otherwise than the one before it that has the target and asked the same.
    func changes(of target: String) -> [TargetCourse.Change] {
        guard let number, !isUnreadable else { return [] }
        do throws(HistoryFault) {
            return TargetCourse(target, try file.newest(2, of: target, upTo: number)).changes
        } catch {
            (isUnreadable, isIncomplete) = (true, true)
            CommandIO.say("sealward: \(path.terminalSafe): \(error.reason). What changed is missing in the output.")
            return []
        }
    }

    /// Keeps some results. One that cannot be kept is told once, and nothing after it is kept either.
    func append(_ results: [(target: String, summary: TargetSummary)]) {
        if isIncomplete || results.isEmpty { return }
        do throws(HistoryFault) {
            if number == nil { number = try file.begin(at: instant, start: start, asked: asked, token: token) }
            if let number { try file.append(results, to: number) }
        } catch {
            isIncomplete = true
            CommandIO.say(
                "sealward: \(path.terminalSafe): \(error.reason). The check goes on; its further results are missing in the history."
            )
        }
    }
}

/// What is known about one finished target.
struct CheckResult {
    enum Rendered {
        case bytes([UInt8])
        case kept(PieceFile.Place)
    }

    let place: Int
    let verdict: TargetSummary.Verdict
    let summary: TargetSummary
    let rendered: Rendered

    fileprivate var bytes: [UInt8] {
        if case .bytes(let bytes) = rendered { bytes } else { [] }
    }

    fileprivate func kept(at piece: PieceFile.Place) -> CheckResult {
        CheckResult(place: place, verdict: verdict, summary: summary, rendered: .kept(piece))
    }
}

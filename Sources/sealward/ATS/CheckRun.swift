// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import FoundationEssentials
import Vocabulary

/// How a list is gone through: what the journal has is taken from it, everything else is asked, kept and then shown.
extension CheckOutput {
    /// How many results are written, and waited for, together.
    private static let batch = 256

    /// Takes from the journal what is in it.
    ///
    /// - Returns: the places of the list that are done.
    mutating func replay() throws -> Set<Int> {
        guard let journal, let path = command.fleet.state?.terminalSafe else { return [] }
        var known: Set<Int> = []
        var batch: [CheckResult] = []
        let now = Date()
        do {
            let damaged = try journal.replay(places, isFresh: { isFresh($0, at: now) }) { result in
                known.insert(result.place)
                try add(result, isKept: true)
                batch.append(result)
                if batch.count == CheckOutput.batch {
                    try keep(batch)
                    batch = []
                }
            }
            if damaged > 0 {
                CommandIO.say(
                    "sealward: \(path): \(damaged) result\(damaged == 1 ? " is" : "s are") damaged and asked for again."
                )
            }
        } catch let fault as InputFault {
            throw CommandFault("\(path): \(fault.reason).")
        }
        try keep(batch)
        return known
    }

    private func keep(_ results: [CheckResult]) throws {
        if let history { history.append(try results.map { (try targets.name(at: $0.place), $0.summary) }) }
    }

    /// Checks every place that is not in `known`. A result is shown once it is on the disk, if there is a journal.
    ///
    /// - Parameter order: the places in the order in which they are asked.
    mutating func run(_ session: CheckSession, _ order: [UInt32], except known: Set<Int>) async throws {
        let open = known.isEmpty ? order : order.filter { !known.contains(Int($0)) }
        try await session.run(
            targets, places: open, concurrency: command.network.width, gate: PoliteGate(command.fleet.limits),
            atMost: CheckOutput.batch
        ) { reports in
            let now = Date()
            var results = try reports.map { place, report in
                CheckResult(
                    place: place, verdict: TargetSummary.verdict(report), summary: TargetSummary(report),
                    text: try rendered(report, at: place), checked: now)
            }
            do throws(InputFault) {
                results = try journal?.append(results) ?? results
            } catch {
                throw CommandFault(
                    "\((command.fleet.state ?? "").terminalSafe): \(error.reason); start again with the same --state.")
            }
            try keep(results)
            for result in results { try add(result) }
        }
    }

    /// Results of the journal that were written longer ago than --max-age are asked for again.
    private func isFresh(_ checked: Date?, at now: Date) -> Bool {
        guard let maximum = command.fleet.maxAge.map({ TimeInterval($0.seconds) }) else { return true }
        // A result from the future says nothing about its age.
        return checked.map { -60...maximum ~= now.timeIntervalSince($0) } ?? false
    }
}

/// One run in a history. It begins with its first result, and a history that cannot be written does not end the check.
final class CheckHistoryRun {
    private let path: String
    private let file: HistoryFile
    private let instant: Date
    private let start = Date()
    private let asked: String
    private let token: String?
    private var number: Int64?
    /// Whether a result is missing in the history, because it could not be written.
    private(set) var isIncomplete = false
    private var isUnreadable = false

    init(_ path: String, at instant: Date, asked: String, token: String?) throws(CommandFault) {
        self.path = path
        self.instant = instant
        self.asked = asked
        self.token = token
        file = try HistoryCommand.open(path, writes: true, creates: true)
    }

    /// Forgets runs that are older than so many days.
    func forget(_ days: Int, quiet: Bool) throws(CommandFault) {
        try CommandIO.named(path) { () throws(InputFault) in
            try HistoryCommand.forget(file, days, quiet: quiet)
        }
    }

    /// What this run found otherwise than the one before it that has the target and asked the same.
    func changes(of target: String) -> [TargetHistory.Change] {
        guard let number, !isUnreadable else { return [] }
        do throws(InputFault) {
            return TargetHistory(target, try file.newest(2, of: target, upTo: number)).changes
        } catch {
            (isUnreadable, isIncomplete) = (true, true)
            CommandIO.say("sealward: \(path.terminalSafe): \(error.reason). What changed is missing in the output.")
            return []
        }
    }

    /// Keeps some results. The first that cannot be kept is reported, and no later one is kept.
    func append(_ results: [(target: String, summary: TargetSummary)]) {
        if isIncomplete || results.isEmpty { return }
        do throws(InputFault) {
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

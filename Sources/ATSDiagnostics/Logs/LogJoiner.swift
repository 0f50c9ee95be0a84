// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// Puts the lines about one load together: by its task, its connection, its process and thread, and by what follows what.
struct LogJoiner: Sendable {
    /// Loads whose lines may go on.
    static let openLimit = 128
    /// Lines between two that name nothing in common and are about one load all the same.
    static let reach = 64
    /// Failures that are listed one by one.
    static let failureLimit = 1024

    /// How far a host on a line of its own may stand above an error, and below it.
    static let (above, below) = (2, 4)
    /// How far the address of a bundle may stand below the error: React Native prints advice between.
    static let belowAdvice = 12

    private var open: [LogEvidence] = []
    /// The host that stood on a line of its own last, and on which.
    private var named: (place: LogPlace, line: Int)?
    /// The hosts of connections that lines named last which say nothing else.
    private var connected: [(connection: [UInt8], process: [UInt8]?, place: LogPlace, line: Int)] = []
    private var failures: [LogFailure.Key: LogFailure] = [:]
    /// Failures beyond the limit.
    private var beyond = 0

    mutating func add(_ new: LogEvidence) {
        var joined = new
        if let same = open.lastIndex(where: { new.isSameLoad(as: $0) }) {
            joined = open.remove(at: same).joined(with: new)
        }
        if new.urlError != nil {
            takeContext(&joined, new)
        } else if new.task == nil, new.deviceError == nil {
            // The line before, which says who judged, or how an exception goes on.
            if let last = open.last, !last.isComplete, last.task == nil, last.urlError == nil,
                new.mayFollow(last, within: 8),
                last.connection == nil || new.connection == nil || last.connection == new.connection,
                new.connection != nil || new.speaker != nil || new.isSocket
            {
                joined = open.removeLast().joined(with: joined)
            }
        }
        if let named, joined.lacksHost, new.line - named.line <= LogJoiner.above { joined.place = named.place }
        open.append(joined)
        if open.count > LogJoiner.openLimit { judge(open.removeFirst()) }
    }

    /// Takes a host that stands on a line of its own: it is that of an error close above, or else of one below.
    mutating func add(_ place: LogPlace, line: Int, isBundle: Bool) {
        if isBundle {
            let last = open.lastIndex { $0.lacksHost && line - $0.lastLine <= LogJoiner.belowAdvice }
            if let last { open[last].place = place } else { named = (place, line) }
            return
        }
        guard let last = open.indices.last, line - open[last].lastLine <= LogJoiner.below else {
            named = (place, line)
            return
        }
        if open[last].lacksHost { open[last].place = place }
    }

    /// Takes the host of a connection from a line that says no more.
    mutating func add(_ place: LogPlace, of connection: [UInt8], process: [UInt8]?, line: Int) {
        if connected.count == LogJoiner.openLimit { connected.removeFirst() }
        connected.append((connection, process, place, line))
    }

    /// The host of the connection of an error that names none: what a line close to it said.
    private func place(of evidence: LogEvidence) -> LogPlace? {
        guard let connection = evidence.connection else { return nil }
        return connected.last { named in
            named.connection == connection
                && (named.process == nil || evidence.process == nil || named.process == evidence.process)
                && named.line <= evidence.lastLine + LogJoiner.below && evidence.line <= named.line + LogJoiner.reach
        }?.place
    }

    /// The lines of the connection come before the error of the load: those with its number, or all if it has none.
    private mutating func takeContext(_ joined: inout LogEvidence, _ new: LogEvidence) {
        let before = open.indices.filter { index in
            var candidate = joined
            candidate.connection = nil
            candidate.line = new.line
            return candidate.mayFollow(open[index], within: LogJoiner.reach)
        }
        let connected = before.filter { open[$0].connection != nil }
        var taken = before
        if joined.streamError != nil {
            let mine = connected.first { open[$0].thread != nil && open[$0].thread == new.thread } ?? connected.first
            taken.removeAll { open[$0].connection != nil && $0 != mine }
        }
        for index in taken.reversed() { joined = joined.joined(with: open.remove(at: index)) }
    }

    private mutating func judge(_ evidence: LogEvidence) {
        var evidence = evidence
        evidence.place = evidence.place ?? place(of: evidence)
        guard let failure = LogJudge.failure(evidence) else { return }
        if failures[failure.key] != nil {
            failures[failure.key]?.add(failure)
        } else if failures.count < LogJoiner.failureLimit {
            failures[failure.key] = failure
        } else {
            beyond += 1
        }
    }

    /// Ends a file: what comes next is about other loads.
    mutating func end() {
        for evidence in open { judge(evidence) }
        open.removeAll()
        named = nil
    }

    /// Adds a failure that was found in another way.
    mutating func add(_ failure: LogFailure) { failures[failure.key] = failure }

    /// The failures, the most frequent first, and how many more there are.
    func report() -> (failures: [LogFailure], beyond: Int) {
        var copy = self
        copy.end()
        let all = copy.failures.values
        // Apps cancel loads all the time, and some words say only that a load failed: the answer only where there is no other.
        let isWeak = { (failure: LogFailure) in
            !failure.saysWhy || failure.urlError.map(LogJudge.cancellations.contains) == true
        }
        // Exceptions are printed more than once, and some prints name only the outermost.
        let isOutermost = { (failure: LogFailure) in
            failure.kind == .notApple && failure.because.map(\.code) == [.tlsHandshakeFailed]
        }
        var kept = (all.contains { !isWeak($0) } ? all.filter { !isWeak($0) } : Array(all))
            .sorted { ($0.rank, $0.line) < ($1.rank, $1.line) }
        if kept.contains(where: { $0.kind == .notApple && !isOutermost($0) }) {
            kept.removeAll { $0.host == nil && isOutermost($0) }
        }
        // React Native says the same whatever keeps it from its server.
        if kept.contains(where: { $0.because.first?.code == .cleartextBlocked }) {
            kept.removeAll { $0.host == nil && $0.quote.contains("Could not connect to development server") }
        }
        // What says less is about a load that another line said more of: of the same host, or without a host and of one host only.
        for index in kept.indices.reversed() {
            let weak = kept[index]
            let strong = kept.indices.filter {
                $0 != index && kept[$0].explains(weak) && (weak.host == nil || $0 < index)
            }
            guard let first = strong.first, weak.host != nil || strong.count == 1 else { continue }
            kept[first].add(weak)
            kept.remove(at: index)
        }
        return (kept.sorted { ($1.count, $0.line) < ($0.count, $1.line) }, copy.beyond)
    }
}

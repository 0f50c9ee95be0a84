// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// What lines have said, by host. Bounded in every direction.
struct LogTable: Sendable {
    /// Something that lines say again and again.
    struct Key: Hashable, Sendable {
        let urlError: Int?
        let streamError: Int?
        /// The place in the list of sentences.
        let sentence: Int?
    }

    struct Entry: Sendable {
        var count = 0
        /// The first line.
        let line: Int
    }

    private struct Host: Sendable {
        var port: Int?
        var isSecure: Bool
        var entries: [Key: Entry] = [:]
    }

    private struct Task: Sendable {
        var place: LogPlace?
        var waiting: [(key: Key, line: Int)] = []
    }

    var lines = 0
    var unknown = 0
    private var hosts: [UTF8Key: Host] = [:]
    private var unnamed: [Key: Entry] = [:]
    /// What was said about hosts beyond the limit.
    private var beyond = 0
    private var tasks: [[UInt8]: Task] = [:]
    private var order: [[UInt8]] = []

    /// Counts what a line says, for its host if that is known or becomes known.
    ///
    /// - Returns: whether it has to do with ATS or TLS.
    mutating func add(_ line: LogLine, line number: Int) -> Bool {
        let key = Key(
            urlError: line.urlError, streamError: line.streamError,
            sentence: line.sentence.flatMap { LogSentence.all.firstIndex(of: $0) })
        guard LogMeaning.codes(urlError: key.urlError, streamError: key.streamError, sentence: line.sentence) != nil
        else { return false }
        if let place = line.place {
            count(key, at: place, number)
            if let task = line.task { name(task, place) }
        } else if let task = line.task {
            if let place = tasks[task]?.place {
                count(key, at: place, number)
            } else {
                remember(task)
                if let waiting = tasks[task]?.waiting.count, waiting < 16 {
                    tasks[task]?.waiting.append((key, number))
                } else {
                    count(key, number)
                }
            }
        } else {
            count(key, number)
        }
        return true
    }

    /// Says where a load goes, for lines before and behind.
    mutating func name(_ task: [UInt8], _ place: LogPlace) {
        remember(task)
        let waiting = tasks[task]?.waiting ?? []
        tasks[task] = Task(place: place)
        for item in waiting { count(item.key, at: place, item.line) }
    }

    private mutating func remember(_ task: [UInt8]) {
        if tasks[task] != nil { return }
        if order.count >= DeviceLog.taskLimit {
            // The oldest half goes at once, so that the list is not moved for each line.
            let old = order.prefix(DeviceLog.taskLimit / 2)
            for task in old { forget(task) }
            order.removeFirst(old.count)
        }
        tasks[task] = Task()
        order.append(task)
    }

    private mutating func forget(_ task: [UInt8]) {
        for item in tasks.removeValue(forKey: task)?.waiting ?? [] { count(item.key, item.line) }
    }

    private mutating func count(_ key: Key, _ line: Int) {
        unnamed[key, default: Entry(line: line)].count += 1
    }

    private mutating func count(_ key: Key, at place: LogPlace, _ line: Int) {
        let name = UTF8Key(place.host)
        if hosts[name] == nil {
            guard hosts.count < DeviceLog.hostLimit else {
                beyond += 1
                return
            }
            hosts[name] = Host(port: place.port, isSecure: place.isSecure)
        }
        hosts[name]?.entries[key, default: Entry(line: line)].count += 1
    }

    func report(_ found: (failures: [LogFailure], beyond: Int), hasPassed: Bool) -> DeviceLogReport {
        var copy = self
        for task in order { copy.forget(task) }
        let named = copy.hosts.map { name, host in
            DeviceLogReport.Host(
                name: name.text, port: host.port, isSecure: host.isSecure, findings: LogTable.findings(host.entries))
        }
        let sorted = named.sorted { ($1.count, $0.name ?? "") < ($0.count, $1.name ?? "") }
        let rest = LogTable.findings(copy.unnamed)
        return DeviceLogReport(
            lines: lines, unknown: unknown,
            hosts: sorted
                + (rest.isEmpty ? [] : [DeviceLogReport.Host(name: nil, port: nil, isSecure: true, findings: rest)]),
            beyond: copy.beyond, failures: found.failures, moreFailures: found.beyond, hasPassed: hasPassed)
    }

    private static func findings(_ entries: [Key: Entry]) -> [DeviceLogReport.Finding] {
        entries.map { key, entry in
            let sentence = key.sentence.flatMap { LogSentence.all.indices.contains($0) ? LogSentence.all[$0] : nil }
            return DeviceLogReport.Finding(
                urlError: key.urlError, streamError: key.streamError, sentence: sentence,
                codes: LogMeaning.codes(urlError: key.urlError, streamError: key.streamError, sentence: sentence) ?? [],
                count: entry.count, line: entry.line)
        }.sorted { ($1.count, $0.line) < ($0.count, $1.line) }
    }
}

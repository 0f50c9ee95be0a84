// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPService
import Synchronization
import Vocabulary

/// What this node judged in the last 24 hours, minute by minute, and the versions it saw, hour by hour.
///
/// Kept in memory for people who look at the console. A restart begins with nothing; what must last is in the store and in the metrics.
final class ActivityHistory: Sendable {
    /// What is counted.
    enum Kind: Sendable, CaseIterable {
        /// A new key was accepted.
        case attestation
        /// An assertion was accepted.
        case assertion
        /// A proof was refused, or would have been if the app did not only monitor.
        case refusal
    }

    /// The counts of one span of time.
    struct Counts: Sendable, Equatable {
        var attestations = 0
        var assertions = 0
        var refusals = 0

        mutating func add(_ other: Counts) {
            attestations = attestations.clampedSum(other.attestations)
            assertions = assertions.clampedSum(other.assertions)
            refusals = refusals.clampedSum(other.refusals)
        }

        subscript(kind: Kind) -> Int {
            switch kind {
            case .attestation: attestations
            case .assertion: assertions
            case .refusal: refusals
            }
        }
    }

    /// The counts of one span, with its start.
    struct Span: Sendable, Equatable {
        let start: Date
        var counts: Counts
    }

    /// How often a version was seen.
    struct Version: Sendable, Equatable {
        let name: String
        let count: Int
    }

    /// How far back it goes: 24 hours.
    static let minuteLimit = 1440
    private static let hourLimit = 24
    /// The most versions of one kind that are told apart in an hour; the others are counted together.
    static let versionLimit = 64
    /// The most bytes of a version's name.
    private static let nameLimit = 32
    /// The name under which versions beyond the limit are counted.
    static let others = "others"

    private struct Versions {
        var systems: [UTF8Key: Int] = [:]
        var bundles: [UTF8Key: Int] = [:]
    }

    private struct App {
        var minutes: [Int: Counts] = [:]
        var hours: [Int: Versions] = [:]
    }

    /// By the configured id of the app: as many as are configured, and no more.
    private let apps = Mutex<[String: App]>([:])

    init() {}

    /// Counts one event of a configured app.
    func note(_ kind: Kind, app: String, at now: Date) {
        let minute = ActivityHistory.number(of: now, seconds: 60)
        var event = Counts()
        switch kind {
        case .attestation: event.attestations = 1
        case .assertion: event.assertions = 1
        case .refusal: event.refusals = 1
        }
        apps.withLock { apps in
            apps[app, default: App()].minutes.change(minute, of: ActivityHistory.minuteLimit, Counts()) {
                $0.add(event)
            }
        }
    }

    /// Counts the versions of the device and the app behind an accepted proof.
    ///
    /// - Returns: false if one of them is counted with the others.
    func note(system: String?, bundle: String?, app: String, at now: Date) -> Bool {
        let hour = ActivityHistory.number(of: now, seconds: 3600)
        return apps.withLock { apps in
            apps[app, default: App()].hours.change(hour, of: ActivityHistory.hourLimit, Versions()) { versions in
                let isSystemApart = ActivityHistory.count(system, in: &versions.systems)
                let isBundleApart = ActivityHistory.count(bundle, in: &versions.bundles)
                return isSystemApart && isBundleApart
            }
        }
    }

    private static func count(_ name: String?, in counts: inout [UTF8Key: Int]) -> Bool {
        let key = UTF8Key(name.map { $0.utf8.count <= nameLimit ? $0 : $0.terminalSafe(limit: nameLimit) } ?? "unknown")
        let isApart = counts[key] != nil || counts.count < versionLimit
        counts[isApart ? key : UTF8Key(others), default: 0].grow()
        return isApart
    }

    /// The counts up to now in spans of some minutes, oldest first; the last one is not over yet.
    ///
    /// - Parameters:
    ///   - count: how many spans, at least 1.
    ///   - minutes: how long each is, at least 1.
    func spans(of app: String, count: Int, minutes: Int, at now: Date) -> [Span] {
        let known = apps.withLock { $0[app]?.minutes ?? [:] }
        let (count, length) = (max(1, min(count, ActivityHistory.minuteLimit)), max(1, minutes))
        let last = ActivityHistory.number(of: now, seconds: Double(length) * 60)
        var sums: [Int: Counts] = [:]
        for (minute, counts) in known {
            sums[Int((Double(minute) / Double(length)).rounded(.down)), default: Counts()].add(counts)
        }
        return (0..<count).reversed().map { back in
            let number = last - back
            let start = Date(timeIntervalSince1970: Double(number) * Double(length) * 60)
            return Span(start: start, counts: sums[number] ?? Counts())
        }
    }

    /// The versions of the last 24 hours, the most frequent first.
    func versions(of app: String, at now: Date) -> (systems: [Version], bundles: [Version]) {
        let oldest = ActivityHistory.number(of: now, seconds: 3600) - ActivityHistory.hourLimit
        let hours = apps.withLock { $0[app]?.hours ?? [:] }.filter { $0.key > oldest }.values
        func sums(_ counts: [[UTF8Key: Int]]) -> [Version] {
            var sums: [UTF8Key: Int] = [:]
            for (name, count) in counts.joined() { sums[name] = (sums[name] ?? 0).clampedSum(count) }
            return sums.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
                .map { Version(name: $0.key.text, count: $0.value) }
        }
        return (sums(hours.map(\.systems)), sums(hours.map(\.bundles)))
    }

    private static func number(of now: Date, seconds: Double) -> Int {
        Int(exactly: (now.timeIntervalSince1970 / seconds).rounded(.down)) ?? 0
    }
}

extension Dictionary where Key == Int {
    /// Changes the value of a number where it is. If there is none, it begins with `empty`, and what is more than `count` numbers back
    /// leaves for it.
    fileprivate mutating func change<Result>(
        _ number: Int, of count: Int, _ empty: Value, _ change: (inout Value) -> Result
    ) -> Result {
        if self[number] == nil { keep(count, upTo: number) }
        return change(&self[number, default: empty])
    }

    /// Forgets all but the last `count` numbers up to the newest, and what lies in the future after a clock was put back.
    private mutating func keep(_ count: Int, upTo newest: Int) {
        guard self.count >= count else { return }
        self = filter { $0.key <= newest && $0.key > newest - count }
    }
}

extension Int {
    /// The sum, or the largest number if it is larger.
    func clampedSum(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    fileprivate mutating func grow() { self = clampedSum(1) }
}

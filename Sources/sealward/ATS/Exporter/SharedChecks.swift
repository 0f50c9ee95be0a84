// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import HTTPService
import ServiceLifecycle
import TLSModel
import TLSProbe
import Vocabulary

/// A host that may be asked for, at one port or at those of https and http.
struct AllowedTarget: Sendable, Equatable {
    private let host: UTF8Key
    private let ports: [Int]
    /// The addresses that it may have: an address is the user's own word, and a name only its name server's.
    private let scope: FetchScope

    /// Reads `HOST` or `HOST:PORT`, in the forms that a target has.
    init(_ text: String) throws(MalformedInput) {
        let target = try CheckTarget(text)
        host = UTF8Key(target.url.host)
        scope = IPAddress(target.url.host) == nil ? .anyServer : .named
        ports = target.port.map { [$0] } ?? [443, 80]
    }

    func allows(_ target: CheckTarget) -> Bool { allows(target.url.host, target.url.effectivePort) }

    private func allows(_ host: String, _ port: Int) -> Bool { UTF8Key(host) == self.host && ports.contains(port) }

    /// The addresses that a place may have: the user must name those in private networks and on this machine.
    static func scope(of host: String, _ port: Int, among allowed: [AllowedTarget]) -> FetchScope {
        allowed.filter { $0.allows(host, port) }.reduce(.publicAddresses) { $0.joined(with: $1.scope) }
    }
}

/// One session for each system, never older than a minute, so that roots and the time of judgement are today's.
final class MinuteSessions: Sendable {
    private let settings: CheckSession.Configuration
    private let kept = BoundedCache<UTF8Key, (session: CheckSession, madeAt: ContinuousClock.Instant)>(capacity: 64)

    init(_ settings: CheckSession.Configuration) { self.settings = settings }

    func session(for profile: OSProfile) throws(MalformedInput) -> CheckSession {
        let name = UTF8Key("\(profile.id) \(profile.sdk?.description ?? "")")
        let now = ContinuousClock.now
        if let known = kept[name], now - known.madeAt < .seconds(60) { return known.session }
        var settings = settings
        settings.profile = profile
        let session = try CheckSession(settings)
        kept.keep((session, now), for: name)
        return session
    }
}

/// Checks that are under way: one for each target and system, and only so many, of which no client and no server gets more than its share.
actor SharedChecks {
    private enum Share: Hashable {
        case client(String)
        case server(String)
        case both(String, String)
    }

    /// What of a scrape's time is left for the answer's way.
    static let margin: Duration = .milliseconds(500)

    private let limit: Int
    private let observer: RequestObserver
    /// How many checks count for each share; only those above zero.
    private var taken: [Share: Int] = [:]
    /// Those that can be shared, and when each ends at the latest.
    private var shared: [UTF8Key: (task: Task<TargetReport, Never>, end: ContinuousClock.Instant)] = [:]
    private var running = 0

    init(limit: Int, observer: RequestObserver) {
        self.limit = limit
        self.observer = observer
        observer.set(.exporterRunning, 0)
        observer.set(.exporterLimit, Double(limit))
    }

    /// What a scrape gets.
    enum Answer: Sendable {
        case report(TargetReport)
        /// Too many checks are under way.
        case busy
        /// This client, or the checks of this server, have their share.
        case shareTaken
        /// Another scrape, which waits longer, began the check, and it has not ended in the time of this one.
        case late
    }

    /// The report of a check that is under way, or of a new one.
    ///
    /// - Parameter time: how long the scrape waits; a check that the scrape starts ends before that.
    func report(
        _ name: UTF8Key, for client: String, of server: String, within time: Duration,
        _ check: @escaping @Sendable () async -> TargetReport
    ) async -> Answer {
        // One that ends before this scrape's time is over would say less than a check that it starts.
        if let (task, end) = shared[name], end >= .now + time - SharedChecks.margin {
            observer.count(.exporterShared)
            return await SharedChecks.answer(of: task, within: time)
        }
        guard running < limit else { return .busy }
        let half = (limit + 1) / 2
        let shares: [(Share, Int)] = [
            (.client(client), half), (.server(server), half), (.both(client, server), max(1, limit / 4)),
        ]
        guard shares.allSatisfy({ taken[$0, default: 0] < $1 }) else { return .shareTaken }
        for (share, _) in shares { taken[share, default: 0] += 1 }
        defer {
            for (share, _) in shares {
                let count = taken[share, default: 0]
                taken[share] = count > 1 ? count - 1 : nil
            }
        }
        // Scrapes that share it wait for it too, so it ends with the exporter and not with the scrape that began it.
        let task = Task { await cancelWhenGracefulShutdown { await check() } }
        shared[name] = (task, .now + time)
        running += 1
        observer.set(.exporterRunning, Double(running))
        let report = await task.value
        if shared[name]?.task == task { shared[name] = nil }
        running -= 1
        observer.set(.exporterRunning, Double(running))
        return .report(report)
    }

    /// Waiting for a task cannot be given up, so the first of task and clock answers.
    private static func answer(of task: Task<TargetReport, Never>, within time: Duration) async -> Answer {
        let (answers, first) = AsyncStream.makeStream(of: Answer.self, bufferingPolicy: .bufferingOldest(1))
        let clock = Task {
            try? await Task.sleep(for: time)
            first.yield(.late)
        }
        Task { first.yield(.report(await task.value)) }
        defer { clock.cancel() }
        for await answer in answers { return answer }
        return .late
    }
}

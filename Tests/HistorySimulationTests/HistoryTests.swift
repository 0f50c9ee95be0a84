// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Synchronization
import TestSupport
import Testing

/// Histories of the service under a simulated scheduler, clock, network and disk.
@Suite struct HistoryTests {
    /// The seeds of which one finds each bug, and how long a run of all tests may take for its seeds, seconds.
    static let seeds: ClosedRange<UInt64> = 1...500
    static let seconds: Double = 60

    @Test(.timeLimit(.minutes(15))) func everyHistoryCanBeExplained() async throws {
        let done = try await SeedRun.all(1...200, within: HistoryTests.seconds) { seed in
            guard let failure = try await Simulation.failure(of: Plan(seed: seed)) else { return nil }
            return try await Simulation.shortest(failure).report
        }
        #expect(done.failures == [], "\(done.failures.joined(separator: "\n"))")
        #expect(done.count > 20, "too slow: \(done.count) seeds in a minute")
    }

    @Test(.timeLimit(.minutes(15)), arguments: PlantedBug.allCases)
    func plantedBugIsFoundAndMadeShort(_ bug: PlantedBug) async throws {
        var found: Failure?
        for seed in HistoryTests.seeds where found == nil {
            found = try await Simulation.failure(of: Plan(seed: seed), planted: bug)
        }
        let failure = try #require(found, "no seed finds \(bug)")
        let shortest = try await Simulation.shortest(failure, planted: bug, within: 200)
        #expect(shortest.plan.operations.count <= max(8, failure.plan.operations.count / 2), "\(shortest.report)")
        // What is left fails because of the bug alone.
        let healthy = try await Simulation.failure(of: shortest.plan)
        #expect(healthy == nil, "\(shortest.report)")
    }

    @Test(.timeLimit(.minutes(10))) func sameSeedGivesTheSameBytes() async throws {
        for seed in UInt64(1)...12 {
            let first = try await World.history(of: Plan(seed: seed)).text
            let second = try await World.history(of: Plan(seed: seed)).text
            #expect(first == second, "seed \(seed)")
        }
    }

    @Test(.timeLimit(.minutes(10))) func anotherProcessGivesTheSameBytes() async throws {
        let here = try await HistoryTests.digests()
        let child = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
            print("digests:" + (try await HistoryTests.digests()) + ".")
        }
        let output = String(decoding: child.standardOutputContent, as: UTF8.self)
        #expect(output.contains("digests:\(here)."))
    }

    /// The digests of twelve histories, in hexadecimal.
    private static func digests() async throws -> String {
        var text = ""
        for seed in UInt64(1)...12 {
            let digest = SHA256.hash(data: Data(try await World.history(of: Plan(seed: seed)).text.utf8))
            text += digest.prefix(8).map { String($0, radix: 16) }.joined() + " "
        }
        return text
    }

    /// What a seed must reach for the others to mean something.
    @Test(.timeLimit(.minutes(10))) func historiesReachWhatTheyAreAbout() async throws {
        var seen: [String: Int] = [:]
        for seed in HistoryTests.seeds.prefix(120) {
            for exchange in try await World.history(of: Plan(seed: seed)).exchanges {
                let name = String(describing: exchange.request).prefix { $0 != "(" }
                seen["\(name) \(exchange.answer.map { $0.code ?? String($0.status) } ?? "no answer")", default: 0] += 1
            }
        }
        for wanted in [
            "assert 200", "assert challenge.used", "assert assert.counter.replayed", "assert key.revoked",
            "assert challenge.expired", "assert no answer", "assert store.unavailable", "attest 201", "attest 200",
            "authorize 204", "authorize policy.quota", "authorize key.revoked", "consume 200", "consume token.spent",
            "revoke 200", "show 200", "claim 200", "claim apple.unavailable",
        ] {
            #expect(seen[wanted, default: 0] > 0, "\(wanted) is in none: \(seen)")
        }
    }
}

/// Runs that take longer, and replays: only where they are asked for.
@Suite struct LongHistoryTests {
    /// `make check-histories SEEDS=N`: goes on where the run before stopped.
    @Test(.enabled(if: SeedLedger.wanted != nil, "make check-histories runs it"), .timeLimit(.minutes(20)))
    func seedsThatWereNotDoneYet() async throws {
        var ledger = try SeedLedger()
        if ledger.ofAnotherProgram > 0 {
            print("histories: the \(ledger.ofAnotherProgram) seeds of another build are done again")
        }
        let seeds = ledger.next
        let done = try await SeedRun.all(seeds, within: SeedLedger.seconds) { seed in
            guard let failure = try await Simulation.failure(of: Plan(seed: seed)) else { return nil }
            return try await Simulation.shortest(failure).report
        }
        try ledger.add(done.passed, from: seeds.lowerBound)
        print("histories: \(done.count) seeds in this run, \(ledger.total) in all, \(done.failures.count) failures")
        #expect(done.failures == [], "\(done.failures.joined(separator: "\n"))")
    }

    /// What a run must do again: the seeds of another build, and those from the first failure on.
    @Test func ledgerKeepsWhatThisBuildHasDone() throws {
        let folder = try TemporaryDirectory()
        let file = folder.url.appendingPathComponent("histories.txt")

        var first = try SeedLedger(file: file, program: "a", wanted: 100)
        #expect(first.next == 1...100)
        try first.add(40, from: 1)
        #expect(first.total == 40)
        let second = try SeedLedger(file: file, program: "a", wanted: 100)
        #expect(second.next == 41...100)
        #expect(second.ofAnotherProgram == 0)

        var other = try SeedLedger(file: file, program: "b", wanted: 100)
        #expect(other.next == 1...100)
        #expect(other.ofAnotherProgram == 40)
        try other.add(7, from: 1)
        #expect(try SeedLedger(file: file, program: "b", wanted: 100).next == 8...100)
        // A file that no ledger wrote counts for nothing.
        try Data("1 100000\n".utf8).write(to: file)
        #expect(try SeedLedger(file: file, program: "b", wanted: 100).next == 1...100)
    }

    /// A seed that failed is done again by the next run.
    @Test func failedSeedIsNotDone() async throws {
        let done = try await SeedRun.all(11...60, within: 60) { $0 == 23 ? "no order explains it" : nil }
        #expect(done.failures == ["no order explains it"])
        #expect(done.count == 50)
        #expect(done.passed == 12)
    }

    /// `make replay-history SEED=N`.
    @Test(.enabled(if: SeedLedger.replayed != nil, "make replay-history runs it"))
    func oneSeed() async throws {
        let plan = Plan(seed: try #require(SeedLedger.replayed))
        let planted = SeedLedger.planted
        guard let failure = try await Simulation.failure(of: plan, planted: planted) else {
            return print(try await World.history(of: plan, planted: planted).text)
        }
        let report = try await Simulation.shortest(failure, planted: planted).report
        print(report)
        Issue.record("\(report)")
    }
}

/// Many seeds on all cores.
enum SeedRun {
    struct Done: Sendable {
        /// How many seeds were done, from the first one on without a gap.
        var count = 0
        var failures: [String] = []
        fileprivate var firstFailure: UInt64?
        fileprivate let first: UInt64

        /// How many of them come before the first one that failed.
        var passed: Int { firstFailure.map { Int($0 - first) } ?? count }
    }

    /// Stops taking seeds where the time is over or three have failed.
    static func all(
        _ seeds: ClosedRange<UInt64>, within seconds: Double,
        _ body: @escaping @Sendable (UInt64) async throws -> String?
    ) async throws -> Done {
        let end = ContinuousClock.now + .seconds(seconds)
        return try await withThrowingTaskGroup(of: (UInt64, String?).self) { group in
            var done = Done(first: seeds.lowerBound)
            var next = seeds.lowerBound
            var running = 0
            while true {
                while running < ProcessInfo.processInfo.activeProcessorCount, next <= seeds.upperBound,
                    ContinuousClock.now < end, done.failures.count < 3
                {
                    let seed = next
                    group.addTask { (seed, try await body(seed)) }
                    next += 1
                    running += 1
                }
                guard running > 0, let (seed, failure) = try await group.next() else { return done }
                running -= 1
                done.count += 1
                if let failure {
                    done.failures.append(failure)
                    done.firstFailure = min(done.firstFailure ?? seed, seed)
                }
            }
        }
    }
}

/// Which seeds this build has done: a file with a line for the program, and one for each run, its first seed and how many it did.
struct SeedLedger {
    private static let environment = ProcessInfo.processInfo.environment
    /// How many seeds are wanted in all.
    static let wanted = environment["HISTORY_SEEDS"].flatMap { UInt64($0) }
    static let replayed = environment["HISTORY_SEED"].flatMap { UInt64($0) }
    static let planted = environment["HISTORY_BUG"].flatMap { PlantedBug(rawValue: $0) }
    static let seconds = environment["HISTORY_SECONDS"].flatMap { Double($0) } ?? 1080

    private let file: URL
    private let program: String
    private let wanted: UInt64?
    private var runs: [String]
    /// How many seeds the file has of another build, which count no more.
    let ofAnotherProgram: UInt64

    /// The ledger of `make check-histories` for the program that runs.
    init() throws {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "/proc/self/exe"), options: .alwaysMapped)
        try self.init(
            file: URL(fileURLWithPath: SeedLedger.environment["HISTORY_FILE"] ?? ".build/histories.txt"),
            program: SHA256.hash(data: bytes).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined(),
            wanted: SeedLedger.wanted)
    }

    /// - Parameter program: what tells one build from another one, without spaces.
    init(file: URL, program: String, wanted: UInt64?) throws {
        self.file = file
        self.program = program
        self.wanted = wanted
        let lines = (try? String(contentsOf: file, encoding: .utf8))?.split(separator: "\n").map(String.init) ?? []
        let isOurs = lines.first == "program \(program)"
        runs = isOurs ? Array(lines.dropFirst()) : []
        ofAnotherProgram = isOurs ? 0 : SeedLedger.sum(lines.filter { !$0.hasPrefix("program ") })
    }

    private static func sum(_ runs: [String]) -> UInt64 {
        runs.compactMap { UInt64($0.split(separator: " ").last ?? "") }.reduce(0, +)
    }

    /// How many seeds were done in all runs.
    var total: UInt64 { SeedLedger.sum(runs) }

    /// The seeds that are still wanted; those of ``HistoryTests`` come first.
    var next: ClosedRange<UInt64> {
        let first = total + 1
        return first...max(first, wanted ?? first)
    }

    mutating func add(_ count: Int, from first: UInt64) throws {
        runs.append("\(first) \(count)")
        try (["program \(program)"] + runs).map { $0 + "\n" }.joined().write(
            to: file, atomically: true, encoding: .utf8)
    }
}

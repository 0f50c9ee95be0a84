// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Random dictionaries, servers, URLs and systems: commands that answer one question give one answer, and what they propose does what they say.
///
/// `SEALWARD_CONTRADICTIONS` is the number of loads (`make check-contradictions`), `SEALWARD_SEED` another seed.
@Suite(.enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"), .serialized)
struct CommandContradictionTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let rounds = environment["SEALWARD_CONTRADICTIONS"].flatMap { Int($0) } ?? 60
    private static let seed = environment["SEALWARD_SEED"].flatMap { UInt64($0) } ?? 20_261_127

    struct Found: CustomStringConvertible {
        let pair: String
        let load: AskedLoad
        let text: String

        var description: String { "[\(pair)] \(load)\n  \(text)\n  with \(load.list)" }
    }

    private static func contradictions(
        _ load: AskedLoad, _ servers: LoopbackServers
    ) async throws -> [(pair: String, text: String)] {
        try await LoadQuestions(load, servers).answers().contradictions()
    }

    @Test func commandsThatAnswerOneQuestionAgree() async throws {
        let servers = try #require(LoopbackServers.shared)
        var random = SplitMix(state: Self.seed)
        var loads: [AskedLoad] = []
        for _ in 0..<Self.rounds { loads.append(try AskedLoad(&random, servers)) }
        var found: [String: Found] = [:]
        try await withThrowingTaskGroup(of: [Found].self) { group in
            var next = loads.makeIterator()
            func start() {
                guard let load = next.next() else { return }
                group.addTask {
                    let first = try await Self.contradictions(load, servers)
                    if first.isEmpty { return [] }
                    // A machine that is busy makes servers late: what differs is asked once more.
                    let again = try await Self.contradictions(load, servers)
                    return again.map { Found(pair: $0.pair, load: load, text: $0.text) }
                }
            }
            for _ in 0..<8 { start() }
            while let contradictions = try await group.next() {
                for one in contradictions where found[one.pair] == nil { found[one.pair] = one }
                start()
            }
        }
        for (pair, one) in found.sorted(by: { $0.key < $1.key }) {
            let smallest = try await Self.smallest(one, servers)
            Issue.record("\(smallest.pair == pair ? smallest : one)")
        }
    }

    /// The smallest list for which the pair still disagrees.
    private static func smallest(_ found: Found, _ servers: LoopbackServers) async throws -> Found {
        var best = found
        let list = await found.load.list.smallest { list in
            var load = found.load
            load.list = list
            guard let one = try? await contradictions(load, servers).first(where: { $0.pair == found.pair }) else {
                return false
            }
            best = Found(pair: found.pair, load: load, text: one.text)
            return true
        }
        var load = found.load
        load.list = list
        return Found(pair: best.pair, load: load, text: best.text)
    }

    // MARK: - Planted faults

    private static func answers() -> LoadAnswers {
        let fails = LoadAnswer("FAIL", "ats.tls.version-too-low", "-1200/-9836")
        return LoadAnswers(
            explain: .init(verdict: "depends-on-server", isDisputed: false, code: nil, number: nil), check: fails,
            rows: ["default: \(fails)"], exhaustiveRows: ["default: \(fails)"], exhaustive: fails, fetch: fails,
            isHandshakeAlone: false, edits: [], cutOff: [])
    }

    struct Planted: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let pair: String
        let plant: @Sendable (inout LoadAnswers) -> Void
    }

    private static let before = LoadAnswer("FAIL", "ats.tls.version-too-low", "-1200/-9836")
    private static func edit(_ promise: TriedEdit.Promise, _ after: LoadAnswer, _ cause: String? = nil) -> TriedEdit {
        TriedEdit(command: "planted", edit: "a key", promise: promise, before: before, after: after, cause: cause)
    }

    static let planted: [Planted] = [
        Planted(testDescription: "fetch names another cause", pair: "check, fetch") {
            $0.fetch.code = "ats.tls.no-forward-secrecy"
        },
        Planted(testDescription: "fetch has another number", pair: "check, fetch") { $0.fetch.number = "-1200/-9824" },
        Planted(testDescription: "a number was derived", pair: "check, check --exhaustive") {
            $0.exhaustive.number = "-1200/-9801"
        },
        Planted(testDescription: "a row was derived", pair: "rows of check, check --exhaustive") {
            $0.rows = ["default: FAIL ats.tls.handshake-failed"]
        },
        Planted(testDescription: "explain says blocked", pair: "explain, check") {
            $0.explain = .init(verdict: "blocked", isDisputed: false, code: "ats.cleartext.blocked", number: "-1022")
        },
        Planted(testDescription: "check blocks what explain lets through", pair: "explain, check") {
            $0.check.code = "ats.cleartext.blocked"
        },
        Planted(testDescription: "log names other causes", pair: "check, log") { $0.log = ["ats.net.dns"] },
        Planted(testDescription: "lint says cut off", pair: "lint, check") {
            $0.check = LoadAnswer("PASS")
            $0.cutOff = ["every connection fails."]
        },
        Planted(testDescription: "a remedy that does not help", pair: "planted") { $0.edits = [edit(.loads, before)] },
        Planted(testDescription: "a dead key that was needed", pair: "planted") {
            $0.edits = [edit(.same, LoadAnswer("FAIL", "ats.tls.no-forward-secrecy"))]
        },
        Planted(testDescription: "a needed key that is not", pair: "planted") {
            $0.edits = [edit(.fails, LoadAnswer("PASS"))]
        },
        Planted(testDescription: "a needed key for another cause", pair: "planted") {
            $0.edits = [edit(.fails, before, "ats.trust.weak-key")]
        },
        Planted(testDescription: "a fix that loosens", pair: "planted") {
            $0.edits = [edit(.noBetter, LoadAnswer("PASS"))]
        },
        Planted(testDescription: "a block that stays", pair: "planted") {
            $0.edits = [edit(.liftsBlock, LoadAnswer("FAIL", "ats.cleartext.blocked", "-1022"))]
        },
    ]

    @Test(arguments: planted) func aWrongAnswerIsFound(_ fault: Planted) {
        var answers = Self.answers()
        #expect(answers.contradictions().isEmpty)
        fault.plant(&answers)
        #expect(answers.contradictions().contains { $0.pair == fault.pair })
    }
}

extension LoadAnswer {
    init(_ result: String, _ code: String? = nil, _ number: String? = nil) {
        self.result = result
        self.code = code
        self.number = number
    }
}

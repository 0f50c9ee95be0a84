// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import TLSModel
import Testing
import Vocabulary

/// Believes every signature but those that begin with 0xFF.
struct AnySignature: TimestampVerifying {
    func verdict(
        on timestamp: SignedTimestamp, from source: SignedTimestamp.Source, leaf: CertificateFacts,
        issuer: CertificateFacts?, logKey: [UInt8]
    ) -> SignatureVerdict { timestamp.signature.first == 0xFF ? .invalid : .valid }
}

@Suite("Judging the timestamps of Certificate Transparency")
struct TimestampEvaluationTests {
    /// Six logs of three operators: 1 and 2 of one, 3 and 4 of the second, 5 and 6 of the third.
    private static func logs(
        _ states: [Int: String] = [:], intervals: [Int: String] = [:], made: String? = nil
    ) throws
        -> CTLogList
    {
        let operators = (0..<3).map { number in
            let entries = [2 * number + 1, 2 * number + 2].map { index in
                let identifier = Data(repeating: UInt8(index), count: 32).base64EncodedString()
                let state = states[index] ?? #""usable":{"timestamp":"2020-01-01T00:00:00Z"}"#
                let interval = intervals[index].map { #","temporal_interval":\#($0)"# } ?? ""
                return
                    #"{"description":"log \#(index)","log_id":"\#(identifier)","key":"AAAA","state":{\#(state)}\#(interval)}"#
            }
            return #"{"name":"operator \#(number)","logs":[\#(entries.joined(separator: ","))]}"#
        }
        return try CTLogList(
            json: Array(
                #"{\#(made.map { #""log_list_timestamp":"\#($0)T00:00:00Z","# } ?? "")"operators":[\#(operators.joined(separator: ","))]}"#
                    .utf8), verifier: AnySignature())
    }

    /// Timestamps of 2026-03-01; a negative log has a signature that does not verify.
    private static func list(_ logs: [Int], day: String = "2026-03-01") -> [UInt8] {
        let milliseconds = UInt64(Scene.date(day).timeIntervalSince1970 * 1000)
        let entries = logs.flatMap { log -> [UInt8] in
            let time = (0..<8).reversed().map { UInt8(truncatingIfNeeded: milliseconds >> ($0 * 8)) }
            let entry: [UInt8] =
                [0] + [UInt8](repeating: UInt8(abs(log)), count: 32) + time + [0, 0, 4, 3, 0, 1, log < 0 ? 0xFF : 1]
            return [UInt8(entry.count >> 8), UInt8(entry.count & 0xFF)] + entry
        }
        return [UInt8(entries.count >> 8), UInt8(entries.count & 0xFF)] + entries
    }

    @Test("A list in the certificate that is empty or malformed is named, where other clients count none")
    func brokenLists() throws {
        let cases: [([UInt8], String)] = [
            ([0, 0], "its list is empty"), ([0, 5, 0, 9, 1, 2, 3], "its list is malformed"),
        ]
        for (bytes, words) in cases {
            var scene = Scene()
            scene.anchor = .system
            scene.timestamps = bytes
            let cause = try #require(try scene.verdict().causes.first)
            #expect(cause.code == "ats.ct.missing" && cause.message.contains(words), "\(cause.message)")
        }
        var scene = Scene()
        scene.anchor = .system
        #expect(try scene.verdict().causes.first?.message.contains("its list") == false)
    }

    private static func interval(_ days: (String, String)) -> String {
        #"{"start_inclusive":"\#(days.0)T00:00:00Z","end_exclusive":"\#(days.1)T00:00:00Z"}"#
    }

    @Test(
        "An interval that cannot be read is a fault of the list, which names the log",
        arguments: [
            #"{}"#, #"5"#, #"{"start_inclusive":"2026-01-01T00:00:00Z"}"#,
            #"{"start_inclusive":"soon","end_exclusive":"2027-01-01T00:00:00Z"}"#,
            interval(("2027-01-01", "2027-01-01")), interval(("2027-01-01", "2026-01-01")),
        ]
    )
    func intervalsThatCannotBeRead(_ interval: String) {
        let fault = #expect(throws: MalformedInput.self) { try Self.logs(intervals: [4: interval]) }
        #expect(fault?.code == "malformed.ct-log-list" && fault?.reason.contains("'log 4'") == true)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        var embedded: [Int] = []
        var stapled: [Int] = []
        /// 170 days need two timestamps, 300 days three.
        var days = 170.0
        var states: [Int: String] = [:]
        /// First day and the day after the last, of the certificates that a log takes.
        var intervals: [Int: (String, String)] = [:]
        var day = "2026-03-01"
        /// Words of the message; nil where the certificate passes.
        var words: String?
        var testDescription: String { name }
    }

    static let cases: [Case] = [
        Case(name: "none", words: "0 valid of 2 needed, from 0 operators"),
        Case(name: "two of two operators", embedded: [1, 3]),
        Case(
            name: "two of one operator", embedded: [1, 2],
            words: "2 valid of 2 needed, from 1 operator, each of which counts for at most 1"),
        Case(name: "one twice", embedded: [1, 1], words: "1 valid of 2 needed, from 1 operator"),
        Case(name: "two for 300 days", embedded: [1, 3], days: 300, words: "2 valid of 3 needed, from 2 operators"),
        Case(name: "three of two operators", embedded: [1, 2, 3], days: 300),
        Case(
            name: "two of one operator for 300 days", embedded: [5, 6], days: 300,
            words: "2 valid of 3 needed, from 1 operator ("),
        Case(
            name: "a forged one beside one", embedded: [1, -3], words: "the log 'log 3' does not count: it is forged"),
        Case(name: "a forged one beside enough", embedded: [1, -3, 5]),
        Case(name: "a log of nobody", embedded: [1, 9], words: "its log is not in the list"),
        Case(
            name: "a log retired later", embedded: [1, 3],
            states: [3: #""retired":{"timestamp":"2026-04-01T00:00:00Z"}"#]),
        Case(
            name: "a log retired before", embedded: [1, 3],
            states: [3: #""retired":{"timestamp":"2026-02-01T00:00:00Z"}"#],
            words: "after the log was retired on 2026-02-01"),
        Case(
            name: "logs that are all retired",
            embedded: [1, 3],
            states: [
                1: #""retired":{"timestamp":"2026-04-01T00:00:00Z"}"#,
                3: #""retired":{"timestamp":"2026-04-01T00:00:00Z"}"#,
            ],
            words: "none is from a log that is approved today"
        ),
        Case(
            name: "a log that retires after the day of judgement",
            embedded: [1, 3],
            states: [
                1: #""retired":{"timestamp":"2026-09-01T00:00:00Z"}"#,
                3: #""retired":{"timestamp":"2026-04-01T00:00:00Z"}"#,
            ]
        ),
        // 170 days from 2026-01-01 end on 2026-06-20.
        Case(name: "a log of the days around", embedded: [1, 3], intervals: [3: ("2026-06-20", "2026-06-21")]),
        Case(
            name: "a log of the days before", embedded: [1, 3], intervals: [3: ("2026-01-01", "2026-06-20")],
            words:
                "the log 'log 3' does not count: the certificate expires on 2026-06-20, and the log accepts those that expire from 2026-01-01 to before 2026-06-20"
        ),
        Case(
            name: "a log of the days after, in the staple", stapled: [1, 3],
            intervals: [1: ("2026-06-21", "2027-01-01")], words: "1 valid of 2 needed, from 1 operator"),
        Case(name: "a pending log", embedded: [1, 3], states: [3: #""pending":{}"#], words: "the log is pending"),
        Case(name: "of tomorrow", embedded: [1, 3], day: "2026-06-02", words: "from the future"),
        Case(name: "two in the staple", stapled: [1, 3]),
        Case(
            name: "two of one operator in the staple", stapled: [1, 2], words: "2 valid of 2 needed, from 1 operator"),
        Case(name: "one in the certificate and one in the staple", embedded: [1], stapled: [3]),
        Case(
            name: "a retired log in the staple", stapled: [1, 3],
            states: [3: #""retired":{"timestamp":"2026-04-01T00:00:00Z"}"#], words: "1 valid of 2 needed"),
    ]

    @Test(arguments: cases) func timestampsAreCountedAsApplesPolicyCountsThem(_ item: Case) throws {
        var scene = Scene()
        scene.anchor = .system
        scene.days = item.days
        scene.timestamps = item.embedded.isEmpty ? nil : Self.list(item.embedded, day: item.day)
        scene.stapledTimestamps = item.stapled.isEmpty ? nil : Self.list(item.stapled, day: item.day)
        let verdict = try scene.verdict(
            at: "2026-06-01", logs: try Self.logs(item.states, intervals: item.intervals.mapValues(Self.interval)))
        #expect(verdict.causes.map(\.code) == (item.words == nil ? [] : ["ats.ct.missing"]))
        if let words = item.words {
            #expect(verdict.causes.first?.message.contains(words) == true, "\(verdict.causes)")
        }
        let names = verdict.notes.filter { $0.code == "ats.note.ct-timestamp-refused" }
        #expect(names.count == (item.name == "a forged one beside enough" ? 1 : 0))
        // Without a list of logs only the absence of every timestamp is judged, and below a root that a user installed nothing is asked.
        let unlisted = try scene.verdict()
        let hasNone = item.embedded.isEmpty && item.stapled.isEmpty
        #expect(unlisted.causes.map(\.code) == (hasNone ? ["ats.ct.missing"] : []))
        #expect(unlisted.notes.contains { $0.code == "ats.note.ct-not-judged" } != hasNone)
        scene.anchor = .installed
        #expect(try scene.verdict(logs: try Self.logs()).passed)
    }

    @Test(
        "a list of logs that is 60 days old is named, whatever the verdict",
        arguments: [("2020-01-01", true), ("2026-04-02", true), ("2026-04-03", false), (nil, false)]
            as [(String?, Bool)])
    func age(made: String?, isOld: Bool) throws {
        var scene = Scene()
        scene.anchor = .system
        scene.days = 170
        let logs = try Self.logs(made: made)
        for embedded in [[1, 3], []] {
            scene.timestamps = embedded.isEmpty ? nil : Self.list(embedded)
            let verdict = try scene.verdict(at: "2026-06-01", logs: logs)
            #expect(verdict.causes.map(\.code) == (embedded.isEmpty ? ["ats.ct.missing"] : []))
            #expect(verdict.notes.map(\.code) == (isOld ? ["ats.note.ct-list-old"] : []))
        }
    }

    @Test("without a list of logs, a connection without any timestamp fails, and a chain alone is noted")
    func unlisted() throws {
        var scene = Scene()
        scene.anchor = .system
        for (day, asks) in [("2018-10-15", false), ("2018-10-16", true), ("2026-03-01", true)] {
            scene.issued = Scene.date(day)
            let at = day == "2018-10-15" ? "2018-11-01" : day
            #expect(
                try scene.verdict(os: "ios18", at: at).causes.map(\.code).contains("ats.ct.missing") == asks, "\(day)")
        }
        #expect(try scene.verdict(os: "ios9").causes.isEmpty)
        // An empty list and one that cannot be read have no timestamps.
        scene.timestamps = [0, 0]
        #expect(try scene.verdict().causes.map(\.code) == ["ats.ct.missing"])
        scene.timestamps = [0, 5, 0, 9, 0, 0, 0]
        #expect(try scene.verdict().causes.map(\.code) == ["ats.ct.missing"])
        let requirements = try decide("https://\(scene.host)/", "{}", os: "macos26").requirements
        let alone = evaluate(requirements, scene.facts.trust, host: scene.host, at: Scene.date("2026-06-01"))
        let note = alone.notes.first { $0.code == "ats.note.ct-not-judged" }
        #expect(alone.passed && note?.message.contains("fails (ats.ct.missing) unless the server sends") == true)
        for anchor: AnchorKind in [.installed, .app] {
            scene.anchor = anchor
            #expect(try scene.verdict().passed)
        }
    }

    @Test("below Apple's own roots no timestamps are required")
    func ownRoots() throws {
        var scene = Scene()
        scene.anchor = .system
        let logs = try Self.logs()
        #expect(try scene.verdict(logs: logs).causes.map(\.code) == ["ats.ct.missing"])
        for tag: UInt8 in [0x0C, 0x13] {
            scene.rootSubject = [0x06, 0x03, 0x55, 0x04, 0x0A, tag, 0x0A] + Array("Apple Inc.".utf8)
            #expect(try scene.verdict(logs: logs).passed)
        }
        scene.rootSubject = [0x06, 0x03, 0x55, 0x04, 0x03, 0x0C, 0x0A] + Array("Apple Inc.".utf8)
        #expect(try !scene.verdict(logs: logs).passed)
    }

    @Test("lists of timestamps, cut at every byte, are refused or read, and nothing ends the process")
    func truncation() {
        let entry: [UInt8] = [0] + [UInt8](repeating: 9, count: 40) + [0, 0, 4, 3, 0, 0]
        let whole: [UInt8] = [0, UInt8(entry.count + 2), 0, UInt8(entry.count)] + entry
        #expect(SignedTimestamp.list(decoding: whole)?.count == 1)
        for length in 0..<whole.count { #expect(SignedTimestamp.list(decoding: Array(whole.prefix(length))) == nil) }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import ATSDiagnostics

/// The file of `ats check --state`.
@Suite struct CheckJournalTests {
    static let conditions: [CheckJournal.Condition] = [("the targets", "a"), ("the systems", "macos26 26")]
    static let list = Result<TargetList, any Error> {
        var list = TargetList()
        for number in 0..<100 { try list.append("h\(number).example") }
        return list
    }
    static let time = Date(timeIntervalSince1970: 1_790_000_000)

    /// Opens the file and reads what is in it.
    static func open(
        _ path: String, _ conditions: [CheckJournal.Condition] = conditions
    ) throws -> (journal: CheckJournal, results: [CheckResult], damaged: Int) {
        var results: [CheckResult] = []
        let journal = try CheckJournal(path, of: list.get(), conditions: conditions)
        let damaged = try journal.replay(Array(0..<100)) { results.append($0) }
        return (journal, results, damaged)
    }

    static func result(_ place: Int) -> CheckResult {
        let cause = place.isMultiple(of: 2) ? nil : "ats.net.dns"
        return CheckResult(
            place: place, verdict: cause == nil ? .pass : .fail,
            summary: TargetSummary(
                verdict: cause == nil ? .pass : .fail, cause: cause, certificate: "01 ab", notAfter: 1_800_000_000,
                group: "X25519"), text: Array("r \"\u{202E}#\"\r\n\(place)".utf8), checked: time)
    }

    static func write(_ places: [Int], to journal: CheckJournal) throws { _ = try journal.append(places.map(result)) }

    private static func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    @Test func whatIsInTheFileIsReadAgain() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("state")
        var run: String?
        do {
            let (journal, results, _) = try Self.open(path)
            #expect(results.isEmpty)
            run = journal.run
            try Self.write([7, 3], to: journal)
            try Self.write([0], to: journal)
        }
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let (journal, results, damaged) = try Self.open(path)
        #expect(journal.run == run && damaged == 0)
        for (result, place) in zip(results, [0, 3, 7]) {
            let line = try #require(result.line)
            let written = Self.result(place)
            #expect(
                result.place == place && result.summary == written.summary && result.verdict == written.verdict
                    && result.text == written.text && result.checked == written.checked)
            #expect(try journal.text(at: line) == written.text)
        }
        #expect(results.count == 3)
    }

    /// Whatever byte the run was stopped at: what was written before is there, and what is written afterwards too.
    @Test func everyTruncationLosesAtMostTheLastResult() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("state")
        var sizes: [Int] = []
        do {
            let journal = try Self.open(path).journal
            sizes.append(try Self.bytes(path).count)
            for place in 0..<3 {
                try Self.write([place], to: journal)
                sizes.append(try Self.bytes(path).count)
            }
        }
        let whole = try Self.bytes(path)
        for length in 0...whole.count {
            let cut = folder.path("cut")
            try whole.prefix(length).write(to: URL(fileURLWithPath: cut))
            do {
                let (journal, results, damaged) = try Self.open(cut)
                let expected = sizes.dropFirst().count { $0 <= length }
                #expect(results.map(\.place) == Array(0..<expected) && damaged == 0, "\(length)")
                try Self.write([50], to: journal)
            }
            #expect(try Self.open(cut).results.last?.place == 50, "\(length)")
        }
        // The file system may have put zeros where nothing was written before the power failed.
        try (whole.prefix(sizes[2]) + Data(count: 300) + [0x0A]).write(to: URL(fileURLWithPath: path))
        #expect(try Self.open(path).results.map(\.place) == [0, 1])
    }

    @Test func otherArgumentsAreRefusedByName() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("state")
        _ = try Self.open(path)
        let fault = try #require(throws: InputFault.self) {
            _ = try Self.open(path, [("the targets", "a"), ("the systems", "ios18 18")])
        }
        #expect(fault.reason.contains("the systems changed"))
    }

    @Test func oneRunAtATime() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("state")
        let first = try Self.open(path)
        let fault = try #require(throws: InputFault.self) { _ = try Self.open(path) }
        #expect(fault.reason.contains("in use by another run"))
        withExtendedLifetime(first) {}
    }

    @Test(arguments: [
        ("hello, world\n", "is not a state file"), ("{\"a\":1}\n", "is not a state file"),
        ("{\"schema\":\"sealward.ats-check-state/2\",\"run\":\"a\"}\n", "this program writes"),
        ("{\"schema\":\"sealward.ats-check-target/1\"}\n", "is not a state file"), ("no line", "is not a state file"),
    ]) func otherFilesAreLeftAsTheyAre(_ text: String, _ reason: String) throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("state")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let fault = try #require(throws: InputFault.self) { _ = try Self.open(path) }
        #expect(fault.reason.contains(reason), "\(fault.reason)")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    /// Reads a file with these bytes, adds a result, and reads it again: whatever was damaged, what was read stays, and so does what is new.
    private static func replayed(_ bytes: Data, _ path: String) throws -> (places: [Int], damaged: Int) {
        try bytes.write(to: URL(fileURLWithPath: path))
        var (places, damaged): ([Int], Int) = ([], 0)
        do {
            let (journal, results, found) = try open(path)
            (places, damaged) = (results.map(\.place), found)
            try write([50], to: journal)
        }
        #expect(try open(path).results.map(\.place) == places + [50])
        return (places, damaged)
    }

    /// Hostile numbers, other targets, and texts that would steer a terminal.
    @Test(arguments: [
        ("\"place\":2", "\"place\":200"), ("\"place\":2", "\"place\":-2"), ("\"place\":2", "\"place\":1"),
        ("\"place\":2", "\"place\":9223372036854775807"), ("\"place\":2", "\"place\":99999999999999999999"),
        ("\"place\":2", "\"place\":1e999"), ("\"place\":2", "\"palce\":2"), ("{\"place\":2", "x\"place\":2"),
        ("\"place\":2", "\"pl\nce\":2"), ("\"h2.example\"", "\"h3.example\""), ("\\n2\"", "\\n2\\u001b[2J\""),
        ("\\n2\"", "\\n2\\u009b2J\""), ("\\n2\"", "\\n2"),
        ("\\n2\"", "\\n2\",\"more\":[\(String(repeating: "0,", count: 100))0]"),
    ]) func oneDamagedLineCostsNoOther(_ right: String, _ wrong: String) throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("state")
        do { try Self.write([1, 2, 3, 5], to: Self.open(path).journal) }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.split(separator: right, omittingEmptySubsequences: false).count == 2)
        let found = try Self.replayed(Data(text.replacing(right, with: wrong).utf8), folder.path("damaged"))
        #expect(found.places == [1, 3, 5] && (1...2).contains(found.damaged), "\(found)")
    }

    /// Any one byte, to any of a few others: all other results are there, but for the one behind a line feed that is gone. `make test` turns
    /// every fourth byte to a line feed, and every twelfth to each of the others.
    @Test(arguments: Array(zip(0..., [0x0A, 0x00, 0x20, 0x30, 0x39, 0x7B, 0xFF] as [UInt8])))
    func anyDamagedByteCostsFewResults(_ number: Int, _ byte: UInt8) throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("state")
        var start = 0
        do {
            let journal = try Self.open(path).journal
            start = try Self.bytes(path).count
            try Self.write([1, 2, 3, 4], to: journal)
        }
        let whole = try Self.bytes(path)
        let places = LongForm.share(of: Array(start..<whole.count), one: byte == 0x0A ? 4 : 12, from: number)
        for index in places where whole[index] != byte {
            var bytes = whole
            bytes[index] = byte
            let places = try Self.replayed(bytes, folder.path("damaged")).places
            #expect(places.count >= (whole[index] == 0x0A ? 2 : 3), "\(index): \(places)")
            #expect(Set(places).isSubset(of: [1, 2, 3, 4]), "\(index): \(places)")
        }
    }

    @Test func onlyAFileIsOpened() throws {
        let folder = try TemporaryDirectory()
        for (path, words) in [(folder.url.path, "is a folder"), ("/dev/null", "is a device")] {
            let fault = try #require(throws: InputFault.self) { _ = try Self.open(path) }
            #expect(fault.reason.contains(words))
        }
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("link"), withDestinationPath: folder.path("there"))
        #expect(throws: InputFault.self) { _ = try Self.open(folder.path("link")) }
    }
}

/// The lines of a file that comes from elsewhere.
@Suite struct LineReaderTests {
    /// However the file gives its bytes.
    @Test(arguments: [1, 2, 3, 100]) func linesAreReadWithTheirPlaces(_ most: Int) throws {
        let bytes = Array("\nab\n\ncde".utf8)
        var lines = LineReader(from: 1) { offset, count in Array(bytes.dropFirst(offset).prefix(min(most, count))) }
        var found: [String] = []
        while let line = try lines.next() {
            found.append("\(line.offset) \(String(decoding: line.bytes, as: UTF8.self)) \(line.end) \(line.isEnded)")
        }
        #expect(found == ["1 ab 4 true", "4  5 true", "5 cde 8 false"])
    }

    /// A line without an end holds no more memory than the longest line.
    @Test func aLongLineIsCut() throws {
        let (part, limit, size) = ([UInt8](repeating: 0x30, count: 1 << 15), 1 << 17, 1 << 18)
        var lines = LineReader(limit: limit) { offset, _ in
            offset < size ? part : offset == size ? [0x0A, 0x31] : []
        }
        let long = try #require(try lines.next())
        #expect(long.isTooLong && long.bytes.count == limit + 1 && long.end == size + 1)
        let next = try #require(try lines.next())
        #expect(next.bytes == [0x31] && !next.isEnded && !next.isTooLong)
        #expect(try lines.next() == nil)
    }
}

/// `--shard I/N`.
@Suite struct ShardTests {
    @Test(arguments: [1, 2, 3, 7, 64]) func everyTargetIsInExactlyOneShard(_ count: Int) throws {
        let shards = try (1...count).map { try #require(Shard($0, of: count)) }
        var sizes = Array(repeating: 0, count: count)
        for index in 0..<6400 {
            let identity = Array("https://host\(index).example.com/".utf8)
            let homes = shards.indices.filter { shards[$0].contains(identity) }
            #expect(homes.count == 1)
            sizes[homes[0]] += 1
        }
        let mean = 6400 / count
        #expect(sizes.allSatisfy { $0 > mean / 2 && $0 < mean * 2 }, "\(sizes)")
    }

    /// Machines with different versions of the program divide a list alike: these values never change.
    @Test func theDivisionIsStable() throws {
        let hosts = ["example.com", "example.org", "https://api.example.com:8443/", "192.0.2.1", ""]
        let numbers = hosts.map { host in (1...1000).first { Shard($0, of: 1000)?.contains(Array(host.utf8)) == true } }
        #expect(numbers == [937, 540, 584, 402, 459])
    }

    @Test(arguments: ["", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3", "-1/2", "1/99999999", " 1/2", "1/65537"])
    func nothingElseIsAShard(_ text: String) { #expect(Shard(text) == nil) }

    @Test("Targets keep their order when their addresses come in another one")
    func addressesKeepTheOrderOfTheList() async throws {
        var list = TargetList()
        for number in 0..<40 { try list.append("h\(number).example") }
        // The last look-up ends first, and each other one after the next in the list.
        let waiting = Mutex(40)
        let expanded = try await list.expanded(concurrency: 40) { target in
            let number = Int(target.url.host.dropFirst().prefix { $0 != "." }) ?? 0
            while waiting.withLock({ $0 != number + 1 }), !Task.isCancelled { await Task.yield() }
            waiting.withLock { $0 = number }
            return target.url.host == "h7.example" ? [] : ["192.0.2.2", "192.0.2.1"]
        }
        let names = try (0..<expanded.count).map { try expanded.name(at: $0) }
        let expected = (0..<40).flatMap { number in
            (number == 7 ? [""] : [" 192.0.2.1", " 192.0.2.2"]).map { "https://h\(number).example:443/\($0)" }
        }
        #expect(names == expected)
    }

    @Test func aListKeepsItsTargets() throws {
        var list = TargetList()
        for text in ["example.com", "http://a.example/x", "[::1]:8443"] { try list.append(text) }
        #expect(
            try list.all().map(\.url.text) == [
                "https://example.com:443/", "http://a.example:80/x", "https://[::1]:8443/",
            ]
        )
        #expect(throws: MalformedInput.self) { try list.target(at: 3) }
        #expect(throws: MalformedInput.self) { try list.append("ftp://example.com") }
        #expect(list.count == 3)
    }
}

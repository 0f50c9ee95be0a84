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
    static let conditions = [CheckJournal.Condition("the targets", "a"), .init("the systems", "macos26 26")]

    /// Opens the file and reads what is in it.
    static func open(
        _ path: String, _ conditions: [CheckJournal.Condition] = conditions
    ) throws -> (journal: CheckJournal, records: [CheckJournal.Record]) {
        var records: [CheckJournal.Record] = []
        let journal = try CheckJournal(path, conditions: conditions)
        try journal.replay(count: 100) { records.append($0) }
        return (journal, records)
    }

    static func summary(_ cause: String?) -> TargetSummary {
        TargetSummary(
            verdict: cause == nil ? .pass : .fail, cause: cause, certificate: "01 ab", notAfter: 1_800_000_000,
            group: "X25519")
    }

    static func write(_ places: [Int], to journal: CheckJournal) throws {
        _ = try journal.append(
            places.map {
                ($0, $0 % 2 == 0 ? .pass : .fail, summary($0 % 2 == 0 ? nil : "ats.net.dns"), Array("r\n\($0)".utf8))
            }, at: Date(timeIntervalSince1970: 1_790_000_000)
        )
    }

    @Test func whatIsInTheFileIsReadAgain() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("state")
        do {
            let (journal, records) = try Self.open(path)
            #expect(records.isEmpty)
            try Self.write([7, 3], to: journal)
            try Self.write([0], to: journal)
        }
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let (journal, records) = try Self.open(path)
        #expect(records.map(\.place) == [7, 3, 0])
        #expect(records.map(\.verdict) == [.fail, .fail, .pass])
        #expect(records[0].summary == Self.summary("ats.net.dns"))
        #expect(
            try records.map { String(decoding: try journal.bytes(at: $0.piece), as: UTF8.self) } == [
                "r\n7", "r\n3", "r\n0",
            ]
        )
    }

    /// A disk that gives back other bytes than it was given: the target is asked again, and whoever takes the run up again knows it as the same.
    @Test func aResultWithOtherBytesIsLeftOut() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("state")
        var run: String?
        do {
            let (journal, _) = try Self.open(path)
            run = journal.run
            try Self.write([7, 3], to: journal)
        }
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let piece = try #require(bytes.range(of: Data("r\n7\n".utf8)))
        bytes[piece.lowerBound] = 0
        try bytes.write(to: URL(fileURLWithPath: path))
        do {
            let journal = try CheckJournal(path, conditions: Self.conditions)
            var places: [Int] = []
            #expect(try journal.replay(count: 100) { places.append($0.place) } == 1)
            #expect(places == [3] && journal.run == run && run?.utf8.count == 32)
            try Self.write([7], to: journal)
        }
        do {
            let again = try CheckJournal(path, conditions: Self.conditions)
            var places: [Int] = []
            #expect(try again.replay(count: 100) { places.append($0.place) } == 0)
            #expect(places == [3, 7])
        }
        // Not only what is shown: a line that says PASS for FAIL is left out as well.
        bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let verdict = try #require(bytes.range(of: Data("\"verdict\":\"FAIL\"".utf8)))
        bytes.replaceSubrange(verdict, with: Data("\"verdict\":\"PASS\"".utf8))
        try bytes.write(to: URL(fileURLWithPath: path))
        let changed = try CheckJournal(path, conditions: Self.conditions)
        var places: [Int] = []
        try changed.replay(count: 100) { places.append($0.place) }
        #expect(places == [3, 7] || places == [7])
    }

    /// Whatever byte the run was stopped at: what was written before is there, and what is written afterwards too.
    @Test func everyTruncationLosesAtMostTheLastRecord() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("state")
        var sizes: [Int] = []
        do {
            let (journal, _) = try Self.open(path)
            sizes.append(try Data(contentsOf: URL(fileURLWithPath: path)).count)
            for place in 0..<3 {
                try Self.write([place], to: journal)
                sizes.append(try Data(contentsOf: URL(fileURLWithPath: path)).count)
            }
        }
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        for length in 0...whole.count {
            let cut = folder.path("cut")
            try whole.prefix(length).write(to: URL(fileURLWithPath: cut))
            do {
                let (journal, records) = try Self.open(cut)
                let expected = sizes.dropFirst().count { $0 <= length }
                #expect(records.map(\.place) == Array(0..<expected), "\(length)")
                try Self.write([50], to: journal)
            }
            #expect(try Self.open(cut).records.last?.place == 50, "\(length)")
        }
        // The file system may have put zeros where nothing was written before the power failed.
        try (whole.prefix(sizes[2]) + Data(count: 300) + [0x0A]).write(to: URL(fileURLWithPath: path))
        #expect(try Self.open(path).records.map(\.place) == [0, 1])
    }

    @Test func otherArgumentsAreRefusedByName() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("state")
        _ = try Self.open(path)
        let fault = try #require(throws: InputFault.self) {
            _ = try Self.open(path, [.init("the targets", "a"), .init("the systems", "ios18 18")])
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
        ("{\"schema\":\"sealward.ats-check-state/9\"}\n", "this program writes"),
        ("no line", "is not a state file"),
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
        var (places, again): ([Int], [Int]) = ([], [])
        var damaged = 0
        do {
            let journal = try CheckJournal(path, conditions: conditions)
            damaged = try journal.replay(count: 100) { places.append($0.place) }
            try write([50], to: journal)
        }
        try CheckJournal(path, conditions: conditions).replay(count: 100) { again.append($0.place) }
        #expect(again == places + [50])
        return (places, damaged)
    }

    @Test(arguments: [
        ("\"place\":2", "\"place\":200"), ("\"place\":2", "\"palce\":2"), ("{\"place\":2", "x\"place\":2"),
        ("\"place\":2", "\"place\":1"), ("\"place\":2", "\"pl\nce\":2"), ("\"bytes\":4", "\"bytes\":-4"),
        ("\"bytes\":4", "\"bytes\":1"), ("\"bytes\":4", "\"bytes\":5"), ("\"bytes\":4", "\"bytes\":900000"),
        ("\"bytes\":4", "\"bytes\":268435456"), ("\"bytes\":4", "\"bytes\":9223372036854775807"), ("r\n22", "r\n2\n"),
        ("r\n22\n", "r\n22x"), ("\"place\":2,\"verdict\":\"PASS\"", "\"place\":2,\"verdict\":\"FAIL\""),
    ]) func oneDamagedRecordCostsNoOther(_ right: String, _ wrong: String) throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("state")
        do {
            let journal = try Self.open(path).journal
            try Self.write([1], to: journal)
            // The second one differs from the others in all that is changed.
            _ = try journal.append([(2, .pass, Self.summary(nil), Array("r\n22".utf8))], at: Date())
            try Self.write([3, 5], to: journal)
        }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.split(separator: right, omittingEmptySubsequences: false).count == 2)
        let damaged = Data(text.replacing(right, with: wrong).utf8)
        let found = try Self.replayed(damaged, folder.path("damaged"))
        // Without the line feed before it, the next one does not begin a line.
        #expect(found.places == (wrong == "r\n22x" ? [1, 5] : [1, 3, 5]) && found.damaged == 1, "\(found)")
    }

    /// Any one byte, to any of a few others: all other results are there, but for the one behind a line feed that is gone.
    @Test(arguments: [0x00, 0x0A, 0x20, 0x30, 0x39, 0x7B, 0xFF] as [UInt8]) func anyDamagedByteCostsFewRecords(
        _ byte: UInt8
    ) throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("state")
        var start = 0
        do {
            let journal = try Self.open(path).journal
            start = try Data(contentsOf: URL(fileURLWithPath: path)).count
            try Self.write([1, 2, 3, 4], to: journal)
        }
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        for index in start..<whole.count where whole[index] != byte {
            var bytes = whole
            bytes[index] = byte
            let places = try Self.replayed(bytes, folder.path("damaged")).places
            #expect(places.count >= 2 && Set(places).isSubset(of: [1, 2, 3, 4]), "\(index): \(places)")
            if whole[index] != 0x0A { #expect(places.count >= 3, "\(index): \(places)") }
        }
    }

    /// Records that each state a length up to the end of the file, or begin within another one: the time stays in proportion to the size.
    @Test(arguments: [false, true]) func aHostileFileTakesNoLongTime(_ hasWholeOnes: Bool) throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("state")
        var head = Data()
        do {
            let journal = try Self.open(path).journal
            head = try Data(contentsOf: URL(fileURLWithPath: path))
            try Self.write([1], to: journal)
        }
        let whole = try Data(contentsOf: URL(fileURLWithPath: path)).dropFirst(head.count)
        let line = String(decoding: whole, as: UTF8.self).split(separator: "\n")[0]
        let (count, tail) = (12_000, Data(repeating: 0x0A, count: 100_000))
        var (parts, behind) = ([tail], tail.count)
        for _ in 0..<count {
            // Each ends at one of the line feeds.
            let length = "\"bytes\":\(behind - 50_000)"
            parts.append(Data(line.replacing("\"bytes\":3", with: length).utf8) + Data("\n".utf8))
            if hasWholeOnes { parts.append(Data(whole)) }
            behind += parts.suffix(hasWholeOnes ? 2 : 1).reduce(0) { $0 + $1.count }
        }
        let file = parts.reversed().reduce(into: head) { $0 += $1 }
        let start = ContinuousClock.now
        let found = try Self.replayed(file, path)
        #expect(found.places == Array(repeating: 1, count: hasWholeOnes ? count : 0))
        // To hash each one to its end would be 20 GB and more.
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(20))
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

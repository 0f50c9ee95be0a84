// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ATSDiagnostics

/// The file of `ats check --state`.
@Suite struct CheckJournalTests {
    static let conditions = [CheckJournal.Condition("the targets", "a"), .init("the systems", "macos26 26")]

    /// Opens the file and reads what is in it.
    static func open(
        _ path: String,
        _ conditions: [CheckJournal.Condition] = conditions
    ) throws -> (journal: CheckJournal, records: [CheckJournal.Record]) {
        var records: [CheckJournal.Record] = []
        let journal = try CheckJournal(path, conditions: conditions)
        try journal.replay(count: 100) { records.append($0) }
        return (journal, records)
    }

    static func summary(_ cause: String?) -> TargetSummary {
        TargetSummary(
            verdict: cause == nil ? .pass : .fail,
            cause: cause,
            certificate: "01 ab",
            notAfter: 1_800_000_000,
            group: "X25519"
        )
    }

    static func write(_ places: [Int], to journal: CheckJournal) throws {
        _ = try journal.append(
            places.map {
                ($0, $0 % 2 == 0 ? .pass : .fail, summary($0 % 2 == 0 ? nil : "ats.net.dns"), Array("r\n\($0)".utf8))
            }
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

    @Test func aDamagedRecordIsNotPassedOver() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("state")
        do { try Self.write([1, 2, 3], to: try Self.open(path).journal) }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        for (right, wrong) in [
            ("\"place\":2", "\"place\":200"), ("\"place\":2", "\"palce\":2"), ("\"bytes\":3", "\"bytes\":-3"),
        ] {
            try text.replacing(right, with: wrong).write(toFile: path, atomically: true, encoding: .utf8)
            let fault = try #require(throws: InputFault.self) { _ = try Self.open(path) }
            #expect(fault.reason.contains("damaged"), "\(wrong)")
        }
    }

    @Test func onlyAFileIsOpened() throws {
        let folder = try TemporaryDirectory()
        for (path, words) in [(folder.url.path, "is a folder"), ("/dev/null", "is a device")] {
            let fault = try #require(throws: InputFault.self) { _ = try Self.open(path) }
            #expect(fault.reason.contains(words))
        }
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("link"),
            withDestinationPath: folder.path("there")
        )
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

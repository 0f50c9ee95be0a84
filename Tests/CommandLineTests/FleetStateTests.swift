// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `ats check --state`, `--shard` and `ats merge` as a user runs them.
@Suite("Fleets: state, shards and merge", .serialized) struct FleetStateTests {
    /// Some addresses of 127.0.0.0/8 on one port.
    static func targets(_ count: Int, port: Int) -> [String] {
        (0..<count).map { "127.7.\($0 / 250).\($0 % 250 + 1):\(port)" }
    }

    @Test("A run that is killed goes on where it ended, and asks nobody twice") func resume() throws {
        let server = try AskedServer()
        let folder = try TemporaryDirectory()
        let (list, state) = (folder.path("targets"), folder.path("state"))
        let targets = Self.targets(100, port: server.port)
        try targets.joined(separator: "\n").write(toFile: list, atomically: true, encoding: .utf8)
        let arguments = [
            "ats", "check", "--targets-from", list, "--state", state, "--format", "jsonl", "--no-http",
        ]
        let process = Process()
        process.executableURL = BuiltProgram.url
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        var output = Data()
        while output.count(where: { $0 == 0x0A }) < 20 {
            let part = pipe.fileHandleForReading.availableData
            if part.isEmpty { break }
            output += part
        }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        let reported = Set(output.split(separator: 0x0A).dropLast().compactMap(Self.host))
        #expect(reported.count >= 19 && reported.count < 100)

        server.forget()
        let run = try ProgramRun(arguments)
        #expect(run.status == 2, "\(run.errors)")
        #expect(run.errors.contains("of 100 targets were checked before"))
        let hosts = run.data.split(separator: 0x0A).compactMap(Self.host)
        #expect(hosts.count == 100 && Set(hosts).count == 100)
        // What was reported is never asked again.
        #expect(server.asked.isDisjoint(with: reported))
        #expect(!server.asked.isEmpty)

        server.forget()
        let again = try ProgramRun(arguments)
        #expect(again.data.split(separator: 0x0A).count == 100 && server.asked.isEmpty)
    }

    private static func host(_ line: Data) -> String? {
        (try? JSONSerialization.jsonObject(with: line) as? [String: Any])?["host"] as? String
    }

    @Test(arguments: ["text", "json", "junit", "markdown", "nscurl"])
    func aResumedRunPrintsWhatTheFirstPrinted(_ format: String) throws {
        let folder = try TemporaryDirectory()
        let port = try HeldPort()
        let arguments =
            ["ats", "check", "--state", folder.path("state"), "--format", format] + Self.targets(20, port: port.port)
        let (first, second) = (try ProgramRun(arguments), try ProgramRun(arguments))
        func comparable(_ run: ProgramRun) -> [Substring] {
            run.output.split(separator: "\n").filter { !$0.contains("\"checked\"") && !$0.contains(" from --state, ") }
        }
        #expect(first.status == 2 && second.status == 2)
        #expect(comparable(first) == comparable(second) && comparable(first).count >= 20)
    }

    /// What was not asked for now says when it was, and what is too old is asked for again.
    @Test func whatIsKeptHasAnAge() throws {
        let server = try AskedServer()
        let folder = try TemporaryDirectory()
        let state = folder.path("state")
        let check =
            ["ats", "check", "--no-http", "--state", state, "--format", "json"] + Self.targets(3, port: server.port)
        func ages(_ run: ProgramRun) -> [String] {
            (run.json["targets"] as? [[String: Any]] ?? []).compactMap { $0["checked"] as? String }
        }
        let first = ages(try ProgramRun(check))
        #expect(first.count == 3 && server.asked.count == 3)
        server.forget()
        let second = try ProgramRun(check + ["--max-age", "1h"])
        #expect(ages(second) == first && server.asked.isEmpty)
        #expect(second.errors.contains("3 of 3 targets were checked before, ") && second.errors.contains(first[0]))
        // Two hours later.
        func turnBack(_ hours: Int, of text: String) throws -> String {
            let date = try #require(ISO8601DateFormatter().date(from: text))
            return ISO8601DateFormatter().string(from: date.addingTimeInterval(-3600 * Double(hours)))
        }
        let old = try turnBack(2, of: first[0])
        try Self.date(state, old)
        #expect(try ProgramRun(check + ["--max-age", "3h"]).errors.contains("checked before, at \(old)."))
        #expect(server.asked.isEmpty)
        let third = try ProgramRun(check + ["--max-age", "90m"])
        #expect(
            ages(third).count == 3 && server.asked.count == 3 && !third.errors.contains("before"), "\(third.errors)")
        // The newest result of a target counts, with and without a limit.
        server.forget()
        for more in [[], ["--max-age", "7d"], ["--max-age", "3600"]] {
            #expect(try ProgramRun(check + more).errors.contains("3 of 3 targets were checked before, "))
            #expect(try !ProgramRun(check + more).errors.contains(old))
        }
        #expect(server.asked.isEmpty)
        // From the future, and of a time that is not said.
        for date in ["2999-01-01T00:00:00Z", "nonsense"] {
            try Self.date(state, date)
            server.forget()
            #expect(try ProgramRun(check + ["--max-age", "7d"]).status == 2)
            #expect(server.asked.count == 3, "\(date)")
        }
        for wrong in ["", "s", "1w", "-1s", "1.5h", "99999999d", "1h30m"] {
            #expect(try ProgramRun(check + ["--max-age", wrong]).status == 64, "\(wrong)")
        }
        #expect(try ProgramRun(["ats", "check", "127.0.0.1:9", "--max-age", "1h"]).status == 64)
        let text = ["ats", "check", "--no-http", "--state", folder.path("text"), "127.0.0.1:9"]
        #expect(try !ProgramRun(text).output.contains("from --state"))
        #expect(try ProgramRun(text).output.contains("1 result is from --state, at "))
    }

    /// Gives every result of a state file another time.
    private static func date(_ path: String, _ date: String) throws {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let changed = text.replacing(/(?<start>"target":"[^"]*","checked":")[^"]*/) { $0.output.start + date }
        try changed.write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// A file of an earlier version: one sentence, and the file stays as it is.
    @Test func anOlderStateIsRefused() throws {
        let folder = try TemporaryDirectory()
        let (path, text) = (folder.path("state"), "{\"schema\":\"sealward.ats-check-state/2\",\"run\":\"00\"}\n")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let run = try ProgramRun(["ats", "check", "127.0.0.1:9", "--no-http", "--state", path])
        #expect(run.status == 2 && run.output.isEmpty && run.errors.utf8.count { $0 == 0x0A } == 1)
        #expect(run.errors.contains("has the format sealward.ats-check-state/2"), "\(run.errors)")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    /// Documents in other layouts: on one line, as `jq` indents them, and with line ends of Windows.
    @Test func documentsAreMergedAsToolsLayThemOut() throws {
        let folder = try TemporaryDirectory()
        let check = ["ats", "check", "127.0.0.1:9", "127.0.0.2:9", "--no-http", "--format", "json"]
        let whole = try ProgramRun(check).output
        let line = try JSONSerialization.data(withJSONObject: JSONSerialization.jsonObject(with: Data(whole.utf8)))
        let crlf = Data(whole.replacing("\n", with: "\r\n").utf8)
        for document in [Data(whole.utf8), Data(whole.utf8.dropLast()), crlf, line, line + Data("\n".utf8)] {
            try document.write(to: URL(fileURLWithPath: folder.path("result")))
            let merged = try ProgramRun(["ats", "merge", folder.path("result")])
            #expect(merged.status == 2 && merged.errors.isEmpty, "\(merged.errors)")
            #expect((merged.json["targets"] as? [[String: Any]])?.count == 2)
        }
        try Data(whole.utf8.prefix(whole.utf8.count / 2)).write(to: URL(fileURLWithPath: folder.path("half")))
        let half = try ProgramRun(["ats", "merge", folder.path("half")])
        #expect(half.status == 2 && half.errors.contains("ends in the middle of a target"), "\(half.errors)")
    }

    /// The run that is taken up again may print to a file what the first one found on a terminal.
    @Test func whatIsKeptHasNoColor() throws {
        let folder = try TemporaryDirectory()
        let check = ["ats", "check", "127.0.0.1:9", "127.0.0.2:9", "--no-http", "--quiet"]
        func terminal(_ more: [String]) throws -> String {
            try ProgramRun(
                URL(fileURLWithPath: "/usr/bin/env"),
                ["python3", "-c", "import pty,sys; pty.spawn(sys.argv[1:])", BuiltProgram.url.path] + check + more,
                environment: ["TERM": "xterm", "NO_COLOR": ""]
            ).output
        }
        #expect(try terminal([]).contains("\u{1B}["))
        let state = ["--state", folder.path("state")]
        #expect(try terminal(state).contains("UNDETERMINED"))
        let again = try ProgramRun(check + state + ["--output", folder.path("output")])
        #expect(again.status == 2 && again.errors.isEmpty, "\(again.errors)")
        let text = try String(contentsOfFile: folder.path("output"), encoding: .utf8)
        #expect(text.contains("UNDETERMINED") && !text.contains("\u{1B}"), "\(text)")
    }

    @Test func otherTargetsOrSystemsAreRefused() throws {
        let folder = try TemporaryDirectory()
        let port = try HeldPort()
        let arguments = ["ats", "check", "--state", folder.path("state"), "127.0.0.1:\(port.port)"]
        _ = try ProgramRun(arguments)
        for (more, words) in [
            (["127.0.0.2:1"], "the targets"), (["--os", "ios17"], "the systems"),
            (["--shard", "1/1", "--verbose"], "form"),
        ] {
            let run = try ProgramRun(arguments + more)
            #expect(run.status == 2 && run.output.isEmpty)
            #expect(run.errors.contains("belongs to another command: ") && run.errors.contains(words), "\(run.errors)")
        }
        #expect(try ProgramRun(arguments + ["--format", "html"]).status == 64)
        #expect(try ProgramRun(["ats", "check", "a.example", "--shard", "3/2"]).status == 64)
    }

    /// Three machines, one document.
    @Test(
        .enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"),
        arguments: ["json", "jsonl"])
    func mergedShardsAreOneRun(_ format: String) throws {
        let servers = try #require(LoopbackServers.shared)
        let kinds = ["modern", "expired", "tls11-only", "refused", "tls12-only", "tls13-only", "key-rsa1024"]
        let folder = try TemporaryDirectory()
        var arguments = ["ats", "check", "--ca-file", servers.authority, "--connect-timeout", "3", "--format", format]
        for kind in kinds {
            let server = try servers.server(kind)
            arguments += [server.url, "--resolve", server.resolve]
        }
        let whole = try ProgramRun(arguments)
        let files = (1...3).map { folder.path("\($0)") }
        for (number, file) in zip(1..., files) {
            _ = try ProgramRun(arguments + ["--shard", "\(number)/3", "--output", file])
        }
        let merged = try ProgramRun(["ats", "merge"] + files)
        #expect(merged.errors.isEmpty && merged.status == whole.status, "\(merged.errors)")
        func lines(_ run: ProgramRun) -> [String] {
            let lines = run.output.split(separator: "\n").map { line in
                String(line.replacing(/"elapsedMilliseconds": ?[0-9]+/, with: "").replacing(/"checked".*/, with: ""))
            }
            return format == "json" ? lines : lines.sorted()
        }
        #expect(lines(merged) == lines(whole))
        let document = try ProgramRun(["ats", "merge", "--format", "json"] + files)
        #expect(document.string("os") == "macos26" && (document.json["targets"] as? [Any])?.count == kinds.count)

        let other = try ProgramRun(arguments + ["--shard", "1/2", "--output", folder.path("other")])
        #expect(other.status != 64)
        let mixed = try ProgramRun(["ats", "merge", folder.path("other")] + files)
        #expect(mixed.status == 2 && mixed.errors.contains("shard of a different list"), "\(mixed.errors)")
    }

    /// What other programs lay out in their own way is read as a whole.
    @Test func otherLayoutsAreRead() throws {
        let folder = try TemporaryDirectory()
        let port = try HeldPort()
        let check = try ProgramRun(
            ["ats", "check", "--no-http", "--format", "json"] + Self.targets(3, port: port.port))
        let document = try JSONSerialization.jsonObject(with: check.data)
        for (name, options) in [("line", []), ("laid-out", [.prettyPrinted, .sortedKeys])]
            as [(String, JSONSerialization.WritingOptions)]
        {
            let text = String(
                decoding: try JSONSerialization.data(withJSONObject: document, options: options), as: UTF8.self)
            // A tab for each two spaces.
            try text.replacing("  ", with: "\t").write(toFile: folder.path(name), atomically: true, encoding: .utf8)
            let merged = try ProgramRun(["ats", "merge", "--format", "json", folder.path(name)])
            #expect((merged.json["targets"] as? [Any])?.count == 3, "\(name): \(merged.errors)")
        }
    }

    /// One machine had the list in another order, so the places of its results say something else.
    @Test(arguments: ["json", "jsonl"]) func shardsOfAnotherOrderAreRefused(_ format: String) throws {
        let folder = try TemporaryDirectory()
        let port = try HeldPort()
        let check = ["ats", "check", "--no-http", "--format", format]
        // Of forty targets no shard is empty, and none lies the same way from both ends.
        let targets = Self.targets(40, port: port.port)
        for number in 1...3 {
            let order = number == 2 ? targets.reversed() : targets
            _ = try ProgramRun(check + ["--shard", "\(number)/3", "--output", folder.path("\(number)")] + order)
        }
        let merged = try ProgramRun(["ats", "merge"] + (1...3).map { folder.path("\($0)") })
        #expect(merged.status == 2 && merged.errors.contains("in the same order"), "\(merged.errors)")
    }

    /// A result that is there twice is named, and so is what is missing: the targets, their number and the shard that nobody handed in.
    @Test(arguments: ["json", "jsonl"]) func partsOfARunAreNamed(_ format: String) throws {
        let folder = try TemporaryDirectory()
        let port = try HeldPort()
        let targets = Self.targets(40, port: port.port)
        let counts = try (1...3).map { number in
            _ = try ProgramRun(
                ["ats", "check", "--format", format, "--shard", "\(number)/3", "--output", folder.path("\(number)")]
                    + targets)
            return try ProgramRun(["ats", "merge", "--format", "jsonl", folder.path("\(number)")])
                .output.split(separator: "\n").count
        }
        #expect(counts.reduce(0, +) == targets.count)
        // The port decides how the targets spread: the smallest shard is the one handed in twice, and the next one that with the hole.
        let order = (1...3).sorted { counts[$0 - 1] < counts[$1 - 1] }
        let (twice, hole, once) = (order[0], order[1], order[2])
        try #require(counts[twice - 1] > 1)
        let partial = try ProgramRun(["ats", "merge"] + [twice, once, twice].map { folder.path("\($0)") })
        let repeated = "\(counts[twice - 1]) results occur more than once, the first counts: https://127.7.0."
        #expect(partial.errors.contains(repeated), "\(partial.errors)")
        let missing = "\(counts[hole - 1]) targets of the list are missing; nothing was given of shard \(hole) of 3."
        #expect(partial.errors.contains(missing), "\(partial.errors)")
        #expect(partial.status == 2)
    }

    /// Shards and a whole run name the same targets in different ways, so each target would be there twice.
    @Test(arguments: ["json", "jsonl"]) func shardsAndWholeRunsAreNotMixed(_ format: String) throws {
        let folder = try TemporaryDirectory()
        let port = try HeldPort()
        let check = ["ats", "check", "--no-http", "--format", format] + Self.targets(12, port: port.port)
        for (name, more) in [("whole", []), ("one", ["--shard", "1/2"]), ("two", ["--shard", "2/2"])] {
            _ = try ProgramRun(check + more + ["--output", folder.path(name)])
        }
        for names in [["whole", "one", "two"], ["one", "two", "whole"], ["one", "whole"]] {
            let run = try ProgramRun(["ats", "merge"] + names.map { folder.path($0) })
            #expect(run.status == 2 && run.output.isEmpty, "\(names) \(run.errors)")
            #expect(run.errors.contains("merge either all shards of a list"), "\(run.errors)")
        }
        #expect(try ProgramRun(["ats", "merge", folder.path("whole")]).errors.isEmpty)
    }

    /// What `--changes` leaves out would be missing in the merged result.
    @Test func aShardLeavesNoTargetOut() throws {
        let words = ["ats", "check", "127.0.0.1:9", "--no-http", "--systems", "ios9,ios26", "--changes"]
        let run = try ProgramRun(words + ["--shard", "1/2"])
        #expect(run.status == 64 && run.output.isEmpty && run.errors.contains("--shard"), "\(run.errors)")
        #expect(try ProgramRun(words).status == 1)
    }

    @Test(
        arguments: [
            "[]", "{\"schema\":\"sealward.ats-lint/1\"}", "{\"targets\":[{}]}", "{\"target\":",
            "{\"a\":[{\"b\":\"}\\\"{[\"}]}", "{\"target\":1,\"tests\":[]}", "}", "null",
        ]
    ) func whatIsNoResultIsRefused(_ text: String) throws {
        let run = try ProgramRun(["ats", "merge", "-", "--format", "jsonl"], input: text)
        #expect(run.status == 2 && run.output.isEmpty, "\(run.errors)")
        #expect(run.errors.hasPrefix("sealward: standard input: "))
    }

    /// While the first target keeps everybody waiting, finished ones wait in a file: what the process holds grows by far less than what it
    /// writes in the end.
    @Test func whatWaitsForItsTurnTakesNoMemory() throws {
        let (silent, refused) = (try HeldPort(isListening: true), try HeldPort())
        func run(_ count: Int) throws -> (peak: Int, written: Int) {
            let lines = ["127.0.0.1:\(silent.port)"] + Self.targets(count, port: refused.port)
            let fleet = try HostileFleetTests.check(
                lines, ports: [], format: "json", ["--no-http", "--no-aia", "--connect-timeout", "6", "--timeout", "7"])
            #expect(fleet.run.status == 2)
            #expect((fleet.run.json["targets"] as? [Any])?.count == count + 1)
            return (fleet.peak, fleet.run.data.count)
        }
        let (few, many) = (try run(100), try run(600))
        let (held, written) = (many.peak - few.peak, many.written - few.written)
        print("fleet: 500 more targets write \(written >> 20) MiB more and take \(held >> 20) MiB more")
        if !BuiltProgram.isSanitized { #expect(held < written / 2) }
    }

    /// A system without a folder for temporary files is no reason to fail for a list of a hundred.
    @Test func whatWaitsForItsTurnNeedsNoFile() throws {
        let (silent, refused) = (try HeldPort(isListening: true), try HeldPort())
        let targets = ["127.0.0.1:\(silent.port)"] + Self.targets(100, port: refused.port)
        let run = try ProgramRun(
            ["ats", "check", "--format", "json", "--no-http", "--connect-timeout", "2", "--timeout", "3"] + targets,
            environment: ["TMPDIR": "/nowhere"])
        #expect(run.status == 2 && !run.errors.contains("temporary file"), "\(run.errors)")
        let found = try #require(run.json["targets"] as? [[String: Any]])
        let first = try #require(found.first?["target"] as? String)
        #expect(first.contains("127.0.0.1:\(silent.port)"))
        #expect(found.count == targets.count)
        #expect(run.data.count > 1 << 20, "so few that they would have waited in memory anyway")
    }

    /// nginx closes without close_notify, as most servers do; what a load held goes with its connection and not seconds later.
    @Test(.enabled(if: LoopbackServers.isAvailable)) func aLoadThatIsOverHoldsNoMemory() throws {
        let servers = try #require(LoopbackServers.shared)
        let server = try #require(servers.servers["modern"])
        func peak(_ count: Int) throws -> Int {
            let fleet = try HostileFleetTests.check(
                (0..<count).map { server.url + String($0) }, ports: [], format: "json",
                ["--resolve", server.resolve, "--ca-file", servers.authority])
            #expect(fleet.run.json["targets"].map { ($0 as? [Any])?.count } == count)
            return fleet.peak
        }
        let (few, many) = (try peak(100), try peak(400))
        print("fleet: 300 more loads take \((many - few) >> 20) MiB more")
        if !BuiltProgram.isSanitized { #expect(many - few < 5 << 20) }
    }
}

/// A port on every address of the machine that closes each connection, and knows which addresses were asked.
final class AskedServer: @unchecked Sendable {
    let port: Int
    private let listener: HeldPort
    private let lock = NSLock()
    private var hosts: Set<String> = []

    /// - Parameter number: 0 takes a free port.
    init(port number: Int = 0) throws {
        listener = try HeldPort(0, port: number, isListening: true, backlog: 1024)
        port = listener.port
        let descriptor = listener.descriptor
        Thread.detachNewThread { [weak self] in
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0 else { return }
                let local = LoopbackAddress.own(of: client)?.sin_addr.s_addr ?? 0
                let bytes = withUnsafeBytes(of: local) { Array($0) }
                self?.note(bytes.map(String.init).joined(separator: "."))
                close(client)
            }
        }
    }

    private func note(_ host: String) { lock.withLock { _ = hosts.insert(host) } }
    func forget() { lock.withLock { hosts = [] } }
    var asked: Set<String> { lock.withLock { hosts } }
}

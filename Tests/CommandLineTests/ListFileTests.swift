// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Files with one entry a line: what is wrong is said with file and line, and the status is that of input that cannot be read.
@Suite struct ListFileTests {
    /// Commands that take such a file as their last argument.
    static let commands: [[String]] = [
        ["ats", "check", "--targets-from"], ["ats", "check", "--for", "managed", "--targets-from"],
        ["ats", "check", "--format", "nscurl", "--targets-from"], ["ats", "minimize", "--targets-from"],
        ["ats", "check", "api.example.com", "--resolve-from"],
        ["ats", "minimize", "api.example.com", "--resolve-from"],
        ["ats", "fetch", "https://api.example.com/", "--resolve-from"], ["ats", "proxy", "--resolve-from"],
        ["ats", "proxy", "--listen", "127.0.0.1:0", "--password-file"],
    ]

    /// The third line is no entry of any list.
    static let contents: [(name: String, bytes: [UInt8])] = [
        ("a program", Array("# list\n\n".utf8) + [0x7F, 0x45, 0x4C, 0x46, 0, 1, 2, 0xFF, 0x0A, 0x80]),
        ("another encoding", Array("# list\n\nb".utf8) + [0xFC] + Array("cher.example\n".utf8)),
        ("a space", Array("# list\r\n\r\nno entry\r\n".utf8)),
    ]

    @Test(arguments: commands) func fileAndLineAreNamed(_ command: [String]) throws {
        let folder = try TemporaryDirectory()
        for (name, bytes) in Self.contents {
            let file = folder.path("list")
            try Data(bytes).write(to: URL(fileURLWithPath: file))
            let run = try ProgramRun(command + [file])
            #expect(run.status == 2, "\(name): \(run.errors)")
            #expect(run.errors.hasPrefix("sealward: \(file): line 3: "), "\(name): \(run.errors)")
            #expect(run.errors.utf8.count { $0 == 0x0A } == 1 && run.errors.hasSuffix(".\n"), "\(name): \(run.errors)")
            #expect(run.output.isEmpty)
        }
    }

    /// Commands that read text of another kind.
    static let readers: [[String]] = [
        ["ats", "compare"], ["ats", "certificate"], ["ats", "certificate", "--jobs"], ["ats", "merge"], ["ats", "log"],
        ["ats", "explain", "https://api.example.com/", "--ats-json"],
        ["ats", "check", "api.example.com", "--ct-log-list"], ["ats", "check", "api.example.com", "--ca-file"],
    ]

    @Test(
        "A text in UTF-16, with a byte order mark or without one, is named by its encoding",
        arguments: commands + readers)
    func textInUTF16(_ command: [String]) throws {
        let folder = try TemporaryDirectory()
        let file = folder.path("list")
        for (mark, encoding) in [
            ([0xFF, 0xFE], .utf16LittleEndian), ([0xFE, 0xFF], .utf16BigEndian), ([], .utf16LittleEndian),
            ([], .utf16BigEndian),
        ] as [([UInt8], String.Encoding)] {
            let text = try #require("api.example.com:1:127.0.0.1\n".data(using: encoding))
            try (Data(mark) + text).write(to: URL(fileURLWithPath: file))
            let run = try ProgramRun(command + [file])
            #expect(run.status == 2 && run.output.isEmpty, "\(run.output)")
            #expect(run.errors.contains("\(file): is UTF-16; save it as UTF-8"), "\(run.errors)")
        }
    }

    @Test("A text in UTF-8 may begin with a byte order mark")
    func textWithAMark() throws {
        let folder = try TemporaryDirectory()
        let file = folder.path("list")
        let mark = Data([0xEF, 0xBB, 0xBF])
        try (mark + Data("127.0.0.1:1\n".utf8)).write(to: URL(fileURLWithPath: file))
        let check = try ProgramRun(["ats", "check", "--format", "json", "--targets-from", file])
        #expect(
            check.output.contains("\"https://127.0.0.1:1/\"") && check.errors.isEmpty, "\(check.output)\(check.errors)")
        let result = folder.path("result")
        try (mark + Data(check.output.utf8)).write(to: URL(fileURLWithPath: result))
        #expect(try ProgramRun(["ats", "merge", result]).output.contains("\"https://127.0.0.1:1/\""))
    }

    @Test("A job that cannot be read is answered with file and line")
    func jobs() throws {
        let folder = try TemporaryDirectory()
        let file = folder.path("jobs")
        try Data([0x0A, 0x7F, 0x45, 0x4C, 0x46, 0, 0x0A]).write(to: URL(fileURLWithPath: file))
        let run = try ProgramRun(["ats", "certificate", "--jobs", file])
        #expect(run.status == 2)
        let cause = (run.json["because"] as? [[String: Any]])?.first
        #expect((cause?["message"] as? String)?.hasPrefix("\(file): line 2: ") == true, "\(run.output)")
    }

    @Test("No option of any command takes a value that is called as the option itself")
    func valueNames() throws {
        struct Tool: Decodable {
            let command: Command
        }
        struct Command: Decodable {
            let commandName: String
            let subcommands: [Command]?
            let arguments: [Argument]?
        }
        struct Argument: Decodable {
            struct Name: Decodable { let name: String }
            let kind: String
            let preferredName: Name?
            let valueName: String?
        }
        let dump = try ProgramRun(["--experimental-dump-help"])
        var rest = [try JSONDecoder().decode(Tool.self, from: dump.data).command]
        var options = 0
        while let command = rest.popLast() {
            rest += command.subcommands ?? []
            for argument in command.arguments ?? [] where argument.kind == "option" {
                options += 1
                #expect(argument.valueName != argument.preferredName?.name, "\(command.commandName)")
            }
        }
        #expect(options > 100)
    }
}

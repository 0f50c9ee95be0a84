// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Places that results go to and are no plain files, and surroundings that leave the program little.
@Suite struct OutputPlaceTests {
    /// Commands that write their result at once and piece by piece.
    static let commands = [["ats", "rules"], ["ats", "check", "127.0.0.1:1", "--no-http"]]

    @Test(
        "A named pipe stays one: with a reader it gets the result, without one the program says so at once",
        arguments: commands)
    func namedPipe(words: [String]) throws {
        let folder = try TemporaryDirectory()
        let pipe = folder.url.appending(path: "pipe").path
        #expect(mkfifo(pipe, 0o600) == 0)
        let alone = try ProgramRun(words + ["--output", pipe])
        #expect(alone.status == 2)
        #expect(alone.errors.contains("pipe: cannot be written"), "\(alone.errors)")
        #expect(try Self.kind(pipe) == .typeUnknown)
        // The shell holds the pipe open for writing, too, so that its reader sees no end before the program has begun.
        let script =
            #"exec 3<>"$1" 4<"$1"; cat <&4 3>&- >"$1.read" & shift; "$@" --output "$pipe" 3>&- 4<&-; exec 3>&-; wait"#
        let shell = URL(fileURLWithPath: "/bin/bash")
        let read = try ProgramRun(
            shell, ["-c", script, "bash", pipe, BuiltProgram.url.path] + words, environment: ["pipe": pipe])
        #expect(read.errors.isEmpty, "\(read.errors)")
        #expect(try !Data(contentsOf: URL(fileURLWithPath: pipe + ".read")).isEmpty)
        #expect(try Self.kind(pipe) == .typeUnknown)
    }

    @Test("A link stays one, and the file that it leads to gets the result", arguments: commands)
    func link(words: [String]) throws {
        let folder = try TemporaryDirectory()
        let (link, file) = (folder.url.appending(path: "link").path, folder.url.appending(path: "file").path)
        try Data(repeating: 0x78, count: 1 << 20).write(to: URL(fileURLWithPath: file))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        _ = try ProgramRun(words + ["--output", link])
        #expect(try Self.kind(link) == .typeSymbolicLink)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(!text.isEmpty && !text.contains("xxxx"))
    }

    @Test("What a command reads is never overwritten by what it prints, by whatever name")
    func inputs() throws {
        let folder = try TemporaryDirectory()
        let list = folder.path("Info.plist")
        let plist =
            #"<?xml version="1.0"?><plist version="1.0"><dict><key>NSAppTransportSecurity</key><dict/></dict></plist>"#
        let jobs = folder.path("jobs")
        try plist.write(toFile: list, atomically: true, encoding: .utf8)
        try "{}\n".write(toFile: jobs, atomically: true, encoding: .utf8)
        try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: list)
        try FileManager.default.linkItem(atPath: list, toPath: folder.path("hard"))
        for output in ["Info.plist", "link", "hard"] {
            for words in [
                ["ats", "lint", list], ["ats", "lint", folder.path("")],
                ["ats", "explain", "--info-plist", list, "a.example"],
                ["ats", "log", list], ["ats", "check", "127.0.0.1:9", "--no-http", "--info-plist", list],
                ["receipt", "inspect", list],
                ["ats", "fetch", "http://127.0.0.1:9/", "--format", "json", "--info-plist", list],
            ] {
                let run = try ProgramRun(words + ["--output", folder.path(output)])
                #expect(run.status == 2, "\(words) \(run.errors)")
                #expect(try String(contentsOfFile: list, encoding: .utf8) == plist, "\(words) \(output)")
            }
        }
        let run = try ProgramRun(["ats", "certificate", "--jobs", jobs, "--output", jobs])
        #expect(run.status == 2 && run.errors.contains("that this command uses itself"), "\(run.errors)")
        // A baseline is written anew when that is asked for.
        let baseline = ["ats", "lint", list, "--baseline", folder.path("baseline"), "--update-baseline"]
        #expect(try ProgramRun(baseline).errors.contains("written"))
        #expect(try ProgramRun(baseline).status == 0)
        // Nor is what the command has just written.
        let misspelled =
            "<dict><key>a.example</key><dict><key>NSExceptionAllowInsecureHTTPLoads</key><true/></dict></dict>"
        try plist.replacing("<dict/>", with: "<dict><key>NSExceptionDomains</key>\(misspelled)</dict>")
            .write(toFile: list, atomically: true, encoding: .utf8)
        for (words, file, beginning) in [
            (["--fix"], "Info.plist", "<?xml"), (["--baseline", folder.path("new"), "--update-baseline"], "new", "{"),
        ] {
            let run = try ProgramRun(["ats", "lint", list] + words + ["--output", folder.path(file)])
            #expect(run.status == 2 && run.errors.contains("that this command uses itself"), "\(run.errors)")
            #expect(try String(contentsOfFile: folder.path(file), encoding: .utf8).hasPrefix(beginning))
        }
    }

    @Test("The name of a file cannot steer the terminal of whoever reads the error")
    func names() throws {
        let name = "/none/\u{1B}]0;x\u{7}\u{202E}\nsealward: fine.plist"
        for words in [
            ["merge", name], ["check", "127.0.0.1:1", "--roots", name], ["lint", "--baseline", name, name],
        ] {
            let run = try ProgramRun(["ats"] + words)
            #expect(run.status == 2)
            let text = run.errors + run.output
            #expect(text.contains("\\u{1b}]0;x\\u{7}\\u{202e}"), "\(text)")
            #expect(
                !text.contains("\u{1B}") && !text.contains("\u{202E}") && !text.contains("\nsealward: fine"), "\(text)")
        }
    }

    @Test("With too few descriptors for anything the program says so and ends in order", arguments: [8, 10, 16, 23])
    func fewDescriptors(count: Int) throws {
        let shell = URL(fileURLWithPath: "/bin/bash")
        let words = ["-c", #"ulimit -n "$1"; shift; exec "$@""#, "bash", "\(count)", BuiltProgram.url.path]
        let run = try ProgramRun(shell, words + ["ats", "check", "127.0.0.1:1", "--no-http"])
        #expect(run.status == 2)
        #expect(run.errors.contains("only \(count) files and connections"), "\(run.errors)")
    }

    /// `serve` waits so for PostgreSQL, and the image's first process is `sealward`.
    @Test(
        "The first process of a container ends on a signal while it waits",
        .enabled(if: mayBeFirst, "needs unshare and user namespaces"))
    func firstProcess() throws {
        let script = """
            mkfifo "$2"; exec 3<>"$2"
            unshare -Upf --kill-child "$1" ats log - <&3 & first=$!
            for try in {1..300}; do
                child=$(pgrep -P $first) && grep -q 'SigCgt:.*[4-7c-f]...$' /proc/$child/status && break
                sleep 0.1
                [ $try = 300 ] && { kill -KILL $child; exit 1; }
            done
            kill -TERM $child; wait $first
            """
        let folder = try TemporaryDirectory()
        let shell = URL(fileURLWithPath: "/bin/bash")
        let words = ["-c", script, "bash", BuiltProgram.url.path, folder.path("pipe")]
        #expect(try ProgramRun(shell, words).status == 128 + SIGTERM)
    }

    private static let mayBeFirst =
        (try? ProgramRun(URL(fileURLWithPath: "/bin/bash"), ["-c", "unshare -Upf true && command -v pgrep"]).status)
        == 0

    private static func kind(_ path: String) throws -> FileAttributeType? {
        try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The commands with which the pages of docs/for begin, run as they stand in an empty folder; and every line of output that is shown there.
@Suite(.serialized) struct QuickstartTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static let pages: [String] = {
        let names = try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: "docs/for").path)
        return (names ?? []).filter { $0.hasSuffix(".md") }.sorted()
    }()

    /// The first fenced block of commands, and the block of output that follows it.
    struct Quickstart {
        let commands: String
        let shown: [String]
        /// Lines of prose before the commands.
        let linesBefore: Int

        init?(_ page: String) {
            let lines = page.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            guard let begin = lines.firstIndex(of: "```sh"),
                let end = lines[begin...].firstIndex(of: "```")
            else { return nil }
            commands = lines[(begin + 1)..<end].joined(separator: "\n")
            linesBefore = lines[..<begin].filter { !$0.isEmpty }.count
            let rest = lines[(end + 1)...]
            guard let output = rest.firstIndex(of: "```text"), let last = rest[output...].firstIndex(of: "```"),
                !rest[..<output].contains("```sh")
            else { return nil }
            shown = rest[(output + 1)..<last].filter { !$0.isEmpty && $0 != "..." }
        }
    }

    @Test func everyReaderHasAPage() {
        #expect(
            QuickstartTests.pages == [
                "backend-engineer.md", "ios-developer.md", "release-engineer.md", "security-reviewer.md",
            ]
        )
    }

    @Test(arguments: pages)
    func thePageBeginsWithCommandsThatRun(_ page: String) throws {
        let file = QuickstartTests.root.appending(path: "docs/for/\(page)")
        let quickstart = try #require(Quickstart(String(contentsOf: file, encoding: .utf8)), "no ```sh and ```text")
        // A title and at most two lines of what it is about.
        #expect(quickstart.linesBefore <= 3)
        #expect(!quickstart.shown.isEmpty)
        let run = try QuickstartTests.run(quickstart.commands)
        let everything = run.output + run.errors
        // 1 is findings; everything above means that a command did not do what it is for.
        #expect(run.status == 0, "\(everything)")
        let said = Set(everything.split(separator: "\n").map { QuickstartTests.squeezed(String($0)) })
        for line in quickstart.shown {
            #expect(said.contains(QuickstartTests.squeezed(line)), "\(line)\n is not in\n\(everything)")
        }
    }

    /// Without the blanks at both ends, which a page may have.
    private static func squeezed(_ line: String) -> String { line.trimmingCharacters(in: .whitespaces) }

    /// Runs commands in an empty folder with the built program on PATH, and with a network of their own where that can be had: the pages
    /// name ports.
    private static func run(_ commands: String) throws -> ProgramRun {
        let folder = try TemporaryDirectory()
        let script = """
            trap 'status=$?; if [ $status -gt 1 ]; then echo "status $status: $BASH_COMMAND" >&2; exit 70; fi' ERR
            trap 'trap - ERR; kill $(jobs -p) 2> /dev/null; wait' EXIT
            set -o pipefail
            \(commands)
            exit 0
            """
        let path = BuiltProgram.url.deletingLastPathComponent().path
        let others = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let environment = ["PATH": "\(path):\(others)", "NO_COLOR": "1"]
        let starter = networkOfItsOwn ?? ["/bin/bash", "-c"]
        return try ProgramRun(
            URL(fileURLWithPath: starter[0]), starter.dropFirst() + [script], in: folder.url, environment: environment)
    }

    /// Begins a shell in a network with nothing but its own loopback; nil where this machine does not allow it.
    private static let networkOfItsOwn: [String]? = {
        for options in [["--net"], ["--user", "--map-root-user", "--net"]] {
            let words =
                ["/usr/bin/unshare"] + options
                + ["/bin/bash", "-c", "ip link set lo up && exec /bin/bash -c \"$0\""]
            let program = URL(fileURLWithPath: words[0])
            let run = try? ProgramRun(program, words.dropFirst() + ["echo up"])
            if run?.output == "up\n" { return words }
        }
        return nil
    }()
}

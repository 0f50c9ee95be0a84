// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward init`: from an empty folder to the first accepted assertion, and never over what is there.
@Suite(.serialized) struct InitCommandTests {
    let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private static let files: Set = [
        ".gitignore", "AuthKey_SIMKEY0001.p8", "admin.token", "attestation-root.pem", "receipt-root.pem",
        "sealward.json",
        "server.token", "simulator.seed", "token-key.pem",
    ]

    private func names(_ name: String) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: folder.path(name)))
    }

    private func mode(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: folder.path(name))[.posixPermissions] as? Int
    }

    /// The name is one that a shell would break, so that the quotes count too.
    @Test(arguments: ["trust", "it's a \"trust\" $HOME & more", "-trust"])
    func theNextThreeCommandsRunAsTheyStand(_ name: String) throws {
        let (service, apple) = (try FreePort.take(), try FreePort.take())
        let made = try ProgramRun(
            ["init", "--listen", "127.0.0.1:\(service)", "--apple", "127.0.0.1:\(apple)", "--", name], in: folder.url)
        #expect(made.status == 0, "\(made.errors)")
        let commands = made.output.split(separator: "\n").dropFirst()
        #expect(commands.count == 3)
        let script = """
            trap 'kill $(jobs -p) 2> kills; wait' EXIT
            \(commands.joined(separator: "\n"))
            """
        let run = try ProgramRun(URL(fileURLWithPath: "/bin/bash"), ["-c", script], in: folder.url)
        #expect(run.status == 0, "\(run.output)\n\(run.errors)")
        // One attestation and two assertions of one honest device.
        let row = run.output.split(separator: "\n").first { $0.hasPrefix("honest") }
        #expect(row?.split(separator: " ") == ["honest", "1", "3", "0"], "\(run.output)")
        #expect(run.output.contains("All personas behaved as expected."))
        #expect(run.errors.contains("WARNING: simulated devices are trusted."))
        // The seed is a secret: it is in its file and on no command line.
        let seed = try String(contentsOfFile: folder.path(name + "/simulator.seed"), encoding: .utf8)
        #expect(!made.output.contains(seed.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    @Test func everyFileIsTheOwnersAlone() throws {
        // An umask that lets everybody in changes nothing.
        let script = "umask 000; exec \"$0\" init --format json shop"
        let made = try ProgramRun(
            URL(fileURLWithPath: "/bin/sh"), ["-c", script, BuiltProgram.url.path], in: folder.url)
        #expect(made.status == 0, "\(made.errors)")
        #expect(made.string("schema") == "sealward.init/1")
        #expect(Set(made.json["files"] as? [String] ?? []) == InitCommandTests.files)
        #expect((made.json["next"] as? [String])?.count == 3)
        #expect(try names("shop") == InitCommandTests.files)
        #expect(try mode("shop") == 0o700)
        for file in InitCommandTests.files { #expect(try mode("shop/\(file)") == 0o600, "\(file)") }
        let check = try ProgramRun(["serve", "--config", folder.path("shop/sealward.json"), "--check-config"])
        #expect(check.status == 0 && check.errors == "The configuration is complete.\n", "\(check.errors)")
    }

    @Test func twoFoldersShareNoSecret() throws {
        for name in ["a", "b"] { #expect(try ProgramRun(["init", folder.path(name)]).status == 0) }
        for file in InitCommandTests.files.subtracting([".gitignore"]) {
            let (a, b) = (try Data(contentsOf: url("a/" + file)), try Data(contentsOf: url("b/" + file)))
            #expect(a != b, "\(file)")
        }
    }

    private func url(_ name: String) -> URL { folder.url.appending(path: name) }

    /// What is in the way, and a word of the sentence that says so.
    enum Obstacle: String, CaseIterable {
        case file, fullFolder, hiddenFile, link, danglingLink, linkWithSlash, noParent, control

        var words: String {
            switch self {
            case .file, .link, .danglingLink, .linkWithSlash: "is not a folder"
            case .fullFolder, .hiddenFile: "is not empty"
            case .noParent: "No such file or directory"
            case .control: "control characters"
            }
        }
    }

    @Test(arguments: Obstacle.allCases)
    func nothingIsOverwritten(_ obstacle: Obstacle) throws {
        let manager = FileManager.default
        var name = "target"
        let target = folder.path("target")
        switch obstacle {
        case .file: try "mine".write(toFile: target, atomically: true, encoding: .utf8)
        case .fullFolder, .hiddenFile:
            try manager.createDirectory(atPath: target, withIntermediateDirectories: true)
            let file = obstacle == .hiddenFile ? ".mine" : "sealward.json"
            try "mine".write(toFile: target + "/" + file, atomically: true, encoding: .utf8)
        case .link, .linkWithSlash:
            try manager.createDirectory(atPath: folder.path("elsewhere"), withIntermediateDirectories: true)
            try manager.createSymbolicLink(atPath: target, withDestinationPath: folder.path("elsewhere"))
            if obstacle == .linkWithSlash { name = "target/" }
        case .danglingLink:
            try manager.createSymbolicLink(atPath: target, withDestinationPath: folder.path("elsewhere"))
        case .noParent: name = "absent/target"
        case .control: name = "a\nb"
        }
        let before = try Set(manager.subpathsOfDirectory(atPath: folder.url.path))
        let run = try ProgramRun(["init", name], in: folder.url)
        #expect(run.status == 2)
        #expect(run.errors.contains(obstacle.words), "\(run.errors)")
        #expect(run.errors.split(separator: "\n").count == 1 && run.output.isEmpty, "\(run.errors)\(run.output)")
        #expect(try Set(manager.subpathsOfDirectory(atPath: folder.url.path)) == before)
        for file in ["target/.mine", "target/sealward.json", "target"] where before.contains(file) {
            let text = try? String(contentsOf: url(file), encoding: .utf8)
            #expect(text == nil || text == "mine")
        }
    }

    @Test(.enabled(if: BuiltProgram.runsWithoutPrivileges, "needs setpriv, where the tests run as root"))
    func aFolderThatCannotBeWrittenIsNamed() throws {
        let closed: [FileAttributeKey: Any] = [.posixPermissions: 0o500]
        try FileManager.default.createDirectory(
            atPath: folder.path("closed"), withIntermediateDirectories: true, attributes: closed)
        let (program, arguments) = BuiltProgram.unprivileged(["init", folder.path("closed/trust")])
        let run = try ProgramRun(program, arguments)
        #expect(run.status == 2)
        #expect(run.errors.contains("closed/trust: cannot be written (Permission denied)"), "\(run.errors)")
    }

    /// A disk that takes nothing more: whatever was written before goes away again.
    @Test func aFullDiskLeavesNothing() throws {
        // Files may have no byte; what the program says goes through a pipe.
        let script = "(trap '' XFSZ; ulimit -f 0; \"$0\" init trust 2>&1; echo \"status $?\") | cat"
        let run = try ProgramRun(
            URL(fileURLWithPath: "/bin/bash"), ["-c", script, BuiltProgram.url.path], in: folder.url)
        #expect(run.output.contains("cannot be written (File too large); nothing was kept."), "\(run.output)")
        #expect(run.output.contains("status 2"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
    }

    /// The disk fills up in the middle: a file system of six pages.
    @Test func aDiskThatFillsUpLeavesNothing() throws {
        let script = """
            mkdir small && mount -t tmpfs -o size=24k none small || exit 77
            "$0" init small/trust; echo "status $?"; ls -A small
            """
        let unshare = URL(fileURLWithPath: "/usr/bin/unshare")
        guard
            let run = try? ProgramRun(
                unshare, ["--mount", "--map-root-user", "/bin/sh", "-c", script, BuiltProgram.url.path], in: folder.url),
            run.status != 77, run.output.contains("status")
        else { return }
        #expect(run.output == "status 2\n", "\(run.output)")
        #expect(run.errors.contains("No space left on device); nothing was kept."), "\(run.errors)")
    }

    /// Eight at once: exactly one writes, and what it wrote is whole.
    @Test(arguments: [true, false])
    func ofManyAtOnceOneWins(_ isThere: Bool) async throws {
        let target = folder.path("trust")
        if isThere { try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true) }
        let runs = try await withThrowingTaskGroup(of: ProgramRun.self) { group in
            for _ in 0..<8 { group.addTask { try ProgramRun(["init", target]) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(runs.filter { $0.status == 0 }.count == 1)
        #expect(runs.filter { $0.status == 2 }.count == 7)
        #expect(try names("trust") == InitCommandTests.files)
        #expect(try ProgramRun(["serve", "--config", target + "/sealward.json", "--check-config"]).status == 0)
    }

    /// The id stands in the paths of the service.
    @Test(arguments: ["a/b", "", ".", "..", "a b", "caf\u{E9}", "a%2Fb", "a?b"])
    func anAppThatCannotStandInAPathIsRefused(_ app: String) throws {
        let run = try ProgramRun(["init", folder.path("trust"), "--app", app])
        #expect(run.status == 64)
        #expect(run.errors.contains("--app: '\(app)' cannot be part of a path; use letters, digits"), "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: folder.path("trust")))
    }

    @Test(
        arguments: [
            (["--app-id", "SIM_TEAM.com.example.app"], 2), (["--listen", "127.0.0.1:0"], 64),
            (["--listen", "127.0.0.1:9", "--apple", "127.0.0.1:9"], 64), (["--app-id", "nodot"], 64),
            (["--apple", "apple.example:8900"], 2),
        ] as [([String], Int32)]
    )
    func whatTheServiceWouldRefuseIsNotWritten(_ options: [String], _ status: Int32) throws {
        let run = try ProgramRun(["init", folder.path("trust")] + options)
        #expect(run.status == status, "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: folder.path("trust")))
    }
}

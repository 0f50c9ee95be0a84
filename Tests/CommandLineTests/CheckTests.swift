// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward ats check` as a user runs it.
@Suite(.enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"))
struct CheckTests {
    /// `ats check` against loopback kinds with the test authority installed.
    static func check(_ kinds: [String], _ more: [String] = []) throws -> ProgramRun {
        let servers = try #require(LoopbackServers.shared)
        var arguments = ["ats", "check", "--ca-file", servers.authority, "--connect-timeout", "3"] + more
        for kind in kinds {
            let server = try servers.server(kind)
            arguments += [server.url, "--resolve", server.resolve]
        }
        return try ProgramRun(arguments)
    }

    @Test(
        arguments: [
            (["modern"], 0), (["tls10-only"], 1), (["refused"], 2), (["modern", "refused"], 2),
            (["refused", "expired"], 1),
        ] as [([String], Int32)]
    )
    func theExitStatusFollowsTheDefaultConfiguration(_ kinds: [String], _ status: Int32) throws {
        let run = try Self.check(kinds)
        #expect(run.status == status, "\(run.output)\(run.errors)")
    }

    @Test(arguments: ["1e300", "86401", "0", "-1", "inf", "nan"])
    func aTimeoutThatNoClockHasIsAUsageError(_ seconds: String) throws {
        for option in ["--connect-timeout", "--timeout"] {
            #expect(try ProgramRun(["ats", "check", "127.0.0.1:1", "\(option)=\(seconds)"]).status == 64)
        }
    }

    @Test func jsonHasEveryFieldOfTheContract() throws {
        let run = try Self.check(["tls11-only"], ["--format", "json", "--sdk", "18"])
        let document = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
        #expect(document["schema"] as? String == "sealward.ats-check/1")
        #expect(document["os"] as? String == "macos26")
        #expect(document["sdk"] as? String == "18")
        let target = try #require((document["targets"] as? [[String: Any]])?.first)
        let server = try #require(LoopbackServers.shared).server("tls11-only")
        #expect(target["target"] as? String == "https://api.example.com:\(server.port)/")
        #expect(target["host"] as? String == "api.example.com")
        #expect(target["port"] as? Int == server.port)
        #expect(target["address"] as? String == "127.0.0.1")
        #expect(target["facts"] is [String: Any])
        #expect((target["handshakes"] as? Int).map { (1...4).contains($0) } == true)
        #expect(target["elapsedMilliseconds"] is Int)
        let tests = try #require(target["tests"] as? [[String: Any]])
        #expect(tests.count == 16)
        let first = try #require(tests.first)
        #expect(first["section"] as? String == "Default ATS Secure Connection")
        #expect(first["name"] as? String == "ATS Default Connection")
        #expect((first["ats"] as? [String: Any])?.isEmpty == true)
        #expect(first["result"] as? String == "FAIL")
        let error = try #require(first["error"] as? [String: Any])
        #expect(error["domain"] as? String == "NSURLErrorDomain")
        #expect(error["code"] as? Int == -1200)
        #expect(error["streamCode"] is Int)
        let because = try #require(first["because"] as? [[String: Any]])
        #expect(because.first?["code"] as? String == "ats.tls.version-too-low")
        let exception = try #require(target["smallestException"] as? [String: Any])
        let hosts = try #require(exception["NSExceptionDomains"] as? [String: [String: Any]])
        #expect(hosts["api.example.com"]?["NSExceptionMinimumTLSVersion"] as? String == "TLSv1.1")
    }

    /// Which of my servers will break with the next system?
    @Test func severalSystemsAreJudgedFromOneSetOfObservations() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString + ".plist")
        defer { try? FileManager.default.removeItem(at: file) }
        let plist = """
            <plist version="1.0"><dict><key>NSAppTransportSecurity</key><dict><key>NSAllowsArbitraryLoads</key><true/></dict></dict></plist>
            """
        try Data(plist.utf8).write(to: file)
        let more = ["--systems", "ios18,ios26", "--info-plist", file.path]
        let run = try Self.check(["modern", "tls11-only"], more + ["--format", "json"])
        #expect(run.status == 1, "\(run.errors)")
        let document = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
        let targets = try #require(document["targets"] as? [[String: Any]])
        let systems = try #require(targets.last?["systems"] as? [String: [String: Any]])
        #expect(systems.mapValues { $0["result"] as? String } == ["ios18": "PASS", "ios26": "FAIL"])
        #expect(systems.mapValues { $0["sdk"] as? String } == ["ios18": "18", "ios26": "26"])
        let text = try Self.check(["modern", "tls11-only"], more + ["--changes"])
        let port = try #require(LoopbackServers.shared).server("tls11-only").port
        let lines = text.output.split(separator: "\n")
        #expect(lines.first?.split(separator: " ") == ["ios18", "ios26"], "\(text.output)")
        #expect(lines.dropFirst().first?.split(separator: " ") == ["api.example.com:\(port)", "PASS", "FAIL"])
        // Why, and what helps, are said once, for the system on which it does not load.
        #expect(lines.count { $0.contains("cause") } == 1 && lines.contains("    ios26"), "\(text.output)")
        #expect(lines.last?.hasPrefix("1 pass, 1 fail") == true, "\(text.output)")
        #expect(try Self.check(["tls11-only"], more + ["--changes", "--sdk", "18"]).status == 0)
        for wrong in [
            ["--changes"], ["--systems", "ios18,beos"], ["--systems", ""],
            ["--systems", "ios18", "--format", "nscurl"],
        ] {
            #expect(try Self.check(["modern"], wrong).status == 64, "\(wrong)")
        }
        for (list, words) in [("ios8,ios18", "does not exist on iOS 8"), ("ios18,beos", "'beos' is not a system")] {
            let run = try ProgramRun(["ats", "check", "a.example", "--systems", list])
            #expect(run.status == 64 && run.errors.contains(words), "\(run.errors)")
        }
    }

    /// Whatever the company, a system gets the rows, causes, errors and exception that it gets alone; hellos are shared.
    @Test func eachSystemGetsWhatItGetsAlone() throws {
        let kinds = [
            "modern", "tls10-only", "tls11-only", "tls12-only", "tls13-only", "suite-static-aes128-gcm-sha256",
            "suite-rsa-aes256-cbc-sha384", "key-rsa1024", "expired", "redirect-http-other-host", "refused",
        ]
        let systems = ["ios9", "ios18", "macos26"]
        func targets(_ more: [String]) throws -> [[String: Any]] {
            let run = try Self.check(kinds, more + ["--format", "json"])
            let document = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
            return try #require(document?["targets"] as? [[String: Any]], "\(run.errors)")
        }
        let together = try targets(["--systems", systems.joined(separator: ",")])
        var hellos = 0
        for system in systems {
            for (shared, alone) in zip(together, try targets(["--os", system])) {
                let verdict = try #require((shared["systems"] as? [String: [String: Any]])?[system])
                let place = "\(system) \(alone["target"] ?? "")"
                #expect(verdict["tests"] as? NSArray == alone["tests"] as? NSArray, "\(place)")
                let (ours, theirs) = (verdict["smallestException"], alone["smallestException"])
                #expect(ours as? NSObject == theirs as? NSObject, "\(place)")
                hellos += alone["handshakes"] as? Int ?? 0
            }
        }
        let shared = together.reduce(0) { $0 + ($1["handshakes"] as? Int ?? 0) }
        #expect(shared > 0 && shared < hellos, "\(shared) of \(hellos)")
    }

    @Test func certificatesThatExpireSoonAreNamed() throws {
        let soon = try Self.check(["modern"], ["--expires-within", "100000"])
        #expect(soon.status == 0 && soon.output.contains("expires on"), "\(soon.output)")
        #expect(try !Self.check(["modern"], ["--expires-within", "0"]).output.contains("expires on"))
        let run = try Self.check(["modern"], ["--expires-within", "100000", "--format", "json"])
        #expect(run.output.contains("ats.note.expires-soon") && run.output.contains("\"daysLeft\""))
        for format in ["junit", "markdown", "html"] {
            let soon = try Self.check(["modern"], ["--expires-within", "100000", "--format", format])
            #expect(soon.status == 0 && soon.output.contains("ats.note.expires-soon"), "\(format)")
            let none = try Self.check(["modern"], ["--expires-within", "0", "--format", format])
            #expect(!none.output.contains("ats.note.expires-soon"), "\(format)")
        }
        // A failure is no reason to leave it out.
        let failing = try Self.check(["tls11-only"], ["--expires-within", "100000", "--format", "junit"])
        #expect(failing.status == 1 && failing.output.contains("ats.note.expires-soon"), "\(failing.output)")
        // The form of nscurl has no place for it.
        let other = try Self.check(["modern"], ["--expires-within", "100000", "--format", "nscurl"])
        #expect(!other.output.contains("expires on") && other.errors.contains("expires on"), "\(other.errors)")
    }

    @Test func jsonlHasALineForEachTarget() throws {
        let run = try Self.check(["modern", "expired", "refused"], ["--format", "jsonl"])
        let lines = run.output.split(separator: "\n")
        #expect(lines.count == 3)
        for line in lines { #expect((try? JSONSerialization.jsonObject(with: Data(line.utf8))) is [String: Any]) }
    }

    @Test func nscurlTextNamesTheHostWithoutItsPort() throws {
        let run = try Self.check(["modern"], ["--format", "nscurl", "--verbose"])
        let port = try #require(LoopbackServers.shared).server("modern").port
        #expect(run.output.contains("HTTPS loads to https://api.example.com:\(port)/.\n"))
        #expect(run.output.contains("Configuring TLS exceptions for api.example.com\n"))
        #expect(run.output.contains("        \"api.example.com\" =         {\n"))
        #expect(run.output.components(separatedBy: "Result : PASS\n").count == 17)
    }

    @Test("A fraction that is not whole has its legend, also where the target passes")
    func aFractionHasItsLegend() throws {
        for (kind, isThere) in [("tls12-only", true), ("modern", false)] {
            let output = try Self.check([kind]).output
            #expect(output.contains("PASS") && output.contains("The fraction counts") == isThere, "\(output)")
        }
    }

    @Test("A server that demands a client certificate is not said to go on without one")
    func aDemandIsNoWish() throws {
        for (kind, goesOn) in [("client-certificate-wanted", true), ("client-certificate-demanded-13", false)] {
            for more in [[], ["--systems", "ios18,ios26"]] {
                let words = try Self.check([kind], more).output.split(whereSeparator: \.isWhitespace)
                    .joined(separator: " ")
                #expect(words.contains("note The server asks for a client certificate.") == goesOn, "\(words)")
            }
        }
    }

    @Test func textNamesCauseAndFix() throws {
        let run = try Self.check(["tls10-only"])
        #expect(run.output.hasPrefix("FAIL "))
        #expect(run.output.contains("ats.tls.version-too-low"))
        #expect(run.output.contains("enable TLS 1.2"))
        #expect(run.output.contains("no exception helps"))
        #expect(run.output.contains("tlsMinimumSupportedProtocolVersion"))
        let older = try Self.check(["tls10-only"], ["--sdk", "18"])
        #expect(older.output.contains("NSExceptionMinimumTLSVersion = TLSv1.0"))
        #expect(!run.output.contains("\u{1B}"))
    }

    @Test(arguments: ["junit", "markdown", "html"]) func documentsNameTheTargetAndItsResult(_ format: String) throws {
        let run = try Self.check(["expired", "modern"], ["--format", format])
        #expect(run.status == 1)
        #expect(run.output.contains("api.example.com"))
        #expect(run.output.contains("ats.trust.expired"))
        // The server's configuration names the port that was checked.
        let port = try #require(LoopbackServers.shared).server("expired").port
        #expect(run.output.contains("listen \(port) ssl;") == (format == "html"))
    }

    /// Every document has the systems that were asked for and no other, and with --changes only what is not the same on all of them.
    @Test(arguments: ["junit", "markdown", "html"]) func documentsHaveTheSystemsAskedFor(_ format: String) throws {
        let more = ["--systems", "ios18,ios26", "--format", format]
        let ports = try ["modern", "tls11-only"].map { try #require(LoopbackServers.shared).server($0).port }
        let allow = try CheckTests.check(["modern", "tls11-only"], more)
        #expect(allow.status == 1, "\(allow.errors)")
        for part in ["iOS 18", "iOS 26", "ats.tls.version-too-low", ":\(ports[0])", ":\(ports[1])"] {
            #expect(allow.output.contains(part), "\(part): \(allow.output)")
        }
        #expect(!allow.output.contains("iOS 9") && !allow.output.contains("on macOS 26"))
        let changes = try CheckTests.check(["modern", "tls11-only"], more + ["--changes"])
        #expect(!changes.output.contains(":\(ports[0])"), "\(changes.output)")
    }

    @Test(arguments: ["text", "nscurl", "json", "jsonl", "junit", "markdown", "html"])
    func aFetchedIntermediateIsSaidInEveryForm(_ format: String) throws {
        let run = try Self.check(["missing-intermediate-aia"], ["--format", format])
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        let words = "Clients that do not fetch it fail: send it after the leaf"
        #expect((format == "nscurl" ? run.errors : run.output).contains(words), "\(run.output)\(run.errors)")
        let whole = try Self.check(["modern"], ["--format", format])
        #expect(!(whole.output + whole.errors).contains(words))
    }

    @Test func verboseShowsEveryConfigurationWithItsDictionaryAndError() throws {
        let run = try Self.check(["suite-static-aes128-gcm-sha256"], ["--verbose"])
        let lines = run.output.split(separator: "\n").map(String.init)
        let name = "  FAIL          TLSv1.2"
        let row = try #require(lines.firstIndex { $0.hasPrefix(name) }, "\(run.output)")
        #expect(lines[row + 1].contains("NSExceptionDomains.api.example.com.NSExceptionMinimumTLSVersion = TLSv1.2"))
        #expect(lines[row + 2].contains("NSURLErrorDomain -1200, stream code -9824"), "\(lines[row + 2])")
        #expect(lines[row + 2].contains("underlying error kCFErrorDomainCFNetwork -1200"))
        // The error of the decisive row stands above, with what the console shows.
        let error = try #require(lines.firstIndex { $0.contains(" error  NSURLErrorDomain -1200") })
        #expect(lines[error + 1].contains(" log ") && lines[error + 1].contains("finished with error [-1200]"))
    }

    @Test func theAppsDictionaryDecidesTheExitStatus() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("Info.plist")
        func plist(_ sdk: String) -> String {
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <plist version="1.0"><dict><key>DTSDKName</key><string>\(sdk)</string>
            <key>NSAppTransportSecurity</key><dict><key>NSExceptionDomains</key><dict>
            <key>api.example.com</key><dict><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.0</string></dict>
            </dict></dict></dict></plist>
            """
        }
        // The app's own SDK decides about its row, --sdk about every row.
        try Data(plist("iphoneos26.0").utf8).write(to: file)
        #expect(try Self.check(["tls10-only"], ["--info-plist", file.path]).status == 1)
        #expect(try Self.check(["tls10-only"], ["--info-plist", file.path, "--sdk", "18"]).status == 0)
        try Data(plist("iphoneos18.5").utf8).write(to: file)
        #expect(try Self.check(["tls10-only"], ["--info-plist", file.path, "--sdk", "26"]).status == 1)
        let run = try Self.check(["tls10-only"], ["--info-plist", file.path, "--format", "json"])
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains("\"sdk\": \"26\"") && run.output.contains("\"sdk\": \"18\""))
        #expect(run.output.components(separatedBy: "\"section\"").count == 18)
    }

    @Test func rootsThatOthersMayWriteAreNamedOnce() throws {
        let folder = try TemporaryDirectory()
        let roots = folder.path("roots.pem")
        try FileManager.default.copyItem(atPath: try #require(LoopbackServers.shared).authority, toPath: roots)
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: roots)
        let run = try ProgramRun(["ats", "check", "127.0.0.1:9", "--no-http", "--ca-file", roots, "--roots", roots])
        #expect(run.errors.components(separatedBy: "everybody may write to it").count == 2, "\(run.errors)")
    }

    @Test func targetsComeFromAFileAndFromStandardInput() throws {
        let servers = try #require(LoopbackServers.shared)
        let modern = try servers.server("modern")
        let list = "# two\n\(modern.host):\(modern.port)\n\n  https://\(modern.host):\(modern.port)/x # again\n"
        let run = try ProgramRun(
            [
                "ats", "check", "--targets-from", "-", "--ca-file", servers.authority, "--resolve", modern.resolve,
                "--format", "jsonl",
            ],
            input: list
        )
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.split(separator: "\n").count == 2)
    }

    @Test("Overrides come from a file too; those of the command line count before them")
    func overridesComeFromAFile() throws {
        let servers = try #require(LoopbackServers.shared)
        let (modern, refusing) = (try servers.server("modern"), try HeldPort())
        let folder = try TemporaryDirectory()
        let list = "# staging\n\(modern.resolve)\n\n  other.example.com:\(refusing.port):127.0.0.1 # gone\n"
        try Data(list.utf8).write(to: URL(fileURLWithPath: folder.path("resolve")))
        let arguments = ["ats", "check", modern.url, "--ca-file", servers.authority, "--format", "jsonl"]
        let run = try ProgramRun(arguments + ["--resolve-from", folder.path("resolve")])
        #expect(run.status == 0, "\(run.errors)")
        let last = "\(modern.host):\(modern.port):[::1]"
        let overridden = try ProgramRun(arguments + ["--resolve-from", "-", "--resolve", last], input: list)
        #expect(overridden.status == 2 && overridden.output.contains("ats.net.refused"), "\(overridden.output)")
        try Data("\n\(modern.host):443\n".utf8).write(to: URL(fileURLWithPath: folder.path("broken")))
        let broken = try ProgramRun(arguments + ["--resolve-from", folder.path("broken")])
        #expect(broken.status == 2 && broken.errors.contains("broken: line 2: "), "\(broken.errors)")
        #expect(try ProgramRun(["ats", "check", "--targets-from", "-", "--resolve-from", "-"]).status == 64)
    }

    @Test func anInterruptPrintsWhatIsKnown() throws {
        let servers = try #require(LoopbackServers.shared)
        let (modern, silent) = (try servers.server("modern"), try servers.server("silent"))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = BuiltProgram.url
        process.arguments = [
            "ats", "check", "--format", "jsonl", "--ca-file", servers.authority, silent.url, modern.url, "--resolve",
            silent.resolve, "--resolve", modern.resolve, "--connect-timeout", "60", "--timeout", "60",
        ]
        let errors = Pipe()
        process.standardOutput = try FileHandle(forWritingTo: file)
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let started = Date()
        // A line stands there as soon as the good server is known; the silent one would take a minute.
        while try !Data(contentsOf: file).contains(0x0A), process.isRunning, Date().timeIntervalSince(started) < 50 {
            usleep(20_000)
        }
        process.interrupt()
        process.waitUntilExit()
        #expect(Measuring.isOff || Date().timeIntervalSince(started) < 55)
        #expect(process.terminationStatus == 2)
        let text = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        #expect(text.contains("interrupted; 1 of 2 targets"), "\(text)")
        let lines = try Data(contentsOf: file).split(separator: 0x0A)
        #expect(lines.count == 1)
    }

    @Test(arguments: [
        ["ats", "check"], ["ats", "check", "ftp://example.com"], ["ats", "check", "--format", "yaml", "example.com"],
        ["ats", "check", "--os", "beos", "example.com"], ["ats", "check", "--concurrency", "0", "example.com"],
        ["ats", "check", "--resolve", "nonsense", "example.com"], ["ats", "minimize"],
    ])
    func wrongUseIs64(_ arguments: [String]) throws { #expect(try ProgramRun(arguments).status == 64) }

    @Test(arguments: [
        ["ats", "check", "--ca-file", "/nowhere.pem", "example.com"],
        ["ats", "check", "--targets-from", "/nowhere.txt"],
        ["ats", "check", "--info-plist", "/nowhere.plist", "example.com"],
    ])
    func missingFilesAre2AndNamed(_ arguments: [String]) throws {
        let run = try ProgramRun(arguments)
        #expect(run.status == 2)
        #expect(run.errors.contains("/nowhere"))
        #expect(run.errors.split(separator: "\n").count == 1)
    }
}

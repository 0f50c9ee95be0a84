// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward ats fetch` as a user runs it: JSON, text, exit status.
@Suite(.enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"))
struct FetchCommandTests {
    private static let insecure =
        #"{"NSExceptionDomains":{"api.example.com":{"NSExceptionAllowsInsecureHTTPLoads":true}}}"#

    private static func fetch(_ kind: String, _ more: [String] = [], dictionary: String? = nil) throws -> ProgramRun {
        let servers = try #require(LoopbackServers.shared)
        let server = try servers.server(kind)
        let folder = try TemporaryDirectory()
        var arguments = ["ats", "fetch", server.url, "--ca-file", servers.authority, "--connect-timeout", "3"] + more
        for entry in servers.resolveEntries { arguments += ["--resolve", entry] }
        if let dictionary {
            try Data(dictionary.utf8).write(to: URL(fileURLWithPath: folder.path("ats.json")))
            arguments += ["--ats-json", folder.path("ats.json")]
        }
        return try ProgramRun(arguments)
    }

    @Test(
        arguments: [
            ("modern", [], 0), ("status-500", [], 0), ("status-500", ["--fail-status"], 1), ("expired", [], 1),
            ("redirect-http-same-host", [], 1), ("refused", [], 2), ("no-answer", [], 2),
            ("modern", ["--timeout", "x"], 64),
        ] as [(String, [String], Int32)]
    )
    func exitStatus(kind: String, more: [String], status: Int32) throws {
        let run = try Self.fetch(kind, more)
        #expect(run.status == status, "\(run.output)\(run.errors)")
    }

    @Test("A load that is refused in the handshake names the URL as it was given", arguments: ["https", "wss"])
    func refusedURL(_ scheme: String) throws {
        let servers = try #require(LoopbackServers.shared)
        let server = try servers.server("expired")
        let url = "\(scheme)://\(server.host):\(server.port)/a/b?c=d"
        let options = ["--ca-file", servers.authority, "--resolve", server.resolve, "--connect-timeout", "3"]
        let run = try ProgramRun(["ats", "fetch", url, "--format", "json"] + options)
        #expect(run.status == 1 && run.string("url") == url, "\(run.output)")
        let text = try ProgramRun(["ats", "fetch", url] + options)
        #expect(text.errors.contains("refused: \(url)\n"), "\(text.errors)")
    }

    @Test("As in curl: several addresses, every host, and of two entries for one place the last")
    func resolve() throws {
        let servers = try #require(LoopbackServers.shared)
        let server = try servers.server("modern")
        let place = "\(server.host):\(server.port)"
        for entries in [
            ["\(place):[::1],127.0.0.1"], ["*:\(server.port):127.0.0.1"], ["\(place):::1", "\(place):127.0.0.1"],
        ] {
            let run = try ProgramRun(
                ["ats", "fetch", server.url, "--ca-file", servers.authority, "--connect-timeout", "3"]
                    + entries.flatMap { ["--resolve", $0] })
            #expect(run.status == 0, "\(entries) \(run.errors)")
        }
        for wrong in ["nonsense", "\(place):name", "\(place):127.0.0.1,name"] {
            #expect(try ProgramRun(["ats", "fetch", server.url, "--resolve", wrong]).status == 64)
        }
    }

    @Test(
        "Nothing needs a privilege", .enabled(if: BuiltProgram.runsWithoutPrivileges, "setpriv is needed"),
        arguments: ["check", "fetch"])
    func anOrdinaryUser(command: String) throws {
        let servers = try #require(LoopbackServers.shared)
        let server = try servers.server("modern")
        let (program, arguments) = BuiltProgram.unprivileged([
            "ats", command, server.url, "--ca-file", servers.authority, "--resolve", server.resolve,
        ])
        let run = try ProgramRun(program, arguments)
        #expect(run.status == 0, "\(run.output)\(run.errors)")
    }

    @Test("Where only one reading of a key of 2015 refuses the server, nobody knows; where both do, it is refused")
    func disputedKeys() throws {
        func list(_ key: String, _ value: String) -> String {
            #"{"NSExceptionDomains":{"api.example.com":{"\#(key)":\#(value)}}}"#
        }
        let minimum = list("NSTemporaryExceptionMinimumTLSVersion", #""TLSv1.0""#)
        let secrecy = list("NSThirdPartyExceptionRequiresForwardSecrecy", "false")
        for (kind, dictionary, code) in [
            ("tls10-only", minimum, "ats.tls.version-too-low"),
            ("suite-static-aes128-gcm-sha256", secrecy, "ats.tls.no-forward-secrecy"),
        ] {
            for (os, result) in [("ios9", "loaded"), ("ios11", "no-answer"), ("ios13", "refused")] {
                let json = try Self.fetch(kind, ["--os", os, "--format", "json"], dictionary: dictionary).json
                #expect(json["result"] as? String == result, "\(kind) \(os)")
                let first = (json["because"] as? [[String: Any]])?.first?["code"] as? String
                #expect(result == "loaded" || first == code, "\(kind) \(os) \(first ?? "")")
            }
        }
        let expired = try Self.fetch("expired", ["--os", "ios11", "--format", "json"], dictionary: minimum).json
        #expect(expired["result"] as? String == "refused")
    }

    @Test("What the dictionary says in vain is said where the load fails, by check and fetch in the words of explain")
    func switchesInVain() throws {
        let servers = try #require(LoopbackServers.shared)
        let folder = try TemporaryDirectory()
        for (kind, key, value, words) in [
            ("plain-http", "NSExceptionAllowsInsecureHTTPLoads", #""YES""#, "is a string, not a boolean"),
            ("tls12-only", "NSExceptionMinimumTLSVersion", #""1.3""#, ""),
            ("tls11-only", "NSExceptionMinimumTLSVersion", #""1.0""#, #"is "1.0", not TLSv1.0"#),
            (
                "suite-static-aes128-gcm-sha256", "NSExceptionRequireForwardSecrecy", "false",
                "is not one that the system"
            ),
        ] {
            let ats = #"{"NSExceptionDomains":{"api.example.com":{"\#(key)":\#(value)}}}"#
            try Data(#"{"expo":{"ios":{"infoPlist":{"NSAppTransportSecurity":\#(ats)}}}}"#.utf8)
                .write(to: URL(fileURLWithPath: folder.path("app.json")))
            var check = ["ats", "check", try servers.server(kind).url, "--ca-file", servers.authority]
            check += ["--info-plist", folder.path("app.json")]
            for entry in servers.resolveEntries { check += ["--resolve", entry] }
            let fetch = try Self.fetch(kind, dictionary: ats)
            for text in [try ProgramRun(check).output, fetch.errors] {
                let isSaid = text.split(whereSeparator: \.isWhitespace).joined(separator: " ").contains(
                    "\(key) \(words)")
                #expect(isSaid == !words.isEmpty, "\(kind): \(text)")
            }
        }
    }

    @Test("A server that only asks for a client certificate is noted in both forms, in every version of TLS")
    func clientCertificateIsAskedFor() throws {
        for os in ["macos26", "ios9"] {
            let text = try Self.fetch("client-certificate-wanted", ["--os", os])
            #expect(text.status == 0 && text.errors.contains("asks for a client certificate"), "\(text.errors)")
            let json = try Self.fetch("client-certificate-wanted", ["--os", os, "--format", "json"]).json
            #expect((json["connection"] as? [String: Any])?["requestsClientCertificate"] as? Bool == true)
            let codes = (json["because"] as? [[String: Any]])?.compactMap { $0["code"] as? String }
            #expect(codes == ["ats.note.client-certificate-requested"])
        }
    }

    @Test func jsonHasEveryFieldOfTheContract() throws {
        let run = try Self.fetch("redirect-http-same-host", ["--format", "json"])
        let document = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
        #expect(document["schema"] as? String == "sealward.ats-fetch/1")
        #expect(document["result"] as? String == "refused")
        let error = try #require(document["error"] as? [String: Any])
        #expect(error["code"] as? Int == -1022)
        #expect((error["underlying"] as? [String: Any])?["domain"] as? String == "kCFErrorDomainCFNetwork")
        let console = try #require(error["console"] as? [[String: Any]])
        #expect((console.first?["text"] as? String)?.hasPrefix("App Transport Security has blocked") == true)
        #expect((document["hops"] as? [Any])?.count == 2)
        #expect((document["because"] as? [[String: Any]])?.first?["code"] as? String == "ats.http.redirect-blocked")
        let loaded = try Self.fetch("modern", ["--format", "json"])
        let good = try #require(try JSONSerialization.jsonObject(with: Data(loaded.output.utf8)) as? [String: Any])
        #expect(good["result"] as? String == "loaded")
        #expect(good["status"] as? Int == 200)
        #expect(good["error"] is NSNull)
    }

    /// What is known of a connection, of an error and of a cause has one form, whoever prints it.
    @Test func checkFetchAndExplainPrintTheSameFacts() throws {
        let servers = try #require(LoopbackServers.shared)
        func document(_ run: ProgramRun) throws -> NSDictionary {
            try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? NSDictionary)
        }
        func both(_ kind: String) throws -> (target: NSDictionary, fetch: NSDictionary) {
            let server = try servers.server(kind)
            let options = ["--ca-file", servers.authority, "--connect-timeout", "3", "--resolve", server.resolve]
            let check = try document(ProgramRun(["ats", "check", server.url, "--format", "json"] + options))
            let fetch = try document(ProgramRun(["ats", "fetch", server.url, "--format", "json"] + options))
            return (try #require((check["targets"] as? [NSDictionary])?.first), fetch)
        }
        let modern = try both("modern")
        let facts = try #require(modern.target["facts"] as? [String: NSObject])
        let connection = try #require(modern.fetch["connection"] as? [String: NSObject])
        #expect(Set(facts.keys) == Set(connection.keys))
        for member in ["anchor", "certificates", "presented", "tlsVersion"] {
            #expect(facts[member] != nil && facts[member] == connection[member], "\(member)")
        }
        let expired = try both("expired")
        let row = try #require((expired.target["tests"] as? [NSDictionary])?.first)
        #expect(row["error"] is NSDictionary)
        #expect(row["error"] as? NSDictionary == expired.fetch["error"] as? NSDictionary)
        #expect((row["because"] as? [NSDictionary])?.first == (expired.fetch["because"] as? [NSDictionary])?.first)
        let plain = "http://api.example.com/"
        let refused = try document(ProgramRun(["ats", "fetch", plain, "--format", "json"]))
        let explained = try document(ProgramRun(["ats", "explain", plain, "--format", "json"]))
        let decision = try #require((explained["decisions"] as? [NSDictionary])?.first)
        #expect(decision["error"] is NSDictionary)
        #expect(decision["error"] as? NSDictionary == refused["error"] as? NSDictionary)
    }

    @Test("The delegate is played only where the dictionary permits insecure loads", arguments: [false, true])
    func acceptUntrusted(permitted: Bool) throws {
        let dictionary = permitted ? Self.insecure : "{}"
        #expect(
            try Self.fetch("self-signed", ["--accept-untrusted"], dictionary: dictionary).status == (permitted ? 0 : 1))
        #expect(try Self.fetch("self-signed", dictionary: dictionary).status == 1)
    }

    @Test("Text is the body, with --include after status and header fields; a refusal goes to standard error")
    func text() throws {
        #expect(try Self.fetch("modern").output == "ok\n")
        let run = try Self.fetch("modern", ["--include"])
        #expect(run.output.hasPrefix("HTTP 200\r\n") && run.output.hasSuffix("\r\n\r\nok\n"))
        let refused = try Self.fetch("expired")
        #expect(refused.output.isEmpty)
        #expect(refused.errors.contains("ats.trust.expired") && refused.errors.contains("-1200"))
    }
}

extension FetchCommandTests {
    /// 3 MB over plain HTTP on loopback, which needs no TLS.
    private static func withLargeFile(_ body: (_ url: String, TemporaryDirectory) throws -> Void) throws {
        let folder = try TemporaryDirectory()
        try Data(repeating: 120, count: 3_000_000).write(to: URL(fileURLWithPath: folder.path("large")))
        let server = Process()
        server.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        server.arguments = [
            "python3", "-c",
            "import functools,http.server as h;s=h.ThreadingHTTPServer(('127.0.0.1',0),functools.partial("
                + "h.SimpleHTTPRequestHandler,directory='\(folder.path(""))'));print(s.server_port,flush=True);s.serve_forever()",
        ]
        let output = Pipe()
        server.standardOutput = output
        server.standardError = FileHandle.nullDevice
        try server.run()
        defer { kill(server.processIdentifier, SIGKILL) }
        let port = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        try body("http://127.0.0.1:\(port.trimmingCharacters(in: .whitespacesAndNewlines))/large", folder)
    }

    private static func shell(_ script: String) throws -> ProgramRun {
        try ProgramRun(
            URL(fileURLWithPath: "/bin/bash"), ["-c", script.replacing("SEALWARD", with: BuiltProgram.url.path)],
            environment: ["NO_COLOR": "1"])
    }

    @Test("A large body goes through, to a pipe and to a file")
    func largeBody() throws {
        try Self.withLargeFile { url, folder in
            #expect(try Self.shell("SEALWARD ats fetch \(url) | wc -c").output == "3000000\n")
            let run = try Self.shell(
                "SEALWARD ats fetch \(url) --output \(folder.path("copy")); wc -c < \(folder.path("copy"))")
            #expect(run.output == "3000000\n", "\(run.errors)")
            let report = try Self.shell("SEALWARD ats fetch \(url) --format json")
            #expect(report.output.contains("\"bodyBytes\": 3000000"), "\(report.output)")
        }
    }

    @Test("The addresses of --resolve-from count as those of --resolve, and the SDK decides about old versions")
    func resolveFromAndSDK() throws {
        let servers = try #require(LoopbackServers.shared)
        let folder = try TemporaryDirectory()
        let list = folder.path("places")
        try Data(servers.resolveEntries.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: list))
        let dictionary = folder.path("ats.json")
        try Data(#"{"NSAllowsArbitraryLoads":true}"#.utf8).write(to: URL(fileURLWithPath: dictionary))
        let url = try servers.server("tls11-only").url
        let arguments = [
            "ats", "fetch", url, "--ca-file", servers.authority, "--resolve-from", list, "--ats-json", dictionary,
        ]
        #expect(try ProgramRun(arguments + ["--sdk", "18"]).status == 0)
        let refused = try ProgramRun(arguments)
        #expect(refused.status == 1)
        #expect(
            refused.errors.contains("tlsMinimumSupportedProtocolVersion")
                && !refused.errors.contains("would allow this"))
    }

    @Test(
        "A suite that the system has and the library of loads has not is no fault of the server",
        arguments: ["fetch", "check"])
    func suiteWithoutLibrary(_ command: String) throws {
        let servers = try #require(LoopbackServers.shared)
        let server = try OpenSSLServer([
            "-cert", servers.folder + "/rsa2048.crt", "-key", servers.folder + "/rsa2048.key", "-cert_chain",
            servers.folder + "/intermediate.crt", "-tls1_2",
            "-cipher", "ECDHE-RSA-AES256-SHA384",
        ])
        let place = "\(LoopbackServers.host):\(server.port)"
        let run = try ProgramRun(
            ["ats", command, "https://\(place)/", "--resolve", "\(place):127.0.0.1", "--ca-file", servers.authority]
                + ["--os", "ios10"] + (command == "check" ? ["--format", "json"] : []))
        if command == "check" {
            #expect(run.status == 0 && run.output.contains("The load itself did not run"), "\(run.output)")
        } else {
            #expect(run.status == 2 && !run.errors.contains("no-common"), "\(run.errors)")
            #expect(run.errors.contains("TLS library") && run.errors.contains("ats check"), "\(run.errors)")
        }
    }

    @Test("A reader that goes away and a full disk end the command in order, not with a crash")
    func unwritable() throws {
        try Self.withLargeFile { url, folder in
            let gone = try Self.shell("SEALWARD ats fetch \(url) | head -c 10; exit ${PIPESTATUS[0]}")
            #expect(gone.output == "xxxxxxxxxx")
            #expect(gone.status == 2 && gone.errors.isEmpty, "\(gone.errors)")
            let full = try Self.shell("SEALWARD ats fetch \(url) > /dev/full")
            #expect(full.status == 2)
            #expect(
                full.errors == "sealward: standard output: cannot be written (No space left on device).\n",
                "\(full.errors)")
        }
    }
}

/// `sealward ats proxy` as a user runs it, from its first line to its summary.
@Suite(.enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"))
struct ProxyCommandTests {
    @Test func servesAndEndsWithASummary() async throws {
        let servers = try #require(LoopbackServers.shared)
        let process = Process()
        (process.executableURL, process.arguments) = BuiltProgram.unprivileged(
            [
                "ats", "proxy", "--listen", "127.0.0.1:0", "--ca-file", servers.authority, "--format", "json", "--sdk",
                "18",
            ]
                + servers.resolveEntries.flatMap { ["--resolve", $0] }
        )
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        defer { if process.isRunning { process.terminate() } }
        var line = ""
        while !line.contains("\n") {
            let part = errors.fileHandleForReading.availableData
            if part.isEmpty { break }
            line += String(decoding: part, as: UTF8.self)
        }
        let first = line.split(separator: "\n").first.map(String.init) ?? ""
        let proxy = try #require(first.split(separator: " ").last.map(String.init))
        #expect(first.hasPrefix("listening on http://127.0.0.1:"))
        for (kind, status) in [("modern", Int32(0)), ("tls11-only", 56)] {
            let curl = Process()
            curl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            curl.arguments = ["curl", "-sk", "-m", "20", "-x", proxy, "-o", "/dev/null", try servers.server(kind).url]
            try curl.run()
            curl.waitUntilExit()
            #expect(curl.terminationStatus == status)
        }
        process.interrupt()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let document = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(document["schema"] as? String == "sealward.ats-proxy/1")
        // What an app gets from the server that was refused, and what its console shows.
        let port = try servers.server("tls11-only").port
        let hosts = try #require(document["hosts"] as? [[String: Any]])
        let error = try #require(hosts.first { $0["port"] as? Int == port }?["error"] as? [String: Any])
        #expect(
            error["code"] as? Int == -1200 && error["streamCode"] as? Int == -9836 && error["streamDomain"] as? Int == 3
        )
        #expect((error["underlying"] as? [String: Any])?["domain"] as? String == "kCFErrorDomainCFNetwork")
        #expect((error["console"] as? [[String: Any]])?.isEmpty == false)
        #expect(hosts.first { $0["port"] as? Int != port }?["error"] is NSNull)
        let domains = (document["dictionary"] as? [String: Any])?["NSExceptionDomains"] as? [String: Any]
        #expect((domains?["api.example.com"] as? [String: String]) == ["NSExceptionMinimumTLSVersion": "TLSv1.1"])
    }

    @Test(
        "What must not be listened on is a usage error",
        arguments: [
            ["--listen", "0.0.0.0:0"], ["--listen", "nonsense"], ["--listen", "0.0.0.0:0", "--allow-remote"],
        ]
    )
    func usage(arguments: [String]) throws {
        #expect(try ProgramRun(["ats", "proxy"] + arguments).status == 64)
    }
}

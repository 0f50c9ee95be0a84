// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import TestSupport
import Testing
import TrustStores

@testable import HTTPService
@testable import TrustService

/// TLS of the service's own listeners, with openssl, curl and `ats check` as clients.
@Suite(.serialized) struct ListenerTLSTests {
    private static func tls(
        _ identity: TestCertification.Identity, roots: TestCertification.Identity? = nil
    ) -> String {
        let roots = roots.map { #", "clientRootsFile": "\#($0.certificatePath)""# } ?? ""
        return #"{"certificateFile": "\#(identity.certificatePath)", "keyFile": "\#(identity.keyPath)"\#(roots)}"#
    }

    /// A service as a process whose configuration has these members too.
    private static func serve(
        _ members: String, _ body: (ServeProcess, URL) async throws -> Void
    ) async throws {
        let folder = try ServeProcess.folder()
        let configuration = try ServeProcess.write(
            folder, store: "sqlite:\(folder.path)/s.sqlite", extra: ", " + members)
        let process = try await ServeProcess(configuration)
        try await body(process, configuration)
        #expect(process.stop().status == 0)
    }

    private static func handshake(_ base: String, _ arguments: [String] = []) throws -> String {
        let place = base.replacing("https://", with: "")
        return try OpenSSLProgram.run(
            ["s_client", "-connect", place, "-servername", "localhost"] + arguments, checked: false)
    }

    @Test(arguments: [TestCertification.Key.curve("prime256v1"), .curve("secp384r1"), .rsa(2048)])
    func anAppOnEverySystemMayLoadFromTheListener(_ key: TestCertification.Key) async throws {
        let files = try ListenerFiles(key: key)
        try await Self.serve(#""tls": \#(Self.tls(files.server))"#) { process, _ in
            #expect(process.base.hasPrefix("https://127.0.0.1:"))
            let port = try #require(process.base.split(separator: ":").last)
            let ready = try files.curl(["-i", "https://localhost:\(port)/readyz"])
            #expect(ready.output.hasPrefix("HTTP/1.1 200"), "\(ready.output)\(ready.errors)")
            let ids = try ProgramRun(["ats", "systems", "--format", "json"])
            let systems = try #require(ids.json["systems"] as? [[String: Any]]).compactMap { $0["os"] as? String }
            #expect(systems.count > 20)
            let check = try ProgramRun([
                "ats", "check", "https://service.example.test:\(port)/readyz", "--resolve",
                "service.example.test:\(port):127.0.0.1", "--ca-file", files.root.certificatePath,
                "--systems",
                systems.joined(separator: ","), "--format", "json",
            ])
            #expect(check.status == 0, "\(check.output.prefix(4000))\(check.errors)")
            let targets = try #require(check.json["targets"] as? [[String: Any]])
            let results = try #require(targets.first?["systems"] as? [String: [String: Any]])
            #expect(results.count == systems.count)
            for (system, result) in results { #expect(result["result"] as? String == "PASS", "\(system): \(result)") }
            let tests = try #require(targets.first?["tests"] as? [[String: Any]]).map { $0["result"] as? String }
            #expect(tests.allSatisfy { $0 == "PASS" }, "\(tests)")
            let newest = try ProgramRun([
                "ats", "check", "https://service.example.test:\(port)/readyz", "--resolve",
                "service.example.test:\(port):127.0.0.1", "--ca-file", files.root.certificatePath,
                "--verbose",
            ])
            #expect(newest.status == 0 && newest.output.contains("16/16"), "\(newest.output)\(newest.errors)")
        }
    }

    @Test func oldVersionsAndSuitesWithoutForwardSecrecyFindNothingInCommon() async throws {
        let files = try ListenerFiles(key: .rsa(2048))
        try await Self.serve(#""tls": \#(Self.tls(files.server))"#) { process, _ in
            for (arguments, cipher) in [
                (["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], "(NONE)"),
                (["-tls1_2", "-cipher", "AES128-GCM-SHA256"], "(NONE)"),
                (["-tls1_2", "-cipher", "ECDHE-RSA-AES128-SHA"], "(NONE)"), (["-tls1_2"], "ECDHE-RSA-AES"),
                (["-tls1_3"], "TLS_AES"),
            ] {
                let said = try Self.handshake(process.base, arguments)
                #expect(said.contains("Cipher is \(cipher)"), "\(arguments): \(said)")
            }
            #expect(try Self.handshake(process.base, ["-alpn", "h2,http/1.1"]).contains("ALPN protocol: http/1.1"))
            // A client that does not speak TLS gets no answer, and the listener goes on.
            let plain = try files.curl([process.base.replacing("https:", with: "http:") + "/readyz"])
            #expect(plain.status != 0 && plain.output.isEmpty)
            #expect(try files.curl([process.base + "/readyz"]).status == 0)
            let metrics = try files.curl([process.base + "/metrics"]).output
            let ended = metrics.firstMatch(of: #/ended_total\{state="handshake"\} ([0-9]+)/#).flatMap {
                Int($0.output.1)
            }
            #expect(ended ?? 0 >= 4, "\(metrics.prefix(3000))")
        }
    }

    @Test func theInternalListenerAdmitsClientsWithACertificateOfItsRootsAlone() async throws {
        let files = try ListenerFiles()
        let gateway = try files.client("gateway", issuer: files.root)
        let other = try files.certification.root("other", subject: "/CN=Other Root")
        let stranger = try files.client("stranger", issuer: other)
        let members =
            #""internalListen": "127.0.0.1:0", "internalTLS": \#(Self.tls(files.server, roots: files.root))"#
        try await Self.serve(members) { process, _ in
            let text = process.standardError
            let inside = try #require(
                text.firstMatch(of: #/internal listening on (https:[^\n]+)/#).map { String($0.output.1) })
            #expect(process.base.hasPrefix("http://"))
            func get(_ client: TestCertification.Identity?, _ more: [String] = []) throws -> ProgramRun {
                let identity = client.map { ["--cert", $0.certificatePath, "--key", $0.keyPath] } ?? []
                return try files.curl(identity + more + [inside + "/readyz"])
            }
            #expect(try get(gateway).status == 0)
            #expect(try get(gateway, ["--tls-max", "1.2"]).status == 0)
            for version in [[], ["--tls-max", "1.2"]] {
                for client in [nil, stranger] {
                    let refused = try get(client, version)
                    #expect(refused.status != 0 && refused.output.isEmpty, "\(refused.output)")
                }
            }
            // A session that is resumed is that of a client that was let in.
            let session = files.certification.directory.path("session")
            let own = ["-cert", gateway.certificatePath, "-key", gateway.keyPath, "-tls1_2"]
            _ = try Self.handshake(inside, own + ["-sess_out", session])
            let again = try Self.handshake(inside, own + ["-sess_in", session])
            #expect(again.contains("Cipher is ECDHE"), "\(again)")
        }
    }

    /// Commands reach a service of a private authority that asks for a certificate.
    @Test func operatorsReachAServiceOfAPrivateAuthority() async throws {
        let files = try ListenerFiles()
        let operators = try files.client("operators", issuer: files.root)
        let stranger = try files.client("stranger", issuer: try files.certification.root("other", subject: "/CN=Other"))
        try await Self.serve(#""tls": \#(Self.tls(files.server, roots: files.root))"#) { process, _ in
            let token = files.certification.directory.path("token")
            try Data(RunningService.adminToken.utf8).write(to: URL(fileURLWithPath: token))
            try ListenerFiles.protect(token)
            let trust = ["--ca-file", files.root.certificatePath]
            func shown(_ client: TestCertification.Identity) -> [String] {
                ["--client-certificate", client.certificatePath, "--client-key", client.keyPath]
            }
            for verb in [["keys", "list"], ["audit"], ["store", "check"]] {
                let command = verb + ["--url", process.base, "--token-file", token]
                let good = try ProgramRun(command + trust + shown(operators))
                #expect(good.status == 0, "\(verb): \(good.errors)")
                for more in [[], trust, shown(operators), trust + shown(stranger)] {
                    let refused = try ProgramRun(command + more)
                    #expect(refused.status == 2 && refused.errors.contains("no answer"), "\(verb): \(refused.errors)")
                }
            }
            let command = ["keys", "list", "--url", process.base, "--token-file", token]
            for (more, status, message) in [
                (["--client-key", operators.keyPath], 64, "--client-certificate and --client-key together"),
                (["--ca-file", operators.keyPath], 2, "\(operators.keyPath): contains no certificate in PEM."),
                (
                    ["--client-certificate", operators.certificatePath, "--client-key", stranger.keyPath], 2,
                    "\(stranger.keyPath): is not the key of the first certificate"
                ),
            ] as [([String], Int32, String)] {
                let run = try ProgramRun(command + more)
                #expect(run.status == status && run.errors.contains(message), "\(run.errors)")
            }
            let local = try ProgramRun(["keys", "list", "--store", "sqlite:x"] + trust)
            #expect(local.status == 64 && local.errors.contains("are for --url"), "\(local.errors)")
        }
    }

    @Test func aHangUpTakesTheNewPairAndKeepsTheOldOneIfTheNewIsBroken() async throws {
        let files = try ListenerFiles()
        let next = try files.another("next", days: 10)
        func put(_ from: String, _ to: String) throws {
            let new = to + ".new"
            try Data(contentsOf: URL(fileURLWithPath: from)).write(to: URL(fileURLWithPath: new))
            try ListenerFiles.protect(new)
            #expect(rename(new, to) == 0)
        }
        try await Self.serve(#""tls": \#(Self.tls(files.server))"#) { process, _ in
            func subject() throws -> String {
                try Self.handshake(process.base).contains("CN = next") ? "next" : "first"
            }
            #expect(try subject() == "first" && !process.standardError.contains("expires within 30 days"))
            let before = try files.curl([process.base + "/metrics"]).output
            // Only the certificate: not the key's.
            try put(next.certificatePath, files.server.certificatePath)
            process.signal(SIGHUP)
            try await eventually("the fault is said") {
                process.standardError.contains("what was read before stays in force")
            }
            #expect(process.standardError.contains("tls.keyFile: is not the key of the first certificate"))
            #expect(try subject() == "first")
            try put(next.keyPath, files.server.keyPath)
            process.signal(SIGHUP)
            try await eventually("the new pair is shown") { try subject() == "next" }
            try await eventually("its end is said") { process.standardError.contains("expires within 30 days") }
            let after = try files.curl([process.base + "/metrics"]).output
            func expiry(_ text: String) -> Double? {
                text.firstMatch(of: #/certificate_expiry_seconds\{listener="public"\} ([0-9.e+]+)/#).flatMap {
                    Double($0.output.1)
                }
            }
            #expect(try #require(expiry(before)) > (try #require(expiry(after))))
        }
    }

    @Test func filesThatCannotServeAreNamedByTheirSetting() throws {
        let files = try ListenerFiles()
        let folder = try ServeProcess.folder()
        let other = try files.another("other")
        func check(_ members: String) throws -> (status: Int32, error: String) {
            let configuration = try ServeProcess.write(
                folder, store: "sqlite:\(folder.path)/s.sqlite", extra: ", " + members)
            return try ServeProcess.run(["serve", "--check-config", "--config", configuration.path])
        }
        func tls(_ certificate: String, _ key: String) -> String {
            #""tls": {"certificateFile": "\#(certificate)", "keyFile": "\#(key)"}"#
        }
        let (certificate, key) = (files.server.certificatePath, files.server.keyPath)
        #expect(try check(tls(certificate, key)).status == 0)
        for (members, message) in [
            (tls(key, key), "tls.certificateFile: contains no certificate in PEM"),
            (tls(certificate, certificate), "tls.keyFile: contains no private key in PEM"),
            (tls(certificate, other.keyPath), "tls.keyFile: is not the key of the first certificate"),
            (#""tls": {"certificateFile": "\#(certificate)"}"#, "tls.keyFile: is missing"),
            (#""internalTLS": \#(Self.tls(files.server))"#, "internalTLS: needs internalListen"),
        ] {
            let found = try check(members)
            #expect(found.status == 2 && found.error.contains(message), "\(found.error)")
        }
        try ListenerFiles.protect(key, mode: 0o644)
        let readable = try check(tls(certificate, key))
        #expect(
            readable.status == 2 && readable.error.contains("tls.keyFile: \(key): others may read it"),
            "\(readable.error)")
    }

    /// The console's cookies, which only this host can set, and only over TLS.
    @Test func theConsoleKnowsThatItIsBehindTLS() async throws {
        let files = try ListenerFiles()
        let members = #""internalListen": "127.0.0.1:0", "internalTLS": \#(Self.tls(files.server))"#
        try await Self.serve(members) { process, _ in
            let text = process.standardError
            let inside = try #require(
                text.firstMatch(of: #/internal listening on (https:[^\n]+)/#).map { String($0.output.1) })
            let page = try files.curl(["-i", inside + "/console/sign-in"]).output
            let cookies = page.split(whereSeparator: \.isNewline).filter { $0.lowercased().hasPrefix("set-cookie:") }
            #expect(
                !cookies.isEmpty && cookies.allSatisfy { $0.contains(" __Host-") && $0.contains("; Secure") }, "\(page)"
            )
            #expect(!page.contains("without TLS"))
            let jar = files.certification.directory.path("jar")
            let form = try files.curl(["-c", jar, inside + "/console/sign-in"]).output
            let token = try #require(form.firstMatch(of: #/name="(csrf)" value="([A-Za-z0-9_-]+)"/#))
            let signIn = try files.curl([
                "-i", "-b", jar, "-c", jar, "-H", "Origin: \(inside)", "--data-urlencode",
                "\(token.output.1)=\(token.output.2)", "--data-urlencode", "token=\(RunningService.adminToken)",
                inside + "/console/sign-in",
            ])
            #expect(signIn.output.hasPrefix("HTTP/1.1 303"), "\(signIn.output)")
            #expect(signIn.output.contains("__Host-sealward_console="))
            let overview = try files.curl(["-i", "-b", jar, inside + "/console/"])
            #expect(overview.output.hasPrefix("HTTP/1.1 200") && overview.output.contains("shop"))
            // Another name leads nowhere, and the routes of programs do not ask for it.
            let (foreign, api) = (
                try files.curl(["-i", "-H", "Host: evil.example", inside + "/console/"]),
                try files.curl(["-i", "-H", "Host: evil.example", inside + "/readyz"])
            )
            #expect(foreign.output.hasPrefix("HTTP/1.1 421") && api.output.hasPrefix("HTTP/1.1 200"))
        }
    }

    /// A connection that never begins its handshake has the deadline of the first request.
    @Test func aHandshakeThatNeverBeginsEnds() async throws {
        let files = try ListenerFiles()
        func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
        let tls = Configuration.TLS(
            certificatePEM: try text(files.server.certificatePath), keyPEM: try text(files.server.keyPath))
        var connections = ConnectionLimits()
        connections.first = .milliseconds(300)
        try await RunningService.with(RunningService.configuration { $0.tls = tls }, connections: connections) {
            service in
            let port = try #require(service.base.split(separator: ":").last.flatMap { Int($0) })
            for bytes in [[], [22, 3, 1, 1, 0] as [UInt8]] {
                let client = try LoopbackClient(port: port)
                client.send(bytes)
                _ = await client.everything()
                #expect(client.received() == nil)
            }
        }
    }
}

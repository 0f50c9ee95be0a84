// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// TLS of the commands that listen, with curl as their client.
@Suite struct ListenerOptionsTests {
    private static func options(_ files: ListenerFiles) -> [String] {
        ["--tls-certificate", files.server.certificatePath, "--tls-key", files.server.keyPath]
    }

    @Test(arguments: [
        (["ats", "exporter", "--quiet"], "/metrics"), (["simulate", "apple", "--quiet"], "/roots/attestation.pem"),
    ])
    func exporterAndSimulatorServeTLS(_ command: [String], _ path: String) async throws {
        let files = try ListenerFiles()
        let program = try await ListeningProgram(
            command + ["--listen", "127.0.0.1:0"] + Self.options(files), in: files.certification.directory)
        #expect(program.address.hasPrefix("https://127.0.0.1:"))
        let answer = try files.curl(["-i", program.address + path])
        #expect(answer.output.hasPrefix("HTTP/1.1 200"), "\(answer.output)\(answer.errors)")
        let foreign = try files.curl(["-i", "-H", "Host: evil.example", program.address + path])
        #expect(foreign.output.hasPrefix("HTTP/1.1 421"))
        let plain = try files.curl([program.address.replacing("https:", with: "http:") + path])
        #expect(plain.status != 0 && plain.output.isEmpty)
        #expect(program.stop() == 0)
    }

    /// A hang-up reads the files again; a pair that does not fit keeps the old one.
    @Test(arguments: [["ats", "exporter", "--quiet"], ["simulate", "apple", "--quiet"], ["ats", "proxy", "--quiet"]])
    func aHangUpTakesTheNewPair(_ command: [String]) async throws {
        let files = try ListenerFiles()
        let next = try files.another("next")
        let program = try await ListeningProgram(
            command + ["--listen", "127.0.0.1:0"] + Self.options(files), in: files.certification.directory)
        func put(_ from: String, _ to: String) throws {
            try Data(contentsOf: URL(fileURLWithPath: from)).write(to: URL(fileURLWithPath: to))
            try ListenerFiles.protect(to)
        }
        func hasNext() throws -> Bool {
            try OpenSSLProgram.run(
                ["s_client", "-connect", program.address.replacing("https://", with: "")], checked: false
            ).contains("CN = next")
        }
        try put(next.keyPath, files.server.keyPath)
        program.signal(SIGHUP)
        try await Task.sleep(for: .milliseconds(300))
        #expect(try !hasNext())
        try put(next.certificatePath, files.server.certificatePath)
        program.signal(SIGHUP)
        let deadline = ContinuousClock.now + .seconds(20)
        while try !hasNext(), ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(50)) }
        #expect(try hasNext())
        #expect(program.stop() == 0)
    }

    @Test func clientsWithoutACertificateAreRefused() async throws {
        let files = try ListenerFiles()
        let client = try files.client("prometheus", issuer: files.root)
        let roots = ["--tls-client-roots", files.root.certificatePath]
        let program = try await ListeningProgram(
            ["ats", "exporter", "--quiet", "--listen", "127.0.0.1:0"] + Self.options(files) + roots,
            in: files.certification.directory)
        let url = program.address + "/metrics"
        let refused = try files.curl([url])
        #expect(refused.status != 0 && refused.output.isEmpty)
        let answer = try files.curl(["--cert", client.certificatePath, "--key", client.keyPath, url])
        #expect(answer.status == 0 && answer.output.contains("sealward_"))
        #expect(program.stop() == 0)
    }

    /// Passwords for the proxy, requests and tunnels are inside TLS.
    @Test(.enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"))
    func theFrontOfTheProxyServesTLS() async throws {
        let servers = try #require(LoopbackServers.shared)
        let files = try ListenerFiles()
        let modern = try servers.server("modern")
        let old = try servers.server("tls10-only")
        let passwords = files.certification.directory.path("passwords")
        try Data("ann:secret\n".utf8).write(to: URL(fileURLWithPath: passwords))
        try ListenerFiles.protect(passwords)
        let program = try await ListeningProgram(
            [
                "ats", "proxy", "--listen", "127.0.0.1:0", "--ca-file", servers.authority, "--resolve",
                modern.resolve, "--resolve", old.resolve, "--password-file", passwords,
            ] + Self.options(files), in: files.certification.directory)
        #expect(program.address.hasPrefix("https://"))
        func load(_ url: String, _ more: [String] = []) throws -> ProgramRun {
            try ProgramRun(
                URL(fileURLWithPath: "/usr/bin/env"),
                [
                    "curl", "-sS", "-k", "-m", "30", "-x", program.address, "--proxy-cacert",
                    files.root.certificatePath, "-o", "/dev/null", "-w", "%{http_connect} %{http_code}", url,
                ] + more)
        }
        let user = ["--proxy-user", "ann:secret"]
        #expect(try load(modern.url, user).output == "200 200")
        #expect(try load(modern.url).output.hasPrefix("407"))
        #expect(try load(old.url, user).output.hasPrefix("403"))
        // The proxy does not speak plain HTTP there.
        let plain = try ProgramRun(
            URL(fileURLWithPath: "/usr/bin/env"),
            ["curl", "-sS", "-m", "20", "-x", program.address.replacing("https:", with: "http:"), modern.url])
        #expect(plain.status != 0 && plain.output.isEmpty)
        #expect(program.stop() == 0)
    }

    @Test func optionsThatCannotServeAreNamed() throws {
        let files = try ListenerFiles()
        let (certificate, key) = (files.server.certificatePath, files.server.keyPath)
        let start = ["ats", "exporter", "--listen", "127.0.0.1:0"]
        for (options, status, message) in [
            (["--tls-certificate", certificate], 64, "--tls-certificate and --tls-key together"),
            (["--tls-client-roots", certificate], 64, "--tls-client-roots needs --tls-certificate"),
            (["--tls-certificate", certificate, "--tls-key", "/nowhere.key"], 2, "/nowhere.key"),
            (["--tls-certificate", key, "--tls-key", key], 2, "\(key): contains no certificate in PEM."),
        ] as [([String], Int32, String)] {
            let run = try ProgramRun(start + options)
            #expect(run.status == status && run.errors.contains(message), "\(run.errors)")
        }
        try ListenerFiles.protect(key, mode: 0o644)
        let run = try ProgramRun(start + ["--tls-certificate", certificate, "--tls-key", key])
        #expect(run.status == 2 && run.errors.contains("others may read it"), "\(run.errors)")
    }
}

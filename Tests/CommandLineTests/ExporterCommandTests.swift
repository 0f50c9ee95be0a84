// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward ats exporter` as Prometheus meets it.
@Suite("Exporter", .serialized) struct ExporterCommandTests {
    private static func get(
        _ address: String, _ path: String, _ headers: [String: String] = [:], method: String = "GET"
    ) async throws -> (status: Int, text: String) {
        let call = try await HTTPCall(method, address + path, headers: headers, timeout: 60)
        return (call.status, call.text)
    }

    /// The value of a series; nil if it is not there.
    private static func value(_ series: String, in text: String) -> Double? {
        text.split(separator: "\n").first { $0.hasPrefix(series + " ") }.flatMap {
            Double($0.dropFirst(series.utf8.count + 1))
        }
    }

    @Test(.enabled(if: LoopbackServers.isAvailable, "needs nginx, openssl and python3"))
    func serversAreJudgedAsByCheck() async throws {
        let servers = try #require(LoopbackServers.shared)
        let folder = try TemporaryDirectory()
        let (good, old) = (try servers.server("modern"), try servers.server("tls11-only"))
        let exporter = try await ListeningProgram(
            [
                "ats", "exporter", "--listen", "127.0.0.1:0", "--ca-file", servers.authority, "--resolve", good.resolve,
                "--resolve", old.resolve, "--quiet",
            ],
            in: folder
        )
        let passing = try await Self.get(exporter.address, "/probe?target=\(good.url)&os=ios17")
        #expect(passing.status == 200)
        #expect(Self.value("probe_success", in: passing.text) == 1, "\(passing.text)")
        #expect(Self.value("sealward_ats_verdict{verdict=\"pass\"}", in: passing.text) == 1)
        #expect(Self.value("sealward_ats_verdict{verdict=\"fail\"}", in: passing.text) == 0)
        #expect(Self.value("probe_http_status_code", in: passing.text) == 200)
        let expiry = try #require(Self.value("probe_ssl_earliest_cert_expiry", in: passing.text))
        #expect(expiry > Date().timeIntervalSince1970)

        let failing = try await Self.get(exporter.address, "/probe?target=\(old.url)&os=ios17")
        #expect(failing.status == 200 && Self.value("probe_success", in: failing.text) == 0)
        let check = try ProgramRun([
            "ats", "check", old.url, "--os", "ios17", "--ca-file", servers.authority, "--resolve", old.resolve,
            "--format", "jsonl",
        ])
        let tests = try #require(check.json["tests"] as? [[String: Any]])
        let causes = try #require(tests.first?["because"] as? [[String: Any]]).compactMap { $0["code"] as? String }
        #expect(!causes.isEmpty)
        for code in causes {
            #expect(Self.value("sealward_ats_cause{code=\"\(code)\"}", in: failing.text) == 1, "\(failing.text)")
        }

        let own = try await Self.get(exporter.address, "/metrics")
        #expect(Self.value("sealward_exporter_checks_total{verdict=\"pass\"}", in: own.text) == 1, "\(own.text)")
        #expect(Self.value("sealward_exporter_checks_total{verdict=\"fail\"}", in: own.text) == 1)
        #expect(exporter.stop() == 0)
    }

    @Test func whatCannotBeAskedForIsSaid() async throws {
        let folder = try TemporaryDirectory()
        let exporter = try await ListeningProgram(
            [
                "ats", "exporter", "--listen", "127.0.0.1:0", "--allow", "a.example:443", "--allow", "[::1]:9",
                "--host",
                "metrics.example",
                "--quiet",
            ],
            in: folder)
        for (path, status, words) in [
            ("/probe", 400, "names no target"), ("/probe?target=https://a.example&os=ios99", 400, "iOS 99"),
            ("/probe?target=https://a.example&target=https://b.example", 400, "twice"),
            ("/probe?target=https://a.example&module=http", 400, "unknown parameter"),
            ("/probe?target=ftp://a.example", 400, "scheme"), ("/probe?target=https://b.example", 403, "--allow"),
            ("/probe?target=https://a.example:8443", 403, "--allow"), ("/nothing", 404, "/probe"),
        ] {
            let answer = try await Self.get(exporter.address, path)
            #expect(answer.status == status && answer.text.contains(words), "\(path): \(answer)")
        }
        #expect(try await Self.get(exporter.address, "/metrics", method: "POST").status == 405)
        // The head of an answer needs no check: nothing listens there, and none is counted.
        let head = try await Self.get(exporter.address, "/probe?target=https://[::1]:9", method: "HEAD")
        #expect(head.status == 200 && head.text.isEmpty)
        for path in ["/metrics", "/probe?target=https://[::1]:9"] {
            for (name, value, status) in [
                ("Origin", "http://evil.example", 403), ("Sec-Fetch-Site", "cross-site", 403),
            ] {
                #expect(try await Self.get(exporter.address, path, [name: value]).status == status)
            }
            let port = try #require(exporter.address.split(separator: ":").last.flatMap { Int($0) })
            for (host, status) in [("evil.example", "421"), ("metrics.example", path == "/metrics" ? "200" : "")] {
                if status.isEmpty { continue }
                let client = try LoopbackClient(port: port, limit: 10)
                let target = path.replacingOccurrences(of: "[", with: "%5B").replacingOccurrences(of: "]", with: "%5D")
                client.send("GET \(target) HTTP/1.1\r\nHost: \(host):\(port)\r\nConnection: close\r\n\r\n")
                #expect(client.readAll().hasPrefix("HTTP/1.1 \(status) "))
            }
        }
        let own = try await Self.get(exporter.address, "/metrics")
        #expect(Self.value("sealward_exporter_checks_total{verdict=\"undetermined\"}", in: own.text) == nil)
        for (reason, count) in [("host", 2.0), ("origin", 4), ("share", 0)] {
            #expect(Self.value("sealward_exporter_refused_total{reason=\"\(reason)\"}", in: own.text) == count)
        }
        #expect(Self.value("sealward_exporter_refused_total{reason=\"malformed\"}", in: own.text) == 5, "\(own.text)")
        #expect(Self.value("sealward_exporter_refused_total{reason=\"not-allowed\"}", in: own.text) == 2)
        #expect(exporter.stop() == 0)
    }

    /// What is in a private network or on this machine must be named, also by who listens on loopback.
    @Test func addressesInsideMustBeNamed() async throws {
        let folder = try TemporaryDirectory()
        let inside = try await ListeningProgram(["ats", "exporter", "--listen", "127.0.0.1:0", "--quiet"], in: folder)
        let port = try #require(Int(inside.address.split(separator: ":").last ?? ""))
        let open = try await ListeningProgram(["ats", "exporter", "--listen", "127.0.0.1:0", "--quiet"], in: folder)
        let any = try await ListeningProgram(
            ["ats", "exporter", "--listen", "127.0.0.1:0", "--allow-any", "--quiet"], in: folder)
        let named = try await ListeningProgram(
            ["ats", "exporter", "--listen", "127.0.0.1:0", "--allow", "127.0.0.1:\(port)", "--quiet"], in: folder)
        for exporter in [open, any] {
            for target in [
                "http://127.0.0.1:\(port)", "https://127.0.0.1:\(port)", "https://localhost:\(port)", "https://[::1]",
                "https://10.0.0.1", "http://169.254.169.254", "https://[::ffff:127.0.0.1]", "https://[fd00:ec2::254]",
            ] {
                let answer = try await Self.get(exporter.address, "/probe?target=\(target)")
                #expect(answer.status == 403 && answer.text.contains("--allow"), "\(target): \(answer)")
            }
        }
        let answer = try await Self.get(named.address, "/probe?target=https://127.0.0.1:\(port)")
        #expect(
            answer.status == 200 && answer.text.contains("sealward_ats_cause{code=\"ats.net.not-tls\"} 1"), "\(answer)")
        for exporter in [open, any, named, inside] { #expect(exporter.stop() == 0) }
    }

    /// Roots that are gone are no fault of whoever scrapes, and every refusal is counted from zero on.
    @Test func rootsThatAreGoneAreLogged() async throws {
        let folder = try TemporaryDirectory()
        let vectors = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let roots = folder.path("roots.pem")
        try FileManager.default.copyItem(
            atPath: vectors.appending(path: "Vectors/appattest/Apple_Root_CA_G3.pem").path, toPath: roots)
        let exporter = try await ListeningProgram(
            ["ats", "exporter", "--listen", "127.0.0.1:0", "--roots", roots, "--quiet"], in: folder)
        let before = try await Self.get(exporter.address, "/metrics")
        for reason in ["malformed", "not-allowed", "busy", "roots"] {
            let series = "sealward_exporter_refused_total{reason=\"\(reason)\"}"
            #expect(Self.value(series, in: before.text) == 0, "\(before.text)")
        }
        try FileManager.default.removeItem(atPath: roots)
        for _ in 0..<3 {
            let answer = try await Self.get(exporter.address, "/probe?target=https://127.0.0.1:9")
            #expect(
                answer.status == 503 && answer.text == "The exporter cannot read its roots; its log names the file.\n")
        }
        let after = try await Self.get(exporter.address, "/metrics")
        #expect(Self.value("sealward_exporter_refused_total{reason=\"roots\"}", in: after.text) == 3, "\(after.text)")
        #expect(Self.value("sealward_exporter_refused_total{reason=\"malformed\"}", in: after.text) == 0)
        #expect(exporter.stop() == 0)
        let logs = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.hasPrefix("log-") }
        let log = try logs.map { try String(contentsOfFile: folder.path($0), encoding: .utf8) }.joined()
        let lines = log.split(separator: "\n").filter { $0.contains("Roots cannot be read") }
        #expect(lines.count == 1 && lines.first?.contains("roots.pem") == true, "\(log)")
    }

    /// A server that accepts and stays silent: the scrape's time counts, scrapes of one target share a check, and more than
    /// `--concurrency` targets are refused at once.
    @Test(.enabled(if: LoopbackServers.isAvailable, "needs nginx, openssl and python3"))
    func silentServersHoldNobodyUp() async throws {
        let servers = try #require(LoopbackServers.shared)
        let folder = try TemporaryDirectory()
        let silent = try servers.server("silent")
        let url = try #require(URL(string: silent.url))
        let place = "\(url.host() ?? ""):\(url.port ?? 443)"
        let exporter = try await ListeningProgram(
            [
                "ats", "exporter", "--listen", "127.0.0.1:0", "--concurrency", "1", "--no-http", "--resolve",
                silent.resolve, "--quiet", "--allow", "127.0.0.1:9", "--allow", place,
            ],
            in: folder
        )
        let start = ContinuousClock.now
        let waits = ["X-Prometheus-Scrape-Timeout-Seconds": "3"]
        let path = "/probe?target=\(silent.url)"
        async let one = Self.get(exporter.address, path, waits)
        func untilACheckIsUnderWay() async throws {
            while true {
                let own = try await Self.get(exporter.address, "/metrics").text
                if Self.value("sealward_exporter_checks_running", in: own) == 1 { return }
                try #require(ContinuousClock.now - start < .seconds(30))
            }
        }
        try await untilACheckIsUnderWay()
        // Without a load, another path has the same result.
        async let two = Self.get(exporter.address, path + "other", waits)
        let busy = try await Self.get(exporter.address, "/probe?target=https://127.0.0.1:9", waits)
        #expect(busy.status == 503 && busy.text.contains("--concurrency"))
        for answer in [try await one, try await two] {
            #expect(answer.status == 200 && Self.value("probe_success", in: answer.text) == 0)
            #expect(Self.value("sealward_ats_verdict{verdict=\"undetermined\"}", in: answer.text) == 1)
        }
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(10))
        let own = try await Self.get(exporter.address, "/metrics")
        #expect(Self.value("sealward_exporter_checks_shared_total", in: own.text) == 1, "\(own.text)")
        #expect(Self.value("sealward_exporter_checks_running", in: own.text) == 0)
        // The end gives checks up, and says nothing about their targets.
        async let last = Self.get(exporter.address, path)
        try await untilACheckIsUnderWay()
        #expect(exporter.stop() == 0)
        #expect(try await last.status == 503)
    }

    @Test(arguments: ["0.0.0.0:9886", "127.0.0.1.example:9886"]) func beyondLoopbackTargetsAreNamed(
        _ place: String
    )
        throws
    {
        let open = try ProgramRun(["ats", "exporter", "--listen", place])
        #expect(open.status == 64 && open.errors.contains("--allow-any"))
        #expect(try ProgramRun(["ats", "exporter", "--allow", "a b"]).status == 64)
        #expect(try ProgramRun(["ats", "exporter", "--ca-file", "/nowhere.pem"]).status == 2)
    }
}

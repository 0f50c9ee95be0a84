// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward ats check` with a list in which honest and hostile servers stand side by side.
@Suite("A fleet with hostile servers in it", .serialized) struct HostileFleetTests {
    /// One target of a report: the result and the first cause of the default configuration.
    struct Verdict: Equatable {
        let result: String
        let code: String?
    }

    /// A run of the program, and the most memory that it took, bytes.
    struct Fleet {
        let run: ProgramRun
        let peak: Int
        /// Processor time of the program, seconds.
        let processor: Double
        let elapsed: Duration
        let verdicts: [String: Verdict]
    }

    static let isLong = LongForm.isAsked

    /// Runs `ats check --targets-from` for these `host:port` lines, all of which lead to 127.0.0.1.
    static func check(
        _ lines: [String], ports: Set<Int>, format: String = "jsonl", _ more: [String] = []
    ) throws -> Fleet {
        let folder = try TemporaryDirectory()
        try lines.joined(separator: "\n").write(toFile: folder.path("targets"), atomically: true, encoding: .utf8)
        try HostileIdentity.shared.rootPEM.write(toFile: folder.path("root.pem"), atomically: true, encoding: .utf8)
        let start = ContinuousClock.now
        // The kernel's figure for a child that has ended is its highest, whatever other programs run beside it.
        let wrapper =
            "import resource,subprocess,sys; s=subprocess.run(sys.argv[1:]).returncode; "
            + "u=resource.getrusage(resource.RUSAGE_CHILDREN); print(u.ru_utime+u.ru_stime,file=sys.stderr); "
            + "print(u.ru_maxrss,file=sys.stderr); sys.exit(s if s>=0 else 128-s)"
        let run = try ProgramRun(
            URL(fileURLWithPath: "/usr/bin/env"),
            [
                "python3", "-c", wrapper, BuiltProgram.url.path, "ats", "check", "--targets-from",
                folder.path("targets"),
                "--ca-file", folder.path("root.pem"), "--format", format,
            ] + ports.flatMap { ["--resolve", "*:\($0):127.0.0.1"] } + more,
            environment: ["NO_COLOR": "1"]
        )
        var verdicts: [String: Verdict] = [:]
        for line in run.data.split(separator: 0x0A) where format == "jsonl" {
            let target = try #require(try JSONSerialization.jsonObject(with: line) as? [String: Any])
            let test = try #require((target["tests"] as? [[String: Any]])?.first)
            let code = (test["because"] as? [[String: Any]])?.first?["code"] as? String
            let (host, port) = (target["host"] as? String ?? "", target["port"] as? Int ?? 0)
            verdicts["\(host):\(port)"] = Verdict(result: test["result"] as? String ?? "", code: code)
        }
        let figures = run.errors.split(separator: "\n").suffix(2).compactMap { Double($0) }
        return Fleet(
            run: run, peak: Int(figures.last ?? 1e9) * 1024, processor: figures.first ?? .infinity,
            elapsed: .now - start, verdicts: verdicts)
    }

    @Test("Each hostile server gets its own verdict, and no honest one is touched")
    func mixed() throws {
        let rows = TLSMisbehaviour.all
        let hostile = try HostileServer(rows)
        let honest = try HostileServer(rows.filter { $0.name == "an honest server" })
        var lines: [String] = []
        for index in rows.indices {
            lines.append("\(HostileServer.host(index)):\(hostile.port)")
            // Other names of the same honest row: r0, r00, r000 ...
            if index % 5 == 0 {
                lines.append("r0\(String(repeating: "0", count: index / 5)).hostile.example:\(honest.port)")
            }
        }
        lines = lines.map { $0.split(separator: ".")[0].utf8.count <= 63 ? $0 : "" }
        let fleet = try Self.check(
            lines.map { $0 + "\r" }, ports: [hostile.port, honest.port],
            ["--no-http", "--no-aia", "--connect-timeout", "3", "--timeout", "9"])
        #expect(fleet.run.status == 1, "\(fleet.run.errors.suffix(500))")
        #expect(fleet.verdicts.count == lines.count { !$0.isEmpty })
        for (index, row) in rows.enumerated() {
            let verdict = try #require(
                fleet.verdicts[lines.first { $0.hasPrefix("r\(index).") && $0.hasSuffix(":\(hostile.port)") } ?? ""],
                "\(row)")
            let result = row.code == nil ? "PASS" : row.isUndetermined ? "UNDETERMINED" : "FAIL"
            #expect(verdict == Verdict(result: result, code: row.code), "\(row.name)")
        }
        for (place, verdict) in fleet.verdicts where place.hasSuffix(":\(honest.port)") {
            #expect(verdict == Verdict(result: "PASS", code: nil), "\(place)")
        }
        #expect(Measuring.isOff || fleet.elapsed < .seconds(60))
        if !BuiltProgram.isSanitized { #expect(fleet.peak < 512 << 20, "\(fleet.peak)") }
        print("hostile fleet: \(fleet.verdicts.count) targets in \(fleet.elapsed), at most \(fleet.peak >> 20) MiB")
    }

    @Test("Names of 120 kB of combining marks cost what other certificates of that size cost", Measuring.only)
    func marks() throws {
        let rows = TLSMisbehaviour.all
        let server = try HostileServer(rows)
        func cost(_ name: String, format: String = "jsonl") throws -> Double {
            let index = try #require(rows.firstIndex { $0.name == name })
            let fleet = try Self.check(
                ["\(HostileServer.host(index)):\(server.port)"], ports: [server.port], format: format,
                ["--no-http", "--verbose", "--connect-timeout", "4", "--timeout", "12"])
            #expect(fleet.run.status < 2, "\(fleet.run.errors.suffix(300))")
            return fleet.processor
        }
        let ordinary = try cost("an extension of 120 kB")
        for name in rows.map(\.name) where name.contains("marks") || name.contains("spaces") {
            let seconds = try cost(name)
            #expect(seconds < ordinary * 2 + 0.3, "\(name): \(seconds) s against \(ordinary) s")
        }
        for format in ["text", "nscurl", "json", "junit", "markdown", "html"] {
            let seconds = try cost("an alternative name of 120 kB of marks", format: format)
            #expect(seconds < ordinary * 2 + 0.3, "\(format): \(seconds) s against \(ordinary) s")
        }
        print("hostile names: an ordinary certificate of 120 kB costs \(ordinary) s")
    }

    @Test("A retry request with a cookie of 65,400 bytes ends one target, not the program")
    func cookie() throws {
        let rows = TLSMisbehaviour.all.filter { $0.name.hasPrefix("a cookie of 65") }
        #expect(rows.count >= 3)
        let server = try HostileServer(rows)
        let fleet = try Self.check(
            rows.indices.map { "\(HostileServer.host($0)):\(server.port)" }, ports: [server.port],
            ["--connect-timeout", "4", "--timeout", "12"])
        #expect(fleet.run.status == 1, "\(fleet.run.errors.suffix(300))")
        #expect(fleet.verdicts.values.allSatisfy { $0 == Verdict(result: "FAIL", code: "ats.tls.handshake-failed") })
        #expect(fleet.verdicts.count == rows.count)
    }
}

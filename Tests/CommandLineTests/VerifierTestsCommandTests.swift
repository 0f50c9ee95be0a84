// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward simulate verifier-tests` with verifiers that always err in one way, over a command and over HTTP, and its files.
@Suite(.serialized) struct VerifierTestsCommandTests {
    let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func run(_ answer: String, _ options: [String] = ["--kind", "assertion"]) throws -> ProgramRun {
        let program = """
            import json, os, sys, time
            seen = 0
            for line in sys.stdin:
                q = json.loads(line)
                seen += 1
                \(answer)
            """
        try program.write(toFile: folder.path("verifier.py"), atomically: true, encoding: .utf8)
        let command = "exec python3 '\(folder.path("verifier.py"))'"
        return try ProgramRun(["simulate", "verifier-tests", "--command", command, "--format", "json"] + options)
    }

    private func say(_ verdict: String) -> String { #"print(json.dumps({"verdict": "\#(verdict)"}), flush=True)"# }

    private func count(_ run: ProgramRun, _ name: String) -> Int { run.json[name] as? Int ?? -1 }

    /// The adapter of the examples hands this program everything that a question says, so nothing is judged wrongly.
    @Test func thisProgramJudgesReceiptsRightThroughItsAdapter() throws {
        let adapter = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Examples/verifier-tests/verify_sealward.py")
        let command = "SEALWARD='\(BuiltProgram.url.path)' exec python3 -B '\(adapter.path)'"
        let run = try ProgramRun([
            "simulate", "verifier-tests", "--kind", "receipt", "--command", command, "--format", "json",
        ])
        #expect(run.status == 0 && count(run, "right") == count(run, "cases"), "\(run.output.suffix(2000))")
    }

    @Test func whatIsAcceptedAndRefusedWronglyIsCounted() throws {
        let trusting = try run(say("accepted"))
        let doubting = try run(say("refused"))
        for run in [trusting, doubting] {
            #expect(run.status == 1 && run.string("schema") == "sealward.verifier-tests/1", "\(run.errors)")
            #expect(
                count(run, "right") + count(run, "acceptedWrongly") + count(run, "refusedWrongly")
                    == count(run, "cases"))
        }
        #expect(count(trusting, "refusedWrongly") == 0 && count(trusting, "acceptedWrongly") >= 30)
        #expect(count(doubting, "acceptedWrongly") == 0 && count(doubting, "refusedWrongly") >= 25)
        #expect(count(trusting, "acceptedWrongly") == count(doubting, "right"))
    }

    @Test func whoJudgesNothingIsUndetermined() throws {
        let run = try run(say("unsupported"))
        #expect(run.status == 2)
        #expect(count(run, "notJudged") == count(run, "cases"))
    }

    /// What a verifier does at one question, and what is said of it.
    static let failures = [
        ("os.kill(os.getpid(), 9)", "crashed", "the program ended by signal 9 without an answer"),
        ("os._exit(3)", "crashed", "the program ended with status 3 without an answer"),
        (#"os.write(1, b"\xff\x00 garbage\n"); continue"#, "crashed", "the answer is not JSON with a verdict"),
        (#"print("looking", flush=True)"#, "crashed", "the answer is not JSON with a verdict"),
        (#"os.write(1, b"x" * (100 << 20))"#, "crashed", "the answer has more than 65536 bytes"),
        (#"for _ in range(25 << 10): os.write(1, b"x" * 4095 + b"\n")"#, "crashed", nil),
        ("os.close(0); os.close(1); time.sleep(600)", "crashed", "the program closed its input or output"),
        ("time.sleep(600)", "tooSlow", "no answer within 3 seconds"),
        (#"print(json.dumps({"verdict": "maybe"}), flush=True); continue"#, "crashed", "the verdict is 'maybe'"),
    ]

    /// However a verifier fails at one question, only that one is counted as failed, and the program is asked the others.
    @Test func aFailureIsThatOfItsOwnQuestion() throws {
        // Every other question, so that each failure is followed by one that is answered.
        let ids = (0..<8).map { "assertion-2-cut-off-at-\(2 * $0 + 1)-of-17" } + ["assertion-56-single-hashing"]
        let branches = zip(ids, Self.failures).map { id, failure in
            "if q[\"id\"] == \"\(id)\":\n            \(failure.0)"
        }
        let run = try run(
            (branches + [say("refused")]).joined(separator: "\n    "), ["--kind", "assertion", "--timeout", "3"])
        #expect(run.status == 1, "\(run.errors)")
        let results = run.json["results"] as? [[String: Any]] ?? []
        for (id, (what, judgement, words)) in zip(ids, Self.failures) {
            let result = results.first { $0["id"] as? String == id }
            #expect(result?["judgement"] as? String == judgement, "\(what): \(result ?? [:])")
            if let words {
                #expect((result?["reason"] as? String)?.hasPrefix(words) == true, "\(what): \(result ?? [:])")
            }
        }
        #expect(count(run, "crashed") == 8 && count(run, "tooSlow") == 1, "\(run.output.prefix(400))")
        #expect(count(run, "right") + count(run, "refusedWrongly") == count(run, "cases") - 9)
    }

    @Test(arguments: ["/nowhere/verifier", "exit 1", "true"])
    func aProgramThatAnswersNothingIsNamed(_ command: String) throws {
        let run = try ProgramRun(["simulate", "verifier-tests", "--command", command])
        #expect(run.status == 2)
        #expect(run.errors.contains("--command: the program ended three times"), "\(run.errors)")
    }

    @Test func anAddressIsAskedToo() throws {
        let server = """
            import http.server, json, sys
            class Verifier(http.server.BaseHTTPRequestHandler):
                protocol_version = "HTTP/1.1"
                def do_POST(self):
                    q = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                    body = json.dumps({"verdict": "accepted"}).encode()
                    self.send_response(500 if q["id"].endswith("-other-key") else 200)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                def log_message(self, *words): pass
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Verifier)
            print(server.server_port, flush=True)
            server.serve_forever()
            """
        try server.write(toFile: folder.path("server.py"), atomically: true, encoding: .utf8)
        let script = """
            exec 3< <(exec python3 "$1"); pid=$!; read -r port <&3
            "$0" simulate verifier-tests --url "http://127.0.0.1:$port/verify" --kind assertion --format json; status=$?
            kill -9 $pid; exit $status
            """
        let run = try ProgramRun(
            URL(fileURLWithPath: "/bin/bash"), ["-c", script, BuiltProgram.url.path, folder.path("server.py")])
        #expect(run.status == 1, "\(run.errors)")
        #expect(count(run, "crashed") == 1 && count(run, "acceptedWrongly") >= 30, "\(run.output.prefix(400))")
        #expect(run.output.contains("the status is 500"))
        let port = try FreePort.take()
        let nobody = try ProgramRun(["simulate", "verifier-tests", "--url", "http://127.0.0.1:\(port)/"])
        #expect(nobody.status == 2 && nobody.errors.hasPrefix("sealward: --url: "), "\(nobody.errors)")
    }

    /// The files hold what the command line verifies with the roots beside them.
    @Test func exportedFilesCanBeVerified() throws {
        let target = folder.path("cases")
        let made = try ProgramRun(["simulate", "verifier-tests", "--export", target])
        #expect(made.status == 0, "\(made.errors)")
        #expect(try ProgramRun(["simulate", "verifier-tests", "--export", target]).status == 2)
        let index = try JSONSerialization.jsonObject(
            with: Data(contentsOf: URL(fileURLWithPath: target + "/cases.json")))
        let cases = try #require((index as? [String: Any])?["cases"] as? [[String: Any]])
        #expect(cases.count >= 300)
        let names = [
            "receipt-form-the-first-ios-14-2-production", "receipt-form-a-renewed-one-macos-27-0-development",
            "receipt-84-distinguished-encoding", "receipt-71-foreign-root", "receipt-78-expired",
            "receipt-77-from-the-future", "receipt-82-nesting-bomb",
        ]
        let expected = names.map { name in cases.first { $0["id"] as? String == name }?["expected"] as? String }
        #expect(expected == ["accepted", "accepted", "accepted", "refused", "refused", "refused", "refused"])
        for item in cases where names.contains(item["id"] as? String ?? "") {
            let text = { (name: String) in item[name] as? String ?? "" }
            try text("receiptRoot").write(toFile: folder.path("root.pem"), atomically: true, encoding: .utf8)
            let run = try ProgramRun([
                "receipt", "verify", target + "/" + text("file"), "--app-id", text("appId"), "--public-key",
                text("publicKey"), "--trust-root", folder.path("root.pem"), "--at", "2043-12-30T00:00:00Z",
            ])
            #expect(run.status == (text("expected") == "accepted" ? 0 : 1), "\(text("id")): \(run.output)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: target).count == cases.count + 1)
    }

    @Test(arguments: [
        [], ["--url", "http://127.0.0.1:1/", "--export", "x"], ["--url", "x"], ["--command", "true", "--kind", "key"],
        ["--command", "true", "--timeout", "0"],
    ])
    func wrongUsageIsNamed(_ options: [String]) throws {
        #expect(try ProgramRun(["simulate", "verifier-tests"] + options).status == 64)
    }
}

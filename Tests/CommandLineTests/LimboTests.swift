// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// All cases of C2SP/x509-limbo through `sealward ats certificate --jobs`.
///
/// What differs stands in `Tests/Vectors/x509-limbo/exceptions.json` with its reason; a case that differs and is not there fails, and so
/// does one that stands there and no longer differs.
@Suite(.enabled(if: SharedVectors.limbo != nil, "../shared/vectors/x509-limbo is not there"))
struct LimboTests {
    struct Limbo: Decodable {
        let testcases: [Case]
    }

    struct Name: Decodable {
        let kind: String
        let value: String
    }

    struct Case: Decodable {
        let id: String
        let features: [String]?
        let validation_kind: String
        let trusted_certs: [String]
        let untrusted_intermediates: [String]
        let peer_certificate: String
        let validation_time: String?
        let expected_result: String
        let expected_peer_name: Name?
    }

    struct Exception: Decodable {
        let id: String
        /// What Sealward says: `pass` where limbo wants a failure, or `fail` where it wants a success.
        let verdict: String
        /// `feature`, `issuance`, `apple`, `private-root` or `name`.
        let kind: String
        let reason: String
    }

    struct Answer: Decodable {
        struct Cause: Decodable {
            let code: String
            let message: String
        }

        let verdict: String
        let because: [Cause]
    }

    /// The jobs of some cases as files in a folder.
    static func write(_ cases: [Case], to folder: TemporaryDirectory, roots: String) throws -> String {
        let lines = try cases.enumerated().map { index, test in
            let chain = ([test.peer_certificate] + test.untrusted_intermediates).joined(separator: "\n")
            try chain.write(toFile: folder.path("\(index).pem"), atomically: true, encoding: .utf8)
            try test.trusted_certs.joined(separator: "\n")
                .write(toFile: folder.path("\(index).roots"), atomically: true, encoding: .utf8)
            var job = ["file": "\(index).pem", roots: "\(index).roots", "server-trust": "default"]
            // Mail addresses are names of people, not of servers.
            if let name = test.expected_peer_name, name.kind != "RFC822" { job["host"] = name.value }
            job["at"] = test.validation_time
            return String(decoding: try JSONEncoder().encode(job), as: UTF8.self)
        }
        let jobs = folder.path("jobs.jsonl")
        try lines.joined(separator: "\n").write(toFile: jobs, atomically: true, encoding: .utf8)
        return jobs
    }

    static func cases() throws -> [Case] {
        try JSONDecoder().decode(Limbo.self, from: Data(contentsOf: try #require(SharedVectors.limbo))).testcases
    }

    static let exceptions = Result { () throws -> [Exception] in
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Vectors/x509-limbo/exceptions.json")
        return try JSONDecoder().decode([Exception].self, from: Data(contentsOf: file))
    }

    @Test("Every case is judged as limbo wants, but for the listed exceptions, and no exception has healed")
    func allCases() throws {
        let cases = try Self.cases()
        #expect(cases.count == 207)
        let folder = try TemporaryDirectory()
        let run = try ProgramRun(["ats", "certificate", "--jobs", try Self.write(cases, to: folder, roots: "ca-file")])
        #expect(run.status == 1, "\(run.errors)")
        let answers = try run.data.split(separator: 0x0A).map { try JSONDecoder().decode(Answer.self, from: $0) }
        try #require(answers.count == cases.count)
        let exceptions = Dictionary(uniqueKeysWithValues: try Self.exceptions.get().map { ($0.id, $0) })
        for (test, answer) in zip(cases, answers) {
            let wanted = test.expected_result == "SUCCESS" ? "pass" : "fail"
            let because = answer.because.map { "\($0.code) \($0.message)" }.joined(separator: "; ")
            if let exception = exceptions[test.id] {
                #expect(answer.verdict == exception.verdict, "\(test.id): \(because)")
                #expect(answer.verdict != wanted, "\(test.id) is no exception any longer: remove it from the list")
            } else {
                #expect(answer.verdict == wanted, "\(test.id): \(because)")
            }
        }
    }

    @Test(
        "Roots that replace the system's judge as installed ones do, but for leaves that do not say that they are for servers"
    )
    func rootsInsteadOfTheSystems() throws {
        let cases = try Self.cases()
        let folder = try TemporaryDirectory()
        func answers(_ roots: String) throws -> [Answer] {
            let run = try ProgramRun(["ats", "certificate", "--jobs", try Self.write(cases, to: folder, roots: roots)])
            return try run.data.split(separator: 0x0A).map { try JSONDecoder().decode(Answer.self, from: $0) }
        }
        let (installed, system) = (try answers("ca-file"), try answers("roots"))
        try #require(installed.count == cases.count && system.count == cases.count)
        // Rules for names and purposes that only public CAs have are notes below an installed root.
        let names = Set(try Self.exceptions.get().filter { $0.kind == "private-root" }.map(\.id))
        var differing: [String] = []
        for (index, test) in cases.enumerated() where installed[index].verdict != system[index].verdict {
            if names.contains(test.id) {
                #expect(system[index].because.map(\.code) == ["ats.trust.issuance"], "\(test.id)")
                continue
            }
            differing.append(test.id)
            #expect(system[index].because.map(\.code) == ["ats.trust.wrong-key-usage"], "\(test.id)")
        }
        #expect(
            differing.sorted() == [
                "pathlen::validation-ignores-pathlen-in-leaf", "rfc5280::eku::ee-without-eku",
                "webpki::eku::ee-without-eku",
            ]
        )
    }

    @Test(
        "Each exception has a case and a reason of an allowed kind, and at most ten accept what limbo refuses, names below private roots aside"
    )
    func exceptionsAreFew() throws {
        let cases = Dictionary(uniqueKeysWithValues: try Self.cases().map { ($0.id, $0) })
        let exceptions = try Self.exceptions.get()
        #expect(Set(exceptions.map(\.id)).count == exceptions.count)
        // Beside those for names below a private root, which devices accept.
        let names = ["private-root", "name"]
        #expect(exceptions.count { $0.verdict == "pass" && !names.contains($0.kind) } <= 10)
        #expect(exceptions.count { names.contains($0.kind) } <= 11)
        for exception in exceptions {
            let test = try #require(cases[exception.id], "\(exception.id)")
            #expect(exception.reason.count > 20, "\(exception.id)")
            #expect((["feature", "issuance", "apple"] + names).contains(exception.kind), "\(exception.id)")
            if exception.kind == "feature" {
                #expect(!(test.features ?? []).isEmpty || test.validation_kind == "CLIENT", "\(exception.id)")
            }
        }
    }

    struct Measured: Decodable {
        let status: Int
        let seconds: Double
        let peakMegabytes: Int
        let text: String
    }

    /// Runs the program on jobs. Python starts it, because the peak that the kernel reports of a child is at least what its parent held
    /// when it started it, and this process holds much.
    static func measure(_ arguments: [String]) throws -> Measured {
        let python = #"""
            import json, os, sys
            out = os.pipe()
            child = os.fork()
            if child == 0:
                os.dup2(out[1], 1)
                os.close(out[0])
                os.execv(sys.argv[1], sys.argv[1:])
            os.close(out[1])
            text = open(out[0], errors="replace").read()
            _, status, usage = os.wait4(child, 0)
            print(json.dumps({"status": status >> 8, "seconds": usage.ru_utime + usage.ru_stime,
                              "peakMegabytes": usage.ru_maxrss // 1024, "text": text}))
            """#
        let run = try ProgramRun(
            URL(fileURLWithPath: "/usr/bin/env"), ["python3", "-c", python, BuiltProgram.url.path] + arguments)
        return try JSONDecoder().decode(Measured.self, from: run.data)
    }

    @Test(
        "The chains that are made to exhaust a verifier cost less than a second of processor time and 64 MB",
        .enabled(if: !BuiltProgram.isSanitized, "a sanitizer takes memory and time of its own"))
    func denialOfService() throws {
        let cases = try Self.cases().filter { $0.features?.contains("denial-of-service") == true }
        #expect(cases.count == 7)
        for test in cases {
            let folder = try TemporaryDirectory()
            let measured = try Self.measure([
                "ats", "certificate", "--jobs", try Self.write([test], to: folder, roots: "ca-file"),
            ])
            let what = "\(test.id): \(measured.seconds) s, \(measured.peakMegabytes) MB"
            #expect(measured.status == 1 && measured.text.contains("\"fail\""), "\(what) \(measured.text)")
            #expect((Measuring.isOff || measured.seconds < 1) && measured.peakMegabytes < 64, "\(what)")
            // A process that holds nothing was not measured.
            #expect(measured.peakMegabytes > 5, "\(what)")
        }
    }
}

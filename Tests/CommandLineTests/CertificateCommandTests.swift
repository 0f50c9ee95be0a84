// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward ats certificate`: files, options, lists, the two formats and the exit status.
@Suite struct CertificateCommandTests {
    struct Answer: Decodable {
        struct Cause: Decodable {
            let code: String
            let message: String
            let citation: String?
        }

        struct Facts: Decodable {
            struct Certificate: Decodable {
                let subject: String
            }

            struct Anchor: Decodable {
                let kind: String
            }

            let certificates: [Certificate]
            let presented: Int
            let anchor: Anchor?
            let ocspStatus: String?
        }

        let file: String?
        let host: String?
        let verdict: String
        let because: [Cause]
        let facts: Facts?
    }

    struct Document: Decodable {
        let schema: String
        let os: String
        let sdk: String?
        let certificates: [Answer]
    }

    /// A chain of three for localhost and 127.0.0.1, as files.
    struct Chain {
        let certification: TestCertification
        let root: TestCertification.Identity
        let chain: String
        let leafKey: String

        init(
            authority: [String] = TestCertification.authority, server: [String] = TestCertification.server,
            rootKey: TestCertification.Key = .curve("prime256v1")
        ) throws {
            certification = try TestCertification()
            root = try certification.root(key: rootKey)
            let intermediate = try certification.issue(
                "intermediate", subject: "/CN=Test Intermediate", issuer: root, extensions: authority)
            let leaf = try certification.issue(
                "leaf", subject: "/CN=localhost", issuer: intermediate, extensions: server)
            leafKey = leaf.keyPath
            chain = certification.directory.path("chain.pem")
            let files = [leaf, root, intermediate].map(\.certificatePath)
            try files.map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
                .write(toFile: chain, atomically: true, encoding: .utf8)
        }

        func run(
            _ arguments: String..., anchor: String = "--ca-file"
        ) throws -> (status: Int32, answer: Answer?, errors: String) {
            let run = try ProgramRun(
                ["ats", "certificate", chain, anchor, root.certificatePath, "--format", "json"] + arguments)
            let document = try? JSONDecoder().decode(Document.self, from: run.data)
            return (run.status, document?.certificates.first, run.errors)
        }

        func codes(_ arguments: String...) throws -> [String] {
            let run = try ProgramRun(
                ["ats", "certificate", chain, "--ca-file", root.certificatePath, "--format", "json"] + arguments)
            return try JSONDecoder().decode(Document.self, from: run.data).certificates.flatMap(\.because).map(\.code)
        }
    }

    @Test func document() throws {
        let chain = try Chain()
        let run = try ProgramRun(
            [
                "ats", "certificate", chain.chain, "--host", "localhost", "--ca-file", chain.root.certificatePath,
                "--format", "json", "--os", "ios17",
            ]
        )
        #expect(run.status == 0, "\(run.errors)")
        let document = try JSONDecoder().decode(Document.self, from: run.data)
        #expect(document.schema == "sealward.ats-certificate/1" && document.os == "ios17" && document.sdk == "17")
        let answer = try #require(document.certificates.first)
        #expect(answer.file == chain.chain && answer.host == "localhost" && answer.verdict == "pass")
        #expect(answer.facts?.certificates.map(\.subject) == ["CN=localhost", "CN=Test Intermediate"])
        #expect(answer.facts?.presented == 3 && answer.facts?.anchor?.kind == "installed" && answer.because.isEmpty)
    }

    @Test("Certificates are read as they are pasted, and what is none is named")
    func pastedForms() throws {
        let chain = try Chain()
        let text = try String(contentsOfFile: chain.chain, encoding: .utf8)
        let lines = text.split(separator: "\n").map(String.init)
        let forms = [
            lines.map { "     " + $0 }.joined(separator: "\n"), lines.map { "> " + $0 }.joined(separator: "\n"),
            lines.joined(), lines.joined(separator: "\\n"),
        ]
        for form in forms {
            let path = chain.certification.directory.path("pasted.txt")
            try form.write(toFile: path, atomically: true, encoding: .utf8)
            let run = try ProgramRun([
                "ats", "certificate", path, "--host", "localhost", "--ca-file", chain.root.certificatePath,
            ])
            #expect(run.status == 0, "\(run.output)\(run.errors)\n\(form.prefix(200))")
            let doctor = try ProgramRun(["doctor", path, "--format", "json"])
            let items = doctor.json["items"] as? [[String: Any]]
            #expect(items?.first?["what"] as? String == "certificate", "\(doctor.output)")
        }
        let base64 = lines.prefix { !$0.hasPrefix("-----END") }.dropFirst().joined()
        let hexadecimal = try #require(Data(base64Encoded: base64)).map { String(format: "%02x", $0) }.joined()
        for (content, words) in [
            (base64, ""), (hexadecimal, ""), ("-----BEGIN CERTIFICATE-----\nMIIB", "cut off"),
            (
                "-----BEGIN CERTIFICATE-----\n\(base64.prefix(200))\n-----END CERTIFICATE-----\n",
                "is cut off: its first"
            ),
            ("-----BEGIN PKCS7-----\nMIIB\n-----END PKCS7-----\n", "PKCS #7"), ("nothing", "contains no certificate"),
        ] {
            let path = chain.certification.directory.path("part.txt")
            try content.write(toFile: path, atomically: true, encoding: .utf8)
            let run = try ProgramRun(["ats", "certificate", path])
            #expect(
                words.isEmpty ? run.status == 1 : run.status == 2 && run.errors.contains(words), "\(run.errors)")
        }
    }

    @Test func text() throws {
        let chain = try Chain()
        let run = try ProgramRun([
            "ats", "certificate", chain.chain, "--host", "elsewhere.example", "--roots", chain.root.certificatePath,
        ])
        #expect(run.status == 1)
        let lines = run.output.split(separator: "\n").map(String.init)
        #expect(lines.first?.hasPrefix("FAIL") == true && lines.first?.contains("elsewhere.example") == true)
        #expect(run.output.contains("ats.trust.wrong-host") && run.output.contains("fix"))
    }

    @Test func hosts() throws {
        let chain = try Chain()
        #expect(try chain.codes("--host", "LOCALHOST") == [])
        #expect(try chain.codes("--host", "127.0.0.1") == [])
        #expect(try chain.codes("--host", "127.0.0.2") == ["ats.trust.wrong-host"])
        #expect(try chain.codes() == [])
        for bad in ["localhost:443", "localhost/x", "me@localhost", "a b", ""] {
            #expect(try chain.run("--host", bad).status == 64, "\(bad)")
        }
    }

    @Test func timesAndTrust() throws {
        let chain = try Chain()
        #expect(try chain.codes("--at", "2001-01-01T00:00:00Z").first == "ats.trust.not-yet-valid")
        #expect(try chain.codes("--at", "2101-01-01T00:00:00Z").first == "ats.trust.expired")
        // Below the system's roots a leaf must be for servers; below an installed one it need not say so.
        let bare = try Chain(server: ["subjectAltName=DNS:localhost"])
        #expect(try bare.codes("--host", "localhost") == [])
        #expect(try bare.run(anchor: "--roots").answer?.because.map(\.code) == ["ats.trust.wrong-key-usage"])
        // An anchor of the app is no installed root; any purpose is one for servers below that alone (SSLPolicyTests).
        let any = try Chain(server: ["extendedKeyUsage=anyExtendedKeyUsage", "subjectAltName=DNS:localhost"])
        #expect(try any.codes("--host", "localhost") == [])
        for (chain, anchor) in [(bare, "--app-anchor"), (any, "--app-anchor"), (any, "--roots")] {
            let codes = try chain.run(anchor: anchor).answer?.because.map(\.code)
            #expect(codes?.first == "ats.trust.wrong-key-usage", "\(anchor)")
        }
        // So must intermediates.
        let mail = try Chain(authority: TestCertification.authority + ["extendedKeyUsage=emailProtection"])
        #expect(try mail.codes("--host", "localhost") == [])
        #expect(try mail.run(anchor: "--roots").answer?.because.map(\.code) == ["ats.trust.wrong-key-usage"])
        #expect(try mail.codes("--os", "published") == ["ats.trust.wrong-key-usage"])
        // The key of the root counts, and what is known comes before the doubt about an installed one.
        let small = try Chain(rootKey: .rsa(1024))
        let ofSystem = try small.run(anchor: "--roots").answer
        #expect(ofSystem?.verdict == "fail" && ofSystem?.because.map(\.code) == ["ats.trust.weak-key"])
        let installed = try small.run()
        #expect(installed.status == 1 && installed.answer?.verdict == "fail")
        #expect(installed.answer?.because.map(\.code) == ["ats.trust.weak-key"])
        let mailOnly = try Chain(
            server: TestCertification.server.filter { !$0.hasPrefix("subjectAltName") } + [
                "subjectAltName=email:a@b.example"
            ])
        let unnamed = try mailOnly.run("--host", "a.example").answer?.because
        #expect(unnamed?.first?.message.contains("neither a DNS name nor an IP address") == true, "\(unnamed ?? [])")
        let expired = try small.run("--at", "2101-01-01T00:00:00Z").answer
        #expect(expired?.verdict == "fail" && expired?.because.first?.code == "ats.trust.expired")
    }

    @Test("SHA-224 is a floor of ATS's own; plain trust evaluation has none")
    func serverTrust() throws {
        let certification = try TestCertification()
        let leaf = try certification.issue(
            "leaf", subject: "/CN=localhost", key: .rsa(2048), extensions: TestCertification.server, digest: "sha224")
        // Its own root, so that the signature is not what is looked for.
        func codes(_ trust: String) throws -> [String] {
            let run = try ProgramRun(
                [
                    "ats", "certificate", leaf.certificatePath, "--ca-file", leaf.certificatePath, "--server-trust",
                    trust,
                    "--format", "json",
                ]
            )
            return try JSONDecoder().decode(Document.self, from: run.data).certificates.flatMap(\.because).map(\.code)
        }
        #expect(try codes("ats") == ["ats.trust.weak-signature"])
        #expect(try codes("default") == [])
    }

    @Test func nameConstraints() throws {
        let chain = try Chain(
            authority: TestCertification.authority + ["nameConstraints=permitted;DNS:elsewhere.example"])
        let answer = try chain.run("--host", "localhost").answer
        #expect(answer?.because.map(\.code) == ["ats.trust.name-constraints"])
        #expect(answer?.because.first?.citation != nil)
    }

    struct Issued: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var authority = TestCertification.authority
        var server = TestCertification.server
        let says: String
    }

    @Test(
        "What no authority may issue fails although trust evaluation lets it through",
        arguments: [
            Issued(
                testDescription: "basicConstraints",
                authority: ["basicConstraints=CA:TRUE", "subjectKeyIdentifier=hash"], says: "basicConstraints"),
            Issued(
                testDescription: "key identifiers",
                server: TestCertification.server + ["subjectKeyIdentifier=critical,hash"], says: "subjectKeyIdentifier"),
            Issued(
                testDescription: "an authority as server",
                server: ["basicConstraints=critical,CA:TRUE", "subjectAltName=DNS:localhost"],
                says: "could issue certificates"),
            Issued(
                testDescription: "an authority that may not issue",
                server: [
                    "basicConstraints=critical,CA:TRUE", "keyUsage=digitalSignature", "subjectAltName=DNS:localhost",
                ],
                says: "does not allow it"
            ),
            Issued(
                testDescription: "keyCertSign", server: ["keyUsage=keyCertSign", "subjectAltName=DNS:localhost"],
                says: "not a CA certificate"),
            Issued(
                testDescription: "a critical alternative name", server: ["subjectAltName=critical,DNS:localhost"],
                says: "must not be critical"),
            Issued(
                testDescription: "a leading dot",
                authority: TestCertification.authority + ["nameConstraints=critical,excluded;DNS:.elsewhere.example"],
                says: "leading dot"),
        ]
    )
    func issuance(_ issued: Issued) throws {
        let answer = try Chain(authority: issued.authority, server: issued.server).run("--host", "localhost").answer
        #expect(answer?.verdict == "fail" && answer?.because.map(\.code) == ["ats.trust.issuance"])
        #expect(answer?.because.first?.message.contains(issued.says) == true, "\(answer?.because.first?.message ?? "")")
    }

    @Test("Below a root of one's own a name that only other clients refuse is a note, and letters have no case")
    func namesBelowPrivateRoots() throws {
        let odd = try Chain(server: ["subjectAltName=DNS:localhost,DNS:a_b.example"]).run("--host", "localhost").answer
        #expect(odd?.verdict == "pass", "\(String(describing: odd))")
        let upper = try Chain(server: ["subjectAltName=DNS:LocalHost"]).run("--host", "localhost").answer
        #expect(upper?.verdict == "pass", "\(String(describing: upper))")
    }

    @Test("A list is answered line for line, whatever is wrong with a line, and its members are the options")
    func jobs() throws {
        let chain = try Chain()
        let folder = chain.certification.directory
        let lines = [
            #"{"file":"chain.pem","host":"localhost","ca-file":"root.pem","note":["mine"]}"#,
            #"{"file":"chain.pem","host":"other.example","ca-file":["root.pem"],"os":"ios17"}"#,
            #"{"file":"chain.pem","host":"localhost","roots":"root.pem","at":"2001-01-01T00:00:00Z"}"#,
            #"{"file":"absent.pem"}"#,
            "no JSON",
            #"{"host":"localhost"}"#,
            #"{"file":"root.key","ca-file":"root.pem"}"#,
            #"{"file":"chain.pem","ca-file":"root.pem","os":"ios3"}"#,
            #"{"file":"chain.pem","ca-file":"root.pem","at":"yesterday"}"#,
            #"{"file":"chain.pem","ca-file":"root.pem","host":"a b"}"#,
            "",
            #"{"file":"chain.pem","ca-file":"absent.pem"}"#,
        ]
        let jobs = folder.path("jobs.jsonl")
        try lines.joined(separator: "\n").write(toFile: jobs, atomically: true, encoding: .utf8)
        // From another folder: paths are relative to the list.
        let run = try ProgramRun(["ats", "certificate", "--jobs", jobs], in: URL(fileURLWithPath: "/"))
        #expect(run.status == 1)
        let answers = try run.data.split(separator: 0x0A).map { try JSONDecoder().decode(Answer.self, from: $0) }
        #expect(
            answers.map(\.verdict) == ["pass", "fail", "fail"] + Array(repeating: "undetermined", count: 8),
            "\(run.output)")
        #expect(answers.map(\.file?.description).prefix(4) == ["chain.pem", "chain.pem", "chain.pem", "absent.pem"])
        #expect(answers.dropFirst(3).allSatisfy { $0.because.count == 1 && $0.facts == nil })
        // Whatever is wrong with a job, its answer names its file.
        #expect(answers.suffix(4).map(\.file?.description) == Array(repeating: "chain.pem", count: 4))
        // Options of the command are what lines leave out.
        try #"{"file":"chain.pem"}"#.write(toFile: jobs, atomically: true, encoding: .utf8)
        let defaults = try ProgramRun([
            "ats", "certificate", "--jobs", jobs, "--ca-file", chain.root.certificatePath, "--host", "other.example",
        ])
        #expect(defaults.status == 1 && defaults.output.contains("ats.trust.wrong-host"))
        try "\n\n".write(toFile: jobs, atomically: true, encoding: .utf8)
        #expect(try ProgramRun(["ats", "certificate", "--jobs", jobs]).status == 2)
    }

    @Test("roots are a path or a list of paths, in PEM or DER; bad ones are the fault of their job alone")
    func rootsOfJobs() throws {
        let chain = try Chain()
        let folder = chain.certification.directory
        try Data(chain.root.der).write(to: URL(fileURLWithPath: folder.path("root.der")))
        let other = try chain.certification.root("other", subject: "/CN=Other Root")
        try Data(other.der).write(to: URL(fileURLWithPath: folder.path("other.der")))
        try "no certificate\n".write(toFile: folder.path("text"), atomically: true, encoding: .utf8)
        let cases: [(members: String, verdict: String, says: String)] = [
            (#""roots":"root.pem""#, "pass", ""), (#""roots":"root.der""#, "pass", ""),
            (#""roots":["other.der","root.der"]"#, "pass", ""), (#""roots":["root.pem","root.der"]"#, "pass", ""),
            (#""roots":["other.pem"]"#, "fail", "in none of the given trust stores"),
            (#""roots":null,"ca-file":["other.der","root.der"]"#, "pass", ""),
            (#""roots":[]"#, "undetermined", "line 7: the member roots names no file"),
            (#""roots":["root.pem",7]"#, "undetermined", "line 8: the member roots must be a path or a list of paths"),
            (#""roots":{}"#, "undetermined", "line 9: the member roots must be a path or a list of paths"),
            (#""roots":["root.pem","text"]"#, "undetermined", "text: it contains no certificate"),
            (#""roots":["root.pem","absent"]"#, "undetermined", "absent: there is no such file"),
            (#""roots":["root.pem","."]"#, "undetermined", "is a folder; name a file"),
            (#""roots":"root.pem","ocsp-response":"text""#, "undetermined", "text: is not an OCSP response"),
            (#""roots":"root.pem""#, "pass", ""),
        ]
        let lines = cases.map { #"{"file":"chain.pem","host":"localhost",\#($0.members)}"# }
        let jobs = folder.path("jobs.jsonl")
        try lines.joined(separator: "\n").write(toFile: jobs, atomically: true, encoding: .utf8)
        let run = try ProgramRun(["ats", "certificate", "--jobs", jobs])
        #expect(run.status == 1)
        let answers = try run.data.split(separator: 0x0A).map { try JSONDecoder().decode(Answer.self, from: $0) }
        #expect(answers.count == cases.count)
        for (answer, expected) in zip(answers, cases) {
            #expect(answer.verdict == expected.verdict, "\(expected.members): \(answer.because)")
            #expect(answer.file?.description == "chain.pem")
            let said = answer.because.map(\.message).joined(separator: " ")
            #expect(expected.says.isEmpty ? said.isEmpty : said.contains(expected.says), "\(expected.members): \(said)")
            // One sentence, as it is read aloud.
            #expect(!said.contains("the file there is"))
        }
    }

    @Test func faults() throws {
        let chain = try Chain()
        let folder = chain.certification.directory
        let key = chain.root.keyPath
        for (arguments, status) in [
            (["ats", "certificate"], Int32(64)), (["ats", "certificate", chain.chain, "--jobs", chain.chain], 64),
            (["ats", "certificate", chain.chain, "--sdk", "8"], 64),
            (["ats", "certificate", chain.chain, "--os", "ios3"], 64),
            (["ats", "certificate", folder.path("absent.pem")], 2), (["ats", "certificate", key], 2),
            (["ats", "certificate", chain.chain, "--ca-file", key], 2),
            (["ats", "certificate", chain.chain, "--ca-file", chain.root.certificatePath, "--ct-log-list", key], 2),
        ] {
            let run = try ProgramRun(arguments)
            #expect(run.status == status && run.output.isEmpty && !run.errors.isEmpty, "\(arguments): \(run.errors)")
        }
        // A broken certificate is a verdict, not a fault.
        try "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
            .write(toFile: folder.path("broken.pem"), atomically: true, encoding: .utf8)
        let broken = try ProgramRun([
            "ats", "certificate", folder.path("broken.pem"), "--ca-file", chain.root.certificatePath,
        ])
        #expect(broken.status == 1 && broken.output.contains("no readable certificate"))
    }

    @Test("A file that cannot be read costs no other file its answer, and FAIL beats undetermined")
    func unreadableAmongOthers() throws {
        let chain = try Chain()
        let absent = chain.certification.directory.path("absent.pem")
        for (host, status) in [("elsewhere.example", Int32(1)), ("localhost", 2)] {
            let run = try ProgramRun([
                "ats", "certificate", absent, chain.chain, "--host", host, "--roots", chain.root.certificatePath,
                "--format", "json",
            ])
            let document = try JSONDecoder().decode(Document.self, from: run.data)
            #expect(run.status == status && document.certificates.map(\.file) == [chain.chain], "\(run.errors)")
            #expect(run.errors.contains("absent.pem: there is no such file"))
        }
        let job = try ProgramRun(["ats", "certificate", "--jobs", "-"], input: #"{"file":"absent.pem","host":"a"}"#)
        let answer = try JSONDecoder().decode(Answer.self, from: job.data)
        #expect(answer.host == "a" && answer.verdict == "undetermined", "\(job.output)")
    }

    @Test("Roots come from standard input too, for one option only")
    func rootsFromStandardInput() throws {
        let chain = try Chain()
        let root = try String(contentsOfFile: chain.root.certificatePath, encoding: .utf8)
        for option in ["--roots", "--ca-file"] {
            let run = try ProgramRun(["ats", "certificate", chain.chain, option, "-"], input: root)
            #expect(run.status == 0, "\(option): \(run.errors)")
        }
        // Each of the systems gets them, although there is one reading.
        let server = try OpenSSLServer([
            "-cert", chain.chain, "-cert_chain", chain.chain, "-key", chain.leafKey, "-www",
        ])
        let place = "localhost:\(server.port)"
        let check = try ProgramRun(
            ["ats", "check", place, "--resolve", "\(place):127.0.0.1", "--roots", "-", "--systems", "ios18,ios26"],
            input: root)
        // The root is known, and as one of the system's it asks for timestamps.
        #expect(check.status == 1 && !check.output.contains("ats.trust.unknown-root"), "\(check.output)\(check.errors)")
        #expect(check.output.contains("ats.ct.missing"), "\(check.output)")
        let twice = try ProgramRun(["ats", "certificate", "-", "--roots", "-"], input: root)
        #expect(twice.status == 2 && twice.errors.contains("was read for another input already"), "\(twice.errors)")
    }

    @Test("An OCSP response that the issuer signed counts as one that a server staples")
    func response() throws {
        let certification = try TestCertification()
        let root = try certification.root()
        let leaf = try certification.issue(
            "leaf", subject: "/CN=localhost", issuer: root, extensions: TestCertification.server)
        let (request, index, response) = (
            certification.directory.path("request"), certification.directory.path("index"),
            certification.directory.path("response")
        )
        try OpenSSLProgram.run([
            "ocsp", "-issuer", root.certificatePath, "-cert", leaf.certificatePath, "-reqout", request, "-no_nonce",
        ])
        let serial =
            try OpenSSLProgram.run(["x509", "-in", leaf.certificatePath, "-noout", "-serial"])
            .trimmingCharacters(in: .whitespacesAndNewlines).split(separator: "=").last.map(String.init) ?? ""
        for (letter, revoked, verdict) in [("V", "", "pass"), ("R", "260101000000Z,keyCompromise", "fail")] {
            try "\(letter)\t351231235959Z\t\(revoked)\t\(serial)\tunknown\t/CN=localhost\n"
                .write(toFile: index, atomically: true, encoding: .utf8)
            try OpenSSLProgram.run(
                [
                    "ocsp", "-index", index, "-CA", root.certificatePath, "-rsigner", root.certificatePath, "-rkey",
                    root.keyPath, "-reqin", request, "-respout", response, "-ndays", "1",
                ]
            )
            let run = try ProgramRun(
                [
                    "ats", "certificate", leaf.certificatePath, "--ca-file", root.certificatePath, "--ocsp-response",
                    response, "--format", "json",
                ]
            )
            let answer = try JSONDecoder().decode(Document.self, from: run.data).certificates.first
            #expect(answer?.verdict == verdict, "\(run.output)")
            #expect(answer?.facts?.ocspStatus == (letter == "V" ? "good" : "revoked"))
        }
    }

    /// The names of a certificate are the server's choice.
    @Test(arguments: ["text", "json"])
    func namesAreNoCommandsForBuildMachines(_ format: String) throws {
        let certification = try TestCertification()
        let name = "##vso[task.prependpath]x"
        let leaf = try certification.issue(
            "leaf", subject: "/CN=\(name)/O=##teamcity[y", extensions: TestCertification.server)
        let run = try ProgramRun(["ats", "certificate", leaf.certificatePath, "--format", format])
        #expect(!run.output.contains("##vso[") && !run.output.contains("##teamcity["), "\(run.output)")
        #expect(run.output.contains(format == "text" ? "#\\#vso[task" : "#\\u0023vso[task"), "\(run.output)")
    }
}

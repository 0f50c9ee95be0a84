// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward ats log`: what devices and Macs write, in every style in which it is exported.
@Suite struct LogCommandTests {
    let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func log(_ text: String, _ more: [String] = ["--format", "json"]) throws -> ProgramRun {
        try text.write(toFile: folder.path("log"), atomically: true, encoding: .utf8)
        return try ProgramRun(["ats", "log", folder.path("log")] + more)
    }

    /// Host to the codes of its findings, in one text: `-1200/-9824`.
    private func found(_ run: ProgramRun) -> [String: [String]] {
        let hosts = run.json["hosts"] as? [[String: Any]] ?? []
        return Dictionary(
            hosts.map { host in
                let findings = host["findings"] as? [[String: Any]] ?? []
                return (
                    host["host"] as? String ?? "-",
                    findings.map { finding in
                        let error = finding["error"] as? [String: Any] ?? [:]
                        let codes = finding["codes"] as? [String] ?? []
                        let numbers = [error["code"], error["streamCode"]].compactMap { ($0 as? Int).map(String.init) }
                        return numbers.joined(separator: "/") + " " + (codes.count == 1 ? codes[0] : "\(codes.count)")
                    }
                )
            },
            uniquingKeysWith: +
        )
    }

    @Test func aFileThatCannotBeReadCostsNoOtherFileItsAnswer() throws {
        let run = try log(LogCommandTests.error, [folder.path("absent"), "--format", "json"])
        #expect(run.status == 1 && !found(run).isEmpty && run.errors.contains("there is no such file"), "\(run.errors)")
        let quiet = try log("nothing\n", [folder.path("absent"), "--format", "json"])
        #expect(quiet.status == 2 && !quiet.output.isEmpty)
        let alone = try ProgramRun(["ats", "log", folder.path("absent")])
        #expect(alone.status == 2 && alone.output.isEmpty)
    }

    static let error = """
        Error Domain=NSURLErrorDomain Code=-1200 "An SSL error has occurred and a secure connection to the server cannot be made." \
        UserInfo={NSErrorFailingURLStringKey=https://old.example.com:8443/path?q=1, NSLocalizedRecoverySuggestion=Would you like to connect \
        to the server anyway?, _kCFStreamErrorDomainKey=3, NSUnderlyingError=0x600000c5c150 {Error Domain=kCFErrorDomainCFNetwork Code=-1200 \
        "(null)" UserInfo={_kCFStreamPropertySSLClientCertificateState=0, _kCFNetworkCFStreamSSLErrorOriginalValue=-9836, \
        _kCFStreamErrorDomainKey=3, _kCFStreamErrorCodeKey=-9836}}, _kCFStreamErrorCodeKey=-9836}
        """

    /// What PowerShell and Windows editors make of a log that was sent there.
    @Test(arguments: [String.Encoding.utf16LittleEndian, .utf16BigEndian])
    func aLogInUTF16IsNamedAndNotCountedAsUnknown(_ encoding: String.Encoding) throws {
        let mark: [UInt8] = encoding == .utf16BigEndian ? [0xFE, 0xFF] : [0xFF, 0xFE]
        let text = try #require(Self.error.data(using: encoding))
        try (Data(mark) + text).write(to: URL(fileURLWithPath: folder.path("log")))
        let run = try ProgramRun(["ats", "log", folder.path("log")])
        #expect(run.status == 2 && run.output.isEmpty)
        #expect(run.errors.contains("is UTF-16; save it as UTF-8 (iconv"), "\(run.errors)")
    }

    @Test(
        "Numbers of Secure Transport that say one thing are taken for it, beside an NSURLError that says all",
        arguments: [
            (-9818, "4"), (-9825, "2"), (-9831, "2"), (-9822, "ats.tls.handshake-failed"),
            (-9840, "ats.tls.handshake-failed"),
            (-9842, "ats.tls.client-certificate-required"), (-9844, "ats.net.closed"), (-9852, "2"),
            (-9853, "ats.net.timeout"), (-9863, "ats.tls.client-certificate-required"),
            (-9865, "ats.tls.handshake-failed"),
        ]
    )
    func numbersOfSecureTransport(_ number: Int, _ meaning: String) throws {
        let run = try log(Self.error.replacingOccurrences(of: "-9836", with: "\(number)"))
        #expect(found(run) == ["old.example.com": ["-1200/\(number) \(meaning)"]], "\(run.output)")
    }

    /// One and the same error, as five tools show it.
    @Test(arguments: [
        error,
        "2026-11-22 12:00:00.123456+0100  localhost Shop[123]: (CFNetwork) Task <FB1E>.<2> finished with error [-1200] \(error)",
        "default\t12:00:00.123456+0100\tShop\t\(error)", "Error : \(error)",
        "2026-11-22 12:00:00.1 Shop[12:34] \(error)\r",
    ])
    func anErrorIsReadInEveryText(_ line: String) throws {
        let run = try log("first\n\(line)\nlast\n")
        #expect(run.status == 1, "\(run.errors)")
        #expect(run.string("schema") == "sealward.ats-log/1")
        #expect(found(run) == ["old.example.com": ["-1200/-9836 ats.tls.version-too-low"]], "\(run.output)")
        #expect(run.json["lines"] as? Int == 3 && run.json["unknown"] as? Int == 2)
        let host = (run.json["hosts"] as? [[String: Any]])?.first
        #expect(host?["check"] as? String == "sealward ats check https://old.example.com:8443/")
        let finding = (host?["findings"] as? [[String: Any]])?.first
        #expect(finding?["certain"] as? Bool == true && finding?["line"] as? Int == 2)
        #expect((finding?["fix"] as? String)?.contains("TLS 1.2") == true)
    }

    @Test func ndjsonAndJSONAreRead() throws {
        let message = try #require(String(data: JSONEncoder().encode(Self.error), encoding: .utf8))
        let line =
            "{\"timestamp\":\"2026-11-22\",\"note\":\"eventMessage\",\"eventMessage\":\(message),\"processID\":1}"
        let other = "{\"eventMessage\":\"hello \\\"eventMessage\\\" -1200\",\"processID\":1}"
        let short = try log("\(line)\n\(other)\n\(line)\n")
        #expect(found(short) == ["old.example.com": ["-1200/-9836 ats.tls.version-too-low"]], "\(short.output)")
        #expect(short.json["lines"] as? Int == 3 && short.json["unknown"] as? Int == 1)
        let long = """
            [{
              "traceID" : 1,
              "eventMessage" : \(message),
              "backtrace" : {
                "frames" : [ ]
              }
            },{
              "eventMessage" : "App Transport Security has blocked a cleartext HTTP connection to a.example since it is insecure.",
              "processID" : 7
            }]
            """
        let run = try log(long)
        #expect(
            found(run) == [
                "old.example.com": ["-1200/-9836 ats.tls.version-too-low"],
                "a.example": ["-1022 ats.cleartext.blocked"],
            ],
            "\(run.output)"
        )
        #expect(run.json["lines"] as? Int == 2 && run.json["unknown"] as? Int == 0)
    }

    /// Entries of `log` that another program has indented anew, and errors of two loads.
    @Test func bracesJoinNothingThatIsNotOneError() throws {
        let message = try #require(String(data: JSONEncoder().encode(Self.error), encoding: .utf8))
        let entries = """
            [
              {
                "traceID" : 1,
                "eventMessage" : \(message)
              },
              {
                "eventMessage" : "App Transport Security has blocked a cleartext HTTP connection to a.example since it is insecure.",
                "processID" : 7
              }
            ]
            """
        let run = try log(entries)
        #expect(
            found(run) == [
                "old.example.com": ["-1200/-9836 ats.tls.version-too-low"],
                "a.example": ["-1022 ats.cleartext.blocked"],
            ],
            "\(run.output)"
        )
        #expect(run.json["lines"] as? Int == 2 && run.json["unknown"] as? Int == 0)
        let errors = try log(
            """
            {
              Error Domain=NSURLErrorDomain Code=-1022 "x" UserInfo={NSErrorFailingURLKey=http://a.example/}
              Error Domain=NSURLErrorDomain Code=-1202 "x" UserInfo={NSErrorFailingURLKey=https://b.example/, _kCFStreamErrorCodeKey=-9843}
            }
            """
        )
        #expect(
            found(errors) == ["a.example": ["-1022 ats.cleartext.blocked"], "b.example": ["-1202/-9843 2"]],
            "\(errors.output)")
    }

    /// Every line that the library of 26.4 can write, and the messages of older systems.
    @Test(
        arguments: [
            (
                "Error [ATS FCPv2.1 violation]: Server certificate signed using signature algorithm rsa_pkcs1_sha1 not advertised in client hello for server: H",
                "ats.trust.weak-signature"
            ),
            (
                "Error [ATS FCPv2.1 violation]: TLS 1.2 negotiated without extended master secret (EMS) for server: H",
                "ats.tls.no-extended-master-secret"
            ),
            (
                "Warning [ATS FCPv2.1 violation]: Ciphersuite(0xc027) not offered in ATS FCP_v2.1 mode negotiated for server: H",
                "ats.tls.no-common-suite"
            ),
            ("Error [ATS Violation]: ATS certificate trust requirement not satisfied for server: H", "15"),
            (
                "boringssl_x(9) [C1:2][0x1] Error [ATS violation]: ECDSA key size 224 bits is less than minimum 256 bits for server: H",
                "ats.trust.weak-key"
            ),
            (
                "Error [ATS violation]: RSA key size 1024 bits is less than minimum 2048 bits for server: H",
                "ats.trust.weak-key"
            ),
            (
                "Error [ATS violation]: Leaf certificate hash algorithm (2) is not at least SHA-256 for server: H",
                "ats.trust.weak-signature"
            ), ("Error [ATS violation]: Leaf certificate is absent for server: H", "ats.tls.handshake-failed"),
            ("Error [ATS violation]: Peer public key not set for server: H", "ats.tls.handshake-failed"),
            (
                "App Transport Security has blocked a cleartext HTTP connection to H since it is insecure. Use HTTPS instead",
                "-1022 ats.cleartext.blocked"
            ),
        ]
    )
    func everySentenceHasItsCause(_ line: String, _ cause: String) throws {
        let named = line.replacingOccurrences(of: #"\bH\b"#, with: "Api.Example.com", options: .regularExpression)
        let run = try log(named + "\n")
        let expected = cause.hasPrefix("-") ? cause : " " + cause
        #expect(found(run) == ["api.example.com": [expected]], "\(run.output)")
        let scheme = cause.contains("cleartext") ? "http" : "https"
        let host = (run.json["hosts"] as? [[String: Any]])?.first
        // A plain check passes where only the hardened load fails.
        let purpose = line.contains("FCP") ? " --for managed" : ""
        #expect(host?["check"] as? String == "sealward ats check \(scheme)://api.example.com/\(purpose)")
    }

    /// Lines that name no host are kept apart, unless another line about the same load names it.
    @Test func hostsComeFromTheTaskOrFromNowhere() throws {
        let run = try log(
            """
            NSURLSession/NSURLConnection HTTP load failed (kCFStreamErrorDomainSSL, -9802)
            CFNetwork SSLHandshake failed (-9824)
            App Transport Security has blocked a cleartext HTTP (http://) resource load since it is insecure.
            Task <11AA>.<3> HTTP load failed, 0/0 bytes (error code: -1202 [3:-9843])
            Task <22BB>.<4> HTTP load failed, 0/0 bytes (error code: -1202 [3:-9813])
            Connection 4: TLS Trust encountered error 3:-9807
            Task <11AA>.<3> finished with error [-1202] Error Domain=NSURLErrorDomain Code=-1202 "x" UserInfo={NSErrorFailingURLKey=https://b.example/, _kCFStreamErrorCodeKey=-9843}
            Skipping local ATS trust evaluation (ats_trust_policy=skip)
            """
        )
        let hosts = found(run)
        #expect(hosts["b.example"] == ["-1202/-9843 2"], "\(run.output)")
        #expect(
            Set(hosts["-"] ?? []) == [
                "-9802 15", "-9824 5", "-1022 ats.cleartext.blocked", "-1202/-9813 3", "-9807 10",
            ],
            "\(run.output)"
        )
        let named = (run.json["hosts"] as? [[String: Any]])?.first { $0["host"] as? String == "b.example" }
        #expect(named?["lines"] as? Int == 2)
    }

    /// A number names every cause for which `ats check` gives it.
    @Test(
        arguments: [
            (-9801, ["ats.tls.no-extended-master-secret", "ats.tls.no-common-suite"]), (-9802, ["ats.trust.revoked"]),
            (-9802, ["ats.trust.not-yet-valid", "ats.trust.wrong-key-usage", "ats.trust.pin-mismatch"]),
            (-9807, ["ats.trust.weak-key", "ats.ct.missing"]), (-9812, ["ats.trust.missing-intermediate"]),
            (-9843, ["ats.trust.wrong-host", "ats.trust.no-subject-alternative-name"]),
        ]
    )
    func aNumberNamesWhatCheckGivesIt(_ number: Int, _ causes: [String]) throws {
        let run = try log("NSURLSession/NSURLConnection HTTP load failed (kCFStreamErrorDomainSSL, \(number))")
        let hosts = try #require(run.json["hosts"] as? [[String: Any]])
        let finding = try #require((hosts.first?["findings"] as? [[String: Any]])?.first)
        let named = try #require(finding["codes"] as? [String])
        #expect(named.count == Set(named).count && Set(causes).isSubset(of: named), "\(named)")
        #expect(finding["certain"] as? Bool == false && finding["fix"] is NSNull)
    }

    /// The description of an error goes over several lines where it lists certificates.
    @Test func descriptionsOverSeveralLinesAreOneError() throws {
        let run = try log(
            """
            Error Domain=NSURLErrorDomain Code=-1202 "The certificate for this server is invalid." UserInfo={NSErrorPeerCertificateChainKey=(
                "<cert(0x7f8b3b00a600) s: self.example i: self.example>"
            ), NSErrorClientCertificateStateKey=0, NSErrorFailingURLKey=https://self.example/, _kCFStreamErrorCodeKey=-9807}
            another line
            """
        )
        #expect(found(run) == ["self.example": ["-1202/-9807 ats.trust.self-signed"]], "\(run.output)")
        #expect(run.json["unknown"] as? Int == 1)
    }

    /// The URL stands in the first line, and the number of the stream behind a list.
    @Test("An error of nscurl is one error, with the number that says most")
    func errorsOfNSCurlAreOneError() throws {
        let run = try log(
            """
            Result : FAIL
            Error : Error Domain=NSURLErrorDomain Code=-1200 "An SSL error has occurred." UserInfo={NSErrorFailingURLStringKey=https://a.example/, \
            _NSURLErrorRelatedURLSessionTaskErrorKey=(
                "LocalDataTask <27D2A66E>.<1>"
            ), NSUnderlyingError=0x7f {Error Domain=kCFErrorDomainCFNetwork Code=-1200 "(null)" UserInfo={_kCFStreamErrorCodeKey=-9836}}, _kCFStreamErrorCodeKey=-9836}
            ---
            """
        )
        #expect(found(run) == ["a.example": ["-1200/-9836 ats.tls.version-too-low"]], "\(run.output)")
        let host = (run.json["hosts"] as? [[String: Any]])?.first
        #expect(host?["lines"] as? Int == 1)
        #expect((host?["findings"] as? [[String: Any]])?.first?["line"] as? Int == 2)
        #expect(run.json["unknown"] as? Int == 2)
    }

    @Test("A description that was cut off swallows no error behind it")
    func cutLines() throws {
        let cut = { (name: String) in
            "Error Domain=NSURLErrorDomain Code=-1200 \"x\" UserInfo={NSErrorFailingURLKey=https://\(name).example/, NSLoc"
        }
        let run = try log([cut("a"), cut("b"), "nothing", cut("c")].joined(separator: "\n"))
        #expect(found(run).keys.sorted() == ["a.example", "b.example", "c.example"], "\(run.output)")
        #expect(run.json["unknown"] as? Int == 1)
    }

    @Test("A text that begins with a bracket is no JSON, and JSON behind the line that `log` prints first is")
    func beginnings() throws {
        for first in ["[Shop] started", "{state} started", "[]x [1]"] {
            let run = try log("\(first)\n\(Self.error)\n")
            #expect(
                found(run) == ["old.example.com": ["-1200/-9836 ats.tls.version-too-low"]], "\(first): \(run.output)")
        }
        let message = try #require(String(data: JSONEncoder().encode(Self.error), encoding: .utf8))
        let header = "Filtering the log data using \"process == \\\"Shop\\\"\""
        for json in [
            "{\"eventMessage\":\(message)}", "[{\n  \"eventMessage\" : \(message)\n}]",
            "[\n{\"eventMessage\":\(message)}]",
        ] {
            let run = try log("\(header)\n\(json)\n")
            #expect(found(run) == ["old.example.com": ["-1200/-9836 ats.tls.version-too-low"]], "\(run.output)")
            #expect(run.json["lines"] as? Int == 2 && run.json["unknown"] as? Int == 1, "\(run.output)")
        }
    }

    /// Numbers that ATS and TLS do not produce, words that look alike, and text that is no log: nothing is made of them.
    @Test(arguments: [
        "Error Domain=NSPOSIXErrorDomain Code=-1200 https://a.example/", "the load failed (-9824?)", "ATS violation",
        "HTTP load failed (kCFStreamErrorDomainSSL, 9824)", "Task <11>.<1> resuming, timeouts(30.0, 604800.0)",
        "finished with error [-12000000000000000000000000]", "\u{0}\u{1}\u{2}", "{\"eventMessage\":", "[3:-9824",
        "NSURLErrorDomain 2026-11-22 10:00:00.000000-1000",
        // A player took the load over.
        "Error Domain=WebKitErrorDomain Code=204 \"Plug-in handled load\" UserInfo={NSErrorFailingURLKey=https://a.example/}",
    ])
    func nothingIsGuessed(_ line: String) throws {
        let run = try log(line + "\n")
        #expect(run.status == 2, "\(run.output)")
        #expect(found(run).isEmpty && (run.json["failures"] as? [Any])?.isEmpty == true, "\(run.output)")
    }

    @Test func textNamesCauseFixAndCommand() throws {
        let run = try log(Self.error, [])
        #expect(run.status == 1)
        for words in [
            "old.example.com: the TLS handshake failed (NSURLErrorDomain -1200, stream code -9836), 1 line",
            "[ats.tls.version-too-low]", "fix    enable TLS 1.2",
            "run    sealward ats check https://old.example.com:8443/",
            "1 line, 0 of them say nothing known",
        ] { #expect(run.output.contains(words), "\(run.output)") }
    }

    /// A line is quoted, and reports are passed on.
    @Test(
        arguments: [
            "curl -u admin:hunter2 http://a:hunter2@api.example.com/?token=hunter2 NSURLErrorDomain Code=-1022",
            "POST http://api.example.com/services/T0/B0/hunter2ghiJKL456mnoPQRst NSURLErrorDomain Code=-1022",
            "http://api.example.com/ NSURLErrorDomain Code=-1022, the password is hunter2",
        ], ["text", "json"])
    func noSecretIsQuoted(_ line: String, _ format: String) throws {
        let run = try log(line + "\n", ["--format", format])
        #expect(run.output.contains("api.example.com") && run.output.contains("(hidden)"), "\(run.output)")
        #expect(!run.output.contains("hunter2"), "\(run.output)")
    }

    /// The name of a value is on the line before, or farther in front than a quotation reaches.
    @Test(arguments: [
        "{\"token\":\n  \"hunter2\", \"error\": \"NSURLErrorDomain Code=-1022\"}",
        #"{"eventMessage": "{\"token\":\n \"hunter2\", \"error\": \"NSURLErrorDomain Code=-1022\"}"}"#,
        "POST {\"password\": \"a phrase of many words that go on hunter2 and end\"} x509: certificate signed by unknown authority"
            + String(repeating: " and so on", count: 10),
    ])
    func noSecretIsQuotedWithoutItsName(_ lines: String) throws {
        for words in [["ats", "log", "-"], ["doctor"]] {
            let run = try ProgramRun(words, input: lines)
            #expect(run.status == 1 && run.output.contains("(hidden)"), "\(run.output)")
            #expect(!run.output.contains("hunter2"), "\(run.output)")
        }
    }

    /// A value may be on the line after its name: lines of blanks behind a name, and a message of them, cost no more than others.
    @Test(arguments: [
        ("{\"a\":\n" + String(repeating: " \n", count: 200_000), "\"}"),
        ("{\"eventMessage\": \"" + String(repeating: "\\n", count: 40_000), "\"}"),
        ("{\"eventMessage\": \"\\\"a\\\":" + String(repeating: " \\n", count: 40_000), "\"}"),
    ])
    func manyBlanksAreReadOnce(_ before: String, _ after: String) throws {
        let run = try log(before + "NSURLErrorDomain Code=-1022" + after + "\n")
        #expect(run.status == 1 && (run.json["failures"] as? [Any])?.count == 1, "\(run.output)")
    }

    @Test func severalFilesAndStandardInputAreOneLog() throws {
        try Self.error.write(toFile: folder.path("a"), atomically: true, encoding: .utf8)
        let run = try ProgramRun(
            ["ats", "log", folder.path("a"), "-", folder.path("a"), "--format", "json"], input: Self.error + "\n")
        #expect((run.json["hosts"] as? [[String: Any]])?.first?["lines"] as? Int == 3)
        let absent = try ProgramRun(["ats", "log", folder.path("absent")])
        #expect(absent.status == 2 && absent.errors.contains("there is no such file"))
        #expect(!absent.errors.contains("sealward doctor TEXT"))
        // A variable of a shell that is not set.
        for words in [["ats", "log", ""], ["doctor", ""]] {
            let unnamed = try ProgramRun(words)
            #expect(unnamed.status == 2 && unnamed.errors.contains("'': "), "\(unnamed.errors)")
        }
        let text = try ProgramRun(["ats", "log", Self.error])
        #expect(text.status == 2 && text.errors.contains("sealward doctor TEXT"), "\(text.errors)")
        #expect(try ProgramRun(["ats", "log"]).status == 64)
    }

    /// A line of 50 MB, and four times as many hosts and loads as the tables hold (with `SEALWARD_LONG=1` a hundred thousand of each in 200 MB):
    /// the memory stays that of the tables. Without their limit, 4,000 of each would take 160 MB.
    @Test(.enabled(if: !BuiltProgram.isSanitized, "a sanitizer has memory of its own"))
    func memoryDoesNotGrowWithTheFile() throws {
        let count = LongForm.isAsked ? 100_000 : 4000
        let script = """
            import resource, subprocess, sys
            with open("report", "wb") as report:
                program = subprocess.Popen([sys.argv[1], "ats", "log", "-", "--format", "json"], stdin=subprocess.PIPE, stdout=report)
                put = lambda text: program.stdin.write(text.encode())
                put("x" * 50_000_000 + "\\n")
                for n in range(\(count)):
                    put(f"Error Domain=NSURLErrorDomain Code=-1200 UserInfo={{NSErrorFailingURLKey=https://h{n}.example/}}\\n")
                    put(f"Task <{n}>.<1> HTTP load failed (error code: -1202 [3:-9843])\\n")
                    put("y" * 1300 + "\\n")
                program.stdin.close()
                print(program.wait(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
            """
        let run = try ProgramRun(
            URL(fileURLWithPath: "/usr/bin/env"), ["python3", "-c", script, BuiltProgram.url.path], in: folder.url)
        let numbers = run.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        #expect(numbers.first == 1, "\(run.output)\(run.errors)")
        #expect(numbers.last.map { $0 < 120_000 } == true, "kilobytes: \(run.output)")
        let data = try Data(contentsOf: URL(fileURLWithPath: folder.path("report")))
        let json = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(json["lines"] as? Int == 3 * count + 1)
        // One of the failures that are listed names no host.
        #expect((json["failures"] as? [Any])?.count == 1024 && (json["hosts"] as? [Any])?.count == 1024)
        #expect(json["beyond"] as? Int == count - 1023)
    }
}

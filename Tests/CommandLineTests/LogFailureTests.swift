// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import sealward

/// `failures` of `sealward ats log`: one failure for each load, with its cause, whatever program wrote the log.
@Suite struct LogFailureTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// In this process, because a program for each of these texts takes ten times as long.
    private func log(_ text: String, _ format: String) async throws -> (status: Int32, output: String) {
        try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: folder.path("log")))
        let run = await CommandCapture.run(["ats", "log", folder.path("log"), "--format", format])
        return (run.status, String(decoding: run.output, as: UTF8.self))
    }

    /// - Parameter status: that of the command; nil for that of causes, or of none where there are no failures.
    private func failures(_ text: String, status: Int32? = nil) async throws -> [[String: Any]] {
        let run = try await log(text, "json")
        let json = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
        let failures = try #require(json?["failures"] as? [[String: Any]], "\(run.output)")
        #expect(run.status == status ?? (failures.isEmpty ? 2 : 1), "\(failures)")
        return failures
    }

    /// `host kind first-code`, in the order of the report.
    private func summary(_ failures: [[String: Any]]) -> [String] {
        failures.map { failure in
            let codes = (failure["because"] as? [[String: Any]])?.compactMap { $0["code"] as? String } ?? []
            return "\(failure["host"] as? String ?? "-") \(failure["kind"] as? String ?? "-") \(codes.first ?? "-")"
        }
    }

    @Test(arguments: lines)
    func eachFormIsRead(_ text: String, _ expected: String) async throws {
        let found = try await failures(text)
        #expect(summary(found) == [expected], "\(found)")
        for failure in found {
            #expect((failure["fix"] as? [String])?.isEmpty == false || (failure["next"] as? [String])?.isEmpty == false)
            #expect((failure["quote"] as? String)?.isEmpty == false)
        }
    }

    @Test(arguments: ["SSL alert number 116", "NSURLErrorDomain Code=-1205", "NSURLErrorDomain Code=-1206"])
    func aSentenceBeginsWithACapitalWithoutAHost(_ line: String) throws {
        let run = try ProgramRun(["ats", "log", "-"], input: line)
        #expect(run.output.contains("cause  The server "), "\(run.output)")
    }

    /// App Attest is no load, and what a number means that Apple documents nowhere is not known.
    @Test func aNumberOfAppAttestThatNobodyDocuments() throws {
        let error = "Error Domain=com.apple.devicecheck.error Code=5 \"(null)\"\n"
        let run = try ProgramRun(["ats", "log", "-"], input: error)
        #expect(run.status == 2 && run.output.hasPrefix("App Attest failed with a number"), "\(run.output)")
        let known = try ProgramRun(["ats", "log", "-"], input: error.replacingOccurrences(of: "=5", with: "=3"))
        #expect(known.status == 1 && known.output.hasPrefix("App Attest or App Check failed"), "\(known.output)")
    }

    /// The client's sentence does not name the DCError: the line that does is the whole answer, and only that one's advice is right.
    @Test func aSentenceBesideItsErrorIsOneFailure() async throws {
        let sentence = "Message: Failed to attest the validity of the generated cryptographic key."
        for (error, code) in [
            ("Error: DCErrorServerUnavailable", "server-unavailable"), ("Error: DCErrorInvalidKey", "invalid-key"),
        ] {
            let found = try await failures("\(error)\nAttempts: 4\n\(sentence)\n")
            #expect(summary(found) == ["- app-attest attest.device.\(code)"], "\(found)")
        }
        let alone = try await failures(sentence)
        #expect((alone.first?["fix"] as? [String])?.first?.contains("after serverUnavailable keep the key") == true)
    }

    @Test(
        "Words that say only that a load failed are no cause, say what to look for, and give way to a line that has one",
        arguments: [
            "TypeError: Network request failed", "[AxiosError: Network Error]",
            "{\"message\":\"Network Error\",\"name\":\"AxiosError\",\"code\":\"ERR_NETWORK\"}",
            "TypeError: Load failed",
            "TypeError: Failed to fetch", "TypeError: fetch failed",
            "Error Domain=NSCocoaErrorDomain Code=3840 \"Invalid value around character 0.\"",
            "Error Domain=com.alamofire.error.serialization.response Code=-1016 \"Request failed: unacceptable content-type: text/html\"",
            "ClientException: XMLHttpRequest error., uri=https://a.example/",
            "{ error: { domain: 'AVFoundationErrorDomain', code: -11800 },",
            "Error Domain=CoreMediaErrorDomain Code=-15622 \"See -[AVPlayerItem errorLog] for 43 events\"",
            "PlatformException(VideoError, Failed to load video: Operation Stopped, null)",
            "XMLHttpRequest cannot load http://192.168.1.5:8080/api due to access control checks.",
            "Http failure response for http://192.168.1.5:3000/api: 0 Unknown Error",
            "error sending request for url (https://api.example.com/): client error (Connect)",
            "Response status code was unacceptable: 503.",
            "DioException [bad response]: This exception was thrown because the response has a status code of 401",
        ])
    func wordsWithoutACause(_ text: String) async throws {
        let found = try await failures(text, status: 2)
        #expect(found.count == 1 && found.first?["certain"] as? Bool == false, "\(found)")
        #expect(summary(found).first?.hasSuffix("network ats.log.cause-not-said") == true, "\(found)")
        #expect((found.first?["fix"] as? [String])?.first?.contains("-1022 is ATS") == true, "\(found)")
        let page = try await log(text, "text").output
        let said = page.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(said.contains("nothing here says why") && !said.contains("no key of"), "\(page)")
        let blocked =
            "App Transport Security has blocked a cleartext HTTP connection to plain.example since it is insecure."
        // A file that begins like one of JSON is one.
        let isJSON = text.hasPrefix("{\"")
        for both in (isJSON ? [] : [text + "\n" + blocked]) + [blocked + "\n" + text] {
            #expect(try await summary(failures(both)) == ["plain.example ats ats.cleartext.blocked"], "\(both)")
        }
        let doctor = try ProgramRun(["doctor", "--format", "json", "-"], input: text)
        #expect(doctor.status == 2 && doctor.output.contains("ats.log.cause-not-said"), "\(doctor.output)")
    }

    @Test(
        "What .NET and Android say of one exception is one failure",
        arguments: [
            """
            System.Net.Http.HttpRequestException: The SSL connection could not be established, see inner exception.
             ---> System.Security.Authentication.AuthenticationException: Authentication failed, see inner exception.
             ---> Interop+AndroidCrypto+SslException: Exception of type 'Interop+AndroidCrypto+SslException' was thrown.
            """,
            """
            Javax.Net.Ssl.SSLHandshakeException: java.security.cert.CertPathValidatorException: Trust anchor for certification path not found.
            \(String(repeating: "   at Java.Interop.JniEnvironment.CallVoidMethod()\n", count: 20))
              --- End of managed Javax.Net.Ssl.SSLHandshakeException stack trace ---
            \(String(repeating: "   at com.android.okhttp.internal.io.RealConnection.connectTls(RealConnection.java:196)\n", count: 20))
            Caused by: java.security.cert.CertPathValidatorException: Trust anchor for certification path not found.
            """,
        ])
    func oneExceptionIsOneFailure(_ text: String) async throws {
        #expect(try await summary(failures(text)) == ["- not-apple ats.trust.unknown-root"])
    }

    @Test("Each error of an array is one, with its own host; what stands in one error is not taken apart")
    func arraysOfErrors() async throws {
        func error(_ code: Int, _ url: String) -> String {
            #"{"code":\#(code),"domain":"NSURLErrorDomain","userInfo":{"a":[1],"NSErrorFailingURLStringKey":"\#(url)"}}"#
        }
        let two = [error(-1022, "http://a.example/]"), error(-1003, "https://b.example/")].joined(separator: ",")
        for text in ["[\(two)]", #"{"errors": [ \#(two)], "more": {}}"#] {
            #expect(
                try await summary(failures(text)).sorted() == [
                    "a.example ats ats.cleartext.blocked", "b.example network ats.net.dns",
                ])
        }
        let one = error(-1200, "https://a.example/").dropLast() + #","details":[{"x":1},{"y":2}]}"#
        #expect(try await summary(failures("[\(one)]")).count == 1)
    }

    @Test(
        "A host on a line of its own belongs to the error above or below it, and to no other",
        arguments: [
            (
                """
                I/flutter ( 12): Error: HandshakeException: Handshake error in client (OS Error:
                I/flutter ( 12): \tCERTIFICATE_VERIFY_FAILED: certificate has expired(handshake.cc:393))
                I/flutter ( 12): uri: https://a.example/v1
                """, "a.example not-apple ats.trust.expired"
            ),
            (
                "fail: Api[0]\n GET https://a.example/items failed\n System.Net.Http.HttpRequestException: The SSL connection could not be established, see inner exception.\n  ---> AuthenticationException: The remote certificate is invalid according to the validation procedure: RemoteCertificateNameMismatch",
                "a.example not-apple ats.trust.wrong-host"
            ),
            (
                "System.Net.Http.HttpRequestException: Connection refused (a.example:5001)\n ---> System.Net.Sockets.SocketException (61): Connection refused",
                "a.example network ats.net.refused"
            ),
            (
                "Foundation.NSErrorException: Error Domain=NSURLErrorDomain Code=-1202 \"x\"\n UserInfo={NSLocalizedDescription=x,\n NSErrorFailingURLStringKey=https://a.example/}",
                "a.example trust ats.trust.unknown-root"
            ),
            (
                "Non-secure network connections disabled in Player Settings\nInvalidOperationException: Insecure connection not allowed\nUrl: http://a.example/score",
                "a.example not-apple ats.cleartext.own-rule"
            ),
            // Done, too far away, or of a load that is known
            (
                "SocketException: Connection refused, errno = 61, address = a.example, port = 80\nuri: https://a.example/\nInvalidOperationException: Insecure connection not allowed",
                "a.example network ats.net.refused, - not-apple ats.cleartext.own-rule"
            ),
            (
                "GET https://b.example/logo.png 200\nInvalidOperationException: Insecure connection not allowed",
                "- not-apple ats.cleartext.own-rule"
            ),
            (
                "uri: https://b.example/\na\nb\nc\nInvalidOperationException: Insecure connection not allowed",
                "- not-apple ats.cleartext.own-rule"
            ),
            (
                "Demo[1:a] Task <A>.<1> finished with error [-1022] Error Domain=NSURLErrorDomain Code=-1022\nuri: https://b.example/",
                "- ats ats.cleartext.blocked"
            ),
        ])
    func hostsOnTheirOwnLines(_ text: String, _ expected: String) async throws {
        #expect(try await summary(failures(text)).joined(separator: ", ") == expected)
    }

    @Test(
        "React Native names the address of its server below or above what keeps it from there",
        arguments: [true, false])
    func addressOfMetro(_ isAbove: Bool) async throws {
        let error =
            "The resource could not be loaded because the App Transport Security policy requires the use of a secure connection."
        let box = """
            Could not connect to development server.

            Ensure the following:
            - Node server is running and available on the same network - run 'npm start' from react-native root
            - Node server URL is correctly set in AppDelegate
            - WiFi is enabled and connected to the same network as the Node Server

            URL: http://metro.corp.example:8081/index.bundle?platform=ios&dev=true&minify=false

            """
        let found = try await failures(isAbove ? box + "\n" + error : error + "\n" + box)
        #expect(summary(found) == ["metro.corp.example ats ats.cleartext.blocked"], "\(found)")
    }

    @Test("The place of a script of React Native is not where it loads from")
    func scriptsAreNoHosts() throws {
        let run = try ProgramRun(
            ["ats", "log", "-", "--format", "json"],
            input:
                "TypeError: Network request failed at onerror (http://localhost:8081/index.bundle?platform=ios:1:2)\n")
        #expect((run.json["failures"] as? [[String: Any]])?.first?["host"] is NSNull, "\(run.output)")
    }

    @Test("Lines of two loads that fail at once stay with their own load, by the number of the stream and the process")
    func linesAreJoined() async throws {
        let found = try await failures(
            """
            Demo[1:a] Connection 5: strict TLS Trust evaluation failed(-9802)
            Demo[1:a] Connection 6: received ECONNRESET with incomplete TLS handshake - generating errSSLClosedNoNotify
            Demo[1:a] Connection 6: encountered error(3:-9816)
            Other[2:b] Connection 5: system TLS Trust evaluation failed(-9802)
            Demo[1:a] Task <A>.<1> finished with error [-1200] Error Domain=NSURLErrorDomain Code=-1200 "x" UserInfo={NSErrorFailingURLKey=https://cut.example/, _kCFStreamErrorCodeKey=-9816}
            Demo[1:a] Task <B>.<1> finished with error [-1200] Error Domain=NSURLErrorDomain Code=-1200 "x" UserInfo={NSErrorFailingURLKey=https://strict.example/, _kCFStreamErrorCodeKey=-9802}
            """)
        let hosts = Dictionary(uniqueKeysWithValues: found.map { ($0["host"] as? String ?? "-", $0) })
        #expect((hosts["cut.example"]?["quote"] as? String)?.contains("ECONNRESET") == true, "\(found)")
        #expect((hosts["strict.example"]?["quote"] as? String)?.contains("strict TLS") == true, "\(found)")
        #expect(found.count == 2, "\(found)")
    }

    /// What a server does that has only old versions or suites: an exception made it load (forums.developer.apple.com/message/57669).
    @Test(arguments: [
        "Error Domain=NSURLErrorDomain Code=-1200 \"x\" UserInfo={_kCFStreamErrorCodeKey=-9806, NSErrorFailingURLKey=https://a.example/}",
        "[boringssl] boringssl_context_handle_fatal_alert(1991) [C1.1:2][0x1] read alert, level: fatal, description: close notify",
        "received ECONNRESET with incomplete TLS handshake - generating errSSLClosedNoNotify",
    ])
    func aCutHandshakeMayBeATS(_ line: String) throws {
        let text = try ProgramRun(["ats", "log", "-"], input: line).output
        #expect(text.contains("ats.net.") && text.contains("then an exception helps"), "\(text)")
        #expect(!text.contains("no key of NSAppTransportSecurity"), "\(text)")
    }

    /// ATS judges loads of URLs, and no sockets: where one is named, no exception is advised. One failure, whatever its lines name.
    @Test(arguments: [
        ("Error Domain=NSOSStatusErrorDomain Code=-9807 \"(null)\"", true),
        ("CFNetwork SSLHandshake failed (-9806)\nSocketStream write error [0x600000165040]: 3 -9806", true),
        (
            "boringssl_context_error_print(1862) ctx 0x6: OPENSSL_internal:CERTIFICATE_VERIFY_FAILED:/BuildRoot/ssl\nerror: Optional(-9858: Optional(handshake failed))",
            true
        ),
        ("Error Domain=MCOErrorDomain Code=4 \"The certificate for this server is invalid.\"", true),
        (
            "CFNetwork SSLHandshake failed (-9807)\nError Domain=MCOErrorDomain Code=1 \"A stable connection to the server could not be established.\"",
            true
        ),
        ("NSURLSession/NSURLConnection HTTP load failed (kCFStreamErrorDomainSSL, -9807)", false),
        (
            "Error Domain=NSURLErrorDomain Code=-1202 UserInfo={NSUnderlyingError=0x1 {Error Domain=NSOSStatusErrorDomain Code=-9807}}",
            false
        ),
    ])
    func socketsAreNoMatterOfATS(_ lines: String, _ isSocket: Bool) throws {
        let text = try ProgramRun(["ats", "log", "-"], input: lines).output
        #expect(text.contains("no key of NSAppTransportSecurity changes this") == isSocket, "\(text)")
        #expect(text.contains("NSExceptionDomains") != isSocket, "\(text)")
        #expect(text.components(separatedBy: "    cause").count == 2, "\(text)")
    }

    /// Words of OpenSSL in the lines of a library that brings it: the advice is for that library. A quotation does not cut words.
    @Test(arguments: [
        (
            "E0509 12:01:50.737562000 123145499365376 ssl_transport_security.cc:1407] Handshake failed with fatal error SSL_ERROR_SSL: error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED.",
            "gRPC or SwiftNIO does TLS"
        ),
        (
            "Handshake error in client (OS Error: Certificate Verify Failed Application Verification Failure Handshake.cc:393)",
            "Dart (Flutter) does TLS"
        ),
        ("Curl error 60: Cert verify failed. Certificate has expired. UnityTls error code: 7", "Unity does TLS"),
    ])
    func theLibraryIsNamed(_ line: String, _ words: String) throws {
        let text = try ProgramRun(["ats", "log", "-"], input: line).output
        #expect(text.contains(words) && !text.contains("--cacert"), "\(text)")
        #expect(text.contains("log    \"\(line.prefix(20))") || text.contains("log    \"...routines:"), "\(text)")
    }

    /// A root that is installed brings no cipher suite and no pin.
    @Test(arguments: ["SEC_E_ALGORITHM_MISMATCH", "curl: (90) SSL: public key does not match pinned public key"])
    func rootsAreForWhomNoRootIsTrusted(_ line: String) throws {
        let text = try ProgramRun(["ats", "log", "-"], input: line).output
        #expect(text.contains("does TLS with a library of its own") && !text.contains("root of your own"), "\(text)")
    }

    @Test func aResetAloneDoesNotSayWhenItCame() throws {
        let text = try ProgramRun(
            ["ats", "log", "-"], input: "The operation could not be completed. Connection reset by peer"
        ).output
        #expect(text.contains("ats.net.reset") && !text.contains("handshake"), "\(text)")
    }

    @Test func flutterReadsTheDictionaryByItself() throws {
        let socket = "SocketException: Insecure socket connections are disallowed by platform: a.example"
        #expect(try ProgramRun(["ats", "log", "-"], input: socket + "\n").output.hasPrefix("a.example: "))
        let dart = "Bad state: Insecure HTTP is not allowed by platform: http://a.example/"
        let android = "Cleartext HTTP traffic to a.example not permitted"
        for (line, isOther) in [(dart, false), (android, true)] {
            let text = try ProgramRun(["ats", "log", "-"], input: line).output
            #expect(text.contains("ats.cleartext.own-rule"), "\(text)")
            #expect(text.contains("no key of NSAppTransportSecurity changes this") == isOther, "\(text)")
        }
    }

    /// A root that is installed does not make a certificate name another host.
    @Test func aWrongNameIsNoMatterOfRoots() async throws {
        let line = "NSURLConnection/CFURLConnection HTTP load failed (kCFStreamErrorDomainSSL, -9843)"
        let fix = try await failures(line).first?["fix"] as? [String] ?? []
        #expect(fix.contains { $0.contains("names this host") } && !fix.contains { $0.contains("root") }, "\(fix)")
    }

    @Test func aWebViewHasAKeyOfItsOwn() async throws {
        let line = "WebPageProxy::didFailProvisionalLoadForFrame: frameID=1, domain=NSURLErrorDomain, code=-1022"
        let fix = try await failures(line).first?["fix"] as? [String]
        #expect(fix?.contains { $0.contains("NSAllowsArbitraryLoadsInWebContent") } == true, "\(fix ?? [])")
    }

    @Test(
        "The number of cleartext for an https URL is a redirect, and the key that is named is one that counts for the host"
    )
    func whatPermitsCleartext() async throws {
        func failure(_ url: String) async throws -> [String: Any]? {
            try await failures("Error Domain=NSURLErrorDomain Code=-1022 \"x\" UserInfo={NSErrorFailingURLKey=\(url)}")
                .first
        }
        let found = try await failure("https://a.example/x")
        let redirected = try #require(found)
        #expect(summary([redirected]) == ["a.example ats ats.http.redirect-blocked"], "\(redirected)")
        for (host, key) in [
            ("a.example", "NSExceptionDomains > a.example"), ("192.168.1.5", "NSAllowsLocalNetworking"),
            ("100.64.1.2", "NSExceptionDomains > 100.64.0.0/10"), ("nas.local", "NSAllowsLocalNetworking"),
        ] {
            let fix = try await failure("http://\(host)/")?["fix"] as? [String]
            #expect(fix?.contains { $0.contains(key) } == true, "\(fix ?? [])")
        }
        let local = try await failure("http://192.168.1.5/")?["fix"] as? [String]
        #expect(local?.contains { $0.contains("> 192.168.1.5 >") } == false, "\(local ?? [])")
        let socket = try await failure("ws://a.example:8080/s")
        let advice = "\(socket?["fix"] ?? "") \(socket?["next"] ?? "")"
        #expect(advice.contains("serve wss there") && advice.contains("check ws://a.example:8080/"), "\(advice)")
        // No key is advised for what no system is known to read, and no command that refuses it.
        let misspelled = try await failure("http://192.168.1.300/")
        #expect(misspelled?["host"] as? String == "192.168.1.300")
        let said = "\(misspelled?["fix"] ?? "") \(misspelled?["next"] ?? "")"
        #expect(said.contains("four numbers from 0 to 255") && !said.contains("check http"), "\(said)")
        #expect(!said.contains("NSExceptionDomains"), "\(said)")
    }

    @Test("The computer's address of Android's emulator is named also where ATS blocks it")
    func theAddressOfTheEmulator() async throws {
        let found = try await failures(
            "Error Domain=NSURLErrorDomain Code=-1022 \"x\" UserInfo={NSErrorFailingURLKey=http://10.0.2.2:5000/}")
        let fix = found.first?["fix"] as? [String]
        #expect(fix?.contains { $0.contains("only in Android's emulator") } == true, "\(found)")
    }

    @Test("A load that the app cancelled is no answer where another failed")
    func cancelledLoadsAreNoise() async throws {
        let found = try await failures(
            """
            Error Domain=NSURLErrorDomain Code=-999 "cancelled" UserInfo={NSErrorFailingURLKey=https://old.example/}
            Error Domain=NSURLErrorDomain Code=-1022 "x" UserInfo={NSErrorFailingURLKey=http://plain.example/}
            """)
        #expect(summary(found) == ["plain.example ats ats.cleartext.blocked"], "\(found)")
    }

    @Test("What React Native says of its server is not another failure beside the block of ATS that it is about")
    func theServerOfReactNative() async throws {
        let found = try await failures(
            """
            App Transport Security has blocked a cleartext HTTP (http://) resource load since it is insecure.
            Could not connect to development server.
            """)
        #expect(summary(found) == ["- ats ats.cleartext.blocked"], "\(found)")
    }

    @Test("Of several things that Security names none is left out, and a root that is not trusted decides")
    func allReasonsAreNamed() async throws {
        let found = try await failures(
            """
            Trust evaluate failure: [leaf AnchorTrusted SSLHostname]
            boringssl_session_errorlog(224) [C1:2] Error [ATS Violation]
            nw_connection [C1] reporting state cancelled error ATS violation
            Task <A>.<1> finished with error [-1200] Error Domain=NSURLErrorDomain Code=-1200 "x" UserInfo={NSErrorFailingURLKey=https://100.101.102.103:8443/}
            """)
        #expect(summary(found) == ["100.101.102.103 trust ats.trust.unknown-root"], "\(found)")
        let failure = try #require(found.first)
        let cause = (failure["because"] as? [[String: Any]])?.first?["message"] as? String
        #expect(cause?.contains("Besides, the certificate names other hosts") == true, "\(failure)")
        let fix = failure["fix"] as? [String] ?? []
        #expect(fix.contains("get a certificate that names this host"), "\(fix)")
        #expect(fix.contains { $0.contains("NSExceptionAllowsInsecureHTTPLoads") }, "\(fix)")
    }

    @Test func aChainInTheLogDecides() async throws {
        let found = try await failures(
            """
            Task <A>.<1> finished with error [-1202] Error Domain=NSURLErrorDomain Code=-1202 "x" UserInfo={NSErrorPeerCertificateChainKey=(
                "<cert(0x7f8b3b00a600) s: self.example i: self.example>"
            ), NSErrorFailingURLKey=https://self.example/, _kCFStreamErrorCodeKey=-9807}
            """)
        #expect(summary(found) == ["self.example trust ats.trust.self-signed"])
        #expect((found.first?["because"] as? [Any])?.count == 1)
    }

    private static func transcript(_ passing: [String], header: Bool = true) -> String {
        let names = [
            "ATS Default Connection", "Allow All Loads", "TLSv1.3", "TLSv1.2", "TLSv1.1", "TLSv1.0",
            "Disabling Perfect Forward Secrecy", "Disabling Perfect Forward Secrecy and Allowing Insecure HTTP",
        ]
        let rows = names.map { "---\n\($0)\nResult : \(passing.contains($0) ? "PASS" : "FAIL")\n---\n" }
        return "Starting ATS Diagnostics\n"
            + (header
                ? "Configuring ATS Info.plist keys and displaying the result of HTTPS loads to https://a.example/.\n"
                : "")
            + "Configuring TLS exceptions for a.example\n" + rows.joined(separator: "\n")
    }

    @Test(
        "Rows of nscurl are evidence",
        arguments: [
            (["Allow All Loads", "TLSv1.0"], "a.example tls ats.tls.version-too-low"),
            (
                [
                    "Allow All Loads", "Disabling Perfect Forward Secrecy",
                    "Disabling Perfect Forward Secrecy and Allowing Insecure HTTP",
                ],
                "a.example tls ats.tls.no-forward-secrecy"
            ),
            (
                ["Allow All Loads", "Disabling Perfect Forward Secrecy and Allowing Insecure HTTP"],
                "a.example trust ats.trust.unknown-root"
            ),
            ([], "a.example network ats.net.timeout"),
        ])
    func rowsOfNSCurl(_ passing: [String], _ expected: String) async throws {
        for header in [true, false] {
            let text = Self.transcript(passing, header: header)
            // As a page shows it, which has made rules and headings of the lines between.
            for text in [text, text.replacing("---\n", with: "").replacing("Result", with: "## Result")] {
                let found = try await failures(text)
                #expect(summary(found) == [expected], "\(found)")
            }
        }
    }

    @Test("Where no row of nscurl passes, the certificate may be why: no row has code of an app that accepts it")
    func noRowPasses() throws {
        let run = try ProgramRun(["ats", "log", "-"], input: Self.transcript([]))
        for code in ["ats.trust.unknown-root", "ats.trust.expired", "ats.tls.client-certificate-required"] {
            #expect(run.output.contains(code) && !run.output.contains("not ATS"), "\(run.output)")
        }
        #expect(!run.output.contains("no key of NSAppTransportSecurity changes this"), "\(run.output)")
    }

    @Test("The numbers of plain trust say that the dictionary permits code already, as check does")
    func codeWherePlainTrustRefuses() throws {
        for (number, stream, sentence) in [
            (-1202, -9813, "delegate is enough where the dictionary permits that"),
            (-1200, -9802, ": neither helps alone"),
        ] {
            let line =
                "Error Domain=NSURLErrorDomain Code=\(number) \"x\" UserInfo={NSErrorFailingURLKey=https://a.example/, _kCFStreamErrorCodeKey=\(stream)}"
            let run = try ProgramRun(["ats", "log", "-", "--format", "json"], input: line)
            #expect(
                run.output.contains(sentence) && run.output.contains("a.example > NSExceptionAllows"), "\(run.output)")
        }
        // The key is the one that check and lint name.
        for (host, key) in [
            ("100.64.1.2", "NSExceptionDomains > 100.64.0.0/10 >"), ("nas.local", "NSAllowsLocalNetworking"),
        ] {
            let line =
                "Error Domain=NSURLErrorDomain Code=-1200 \"x\" UserInfo={NSErrorFailingURLKey=https://\(host)/, _kCFStreamErrorCodeKey=-9802}"
            let run = try ProgramRun(["ats", "log", "-", "--format", "json"], input: line)
            #expect(run.output.contains("its delegate and \(key)"), "\(run.output)")
        }
    }

    @Test(
        "A transcript names the exception that it tried",
        arguments: [
            ("TLSv1.0", "NSExceptionMinimumTLSVersion = TLSv1.0"),
            ("Disabling Perfect Forward Secrecy", "NSExceptionRequiresForwardSecrecy = NO"),
        ])
    func aTranscriptNamesTheException(_ row: String, _ key: String) async throws {
        let found = try await failures(Self.transcript(["Allow All Loads", row]))
        let fix = found.first?["fix"] as? [String] ?? []
        #expect(fix.contains { $0.contains(key) }, "\(found)")
    }

    @Test func aTranscriptThatPassesIsHealth() throws {
        let run = try ProgramRun(
            ["ats", "log", "-"], input: Self.transcript(["ATS Default Connection", "Allow All Loads"]))
        #expect(run.status == 0 && run.output.contains("under the default rules"), "\(run.output)")
    }
}

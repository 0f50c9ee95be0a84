// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import PropertyLists
import TLSModel
import TestSupport
import Testing
import Vocabulary

@testable import ATSDiagnostics

@Suite struct NSCurlTextTests {
    /// The stored outputs of the real tool, beside the checkout.
    static let golden = LoopbackServers.repository + "/../shared/golden/nscurl/aliyun-2016-allpass.verbose.txt"
    static let hasGolden = FileManager.default.fileExists(atPath: golden)

    @Test(.enabled(if: hasGolden, "the stored nscurl outputs are not beside the checkout"))
    func verboseTextOfAPassingServerIsNSCurlsByteForByte() async throws {
        let stored = try String(contentsOfFile: Self.golden, encoding: .utf8)
        let server = ModelServer(
            versions: [.tls12],
            chain: ModelServer.chain(
                leaf: ModelServer.certificate("CN=a", issuer: "CN=Root", names: ["www.aliyun.com"])))
        let report = try await TargetDiagnosis.of(server, os: "macos10.11", target: "https://www.aliyun.com")
        let text = NSCurlText.render(report, url: "https://www.aliyun.com", verbose: true)
        #expect(text == stored)
    }

    @Test func quietTextHasTheHintAndNoDictionaries() async throws {
        let report = try await TargetDiagnosis.of(
            ModelServer(suites: [.rsaWithAES128GCMSHA256]), os: "macos10.11", target: "https://apple.example")
        let text = NSCurlText.render(report, url: "https://apple.example", verbose: false)
        let head = """
            Starting ATS Diagnostics

            Configuring ATS Info.plist keys and displaying the result of HTTPS loads to https://apple.example.
            A test will "PASS" if URLSession:task:didCompleteWithError: returns a nil error.
            Use '--verbose' to view the ATS dictionaries used and to display the error received in URLSession:task:didCompleteWithError:.
            ================================================================================

            Default ATS Secure Connection
            ---
            ATS Default Connection
            Result : FAIL
            ---

            ================================================================================

            Allowing Arbitrary Loads

            ---
            Allow All Loads
            """
        #expect(text.hasPrefix(head))
        #expect(!text.contains("ATS Dictionary:"))
        #expect(text.hasSuffix("---\n\n" + String(repeating: "=", count: 80) + "\n"))
    }

    @Test func verboseFailureHasTheErrorLineOfNSCurl() async throws {
        let chain = ModelServer.chain(
            leaf: ModelServer.certificate("CN=a248.e.example", issuer: "CN=Root", names: ["a248.e.example"]))
        let report = try await TargetDiagnosis.of(ModelServer(chain: chain))
        let text = NSCurlText.render(report, url: "https://api.example.com", verbose: true)
        let wanted =
            "Error : Error Domain=NSURLErrorDomain Code=-1200 \"An SSL error has occurred and a secure connection to the server cannot be made.\" UserInfo="
        #expect(text.split(separator: "\n").contains { $0.hasPrefix(wanted) })
    }

    @Test("What is undetermined is FAIL with the reason, which a log of it has too", arguments: [true, false])
    func undeterminedIsFailHere(_ verbose: Bool) async throws {
        for (failure, code) in [(ConnectionFailure.timeout, Code.netTimeout), (.reset, .netReset)] {
            let report = try await TargetDiagnosis.of(ModelServer(failure: failure))
            #expect(report.results.allSatisfy { $0.result == .undetermined })
            let text = NSCurlText.render(report, url: "https://api.example.com", verbose: verbose)
            #expect(text.components(separatedBy: "Result : FAIL\n").count == 17)
            let cause = try #require(report.decisive?.because.first)
            #expect(text.components(separatedBy: "Undetermined : \(cause.message) [\(code)]\n").count == 17, "\(text)")
            var log = DeviceLog()
            log.read(Array(text.utf8))
            let failures = log.report().failures
            #expect(failures.flatMap { $0.because.map(\.description) } == [cause.description], "\(failures)")
        }
    }

    @Test("A row that is disputed is no failure of the server in a log")
    func disputedRow() {
        let text = """
            Starting ATS Diagnostics
            Configuring ATS Info.plist keys and displaying the result of HTTPS loads to https://a.example/.
            ---
            ATS Default Connection
            Undetermined : CN=Root has an RSA key of 1024 bits. Whether it counts is disputed. [ats.trust.weak-key]
            Result : FAIL
            ---
            ---
            Disabling Perfect Forward Secrecy
            Result : PASS
            ---
            """
        var log = DeviceLog()
        log.read(Array(text.utf8))
        let report = log.report()
        #expect(report.failures.map { $0.because.map(\.code) } == [[.trustWeakKey]] && !report.hasFindings)
        #expect(report.text.contains("whether the load fails is not known"), "\(report.text)")
    }

    @Test(arguments: [
        ("abc_1$", "abc_1$"), ("", "\"\""), ("a.b", "\"a.b\""), ("a-b", "\"a-b\""), ("a b", "\"a b\""),
        ("a\"b", "\"a\\\"b\""),
        ("a\\b", "\"a\\\\b\""), ("ä", "\"\\U00e4\""), ("a\nb", "\"a\\nb\""),
    ])
    func quotesAsOldPropertyListsDo(_ text: String, _ wanted: String) {
        #expect(PropertyListValue.string(text).oldStyleDescription == wanted)
    }

    @Test func describesArraysAndEmptyDictionaries() {
        let value = PropertyListValue.dictionary(["b": .dictionary([:]), "a": .array([.integer(1), .string("x y")])])
        #expect(
            value.oldStyleDescription
                == "{\n    a =     (\n        1,\n        \"x y\"\n    );\n    b =     {\n    };\n}")
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import AppTransportSecurity
import Formats
import Foundation
import PropertyLists
import TLSModel
import Testing
import Vocabulary

@testable import ATSDiagnostics

/// A cause that does not exist: one row of the table brings its fix into every form.
@Suite struct NewCauseTests {
    private static let code = Code(rawValue: "ats.tls.moon-phase")
    private static let row = CauseTable.Row(
        code, at: .handshake, "the server speaks TLS at full moon only", .server, "wait for the full moon",
        setting: .groups, exception: .insecureHTTPLoads)
    private static let cause = Cause(code, "The moon is new.")

    private func withRow<T>(_ body: () throws -> T) rethrows -> T {
        try CauseTable.$current.withValue(CauseTable(CauseTable.current.rows + [Self.row]), operation: body)
    }

    /// Where the load ended decides what a refused load means, whatever the code is called.
    @Test(arguments: [(CauseTable.Stage.handshake, false), (.trust, true)])
    func aRefusedLoadCountsByItsStage(_ stage: CauseTable.Stage, _ passes: Bool) async throws {
        let row = CauseTable.Row("moon.new", at: stage, "no moon", .server, "wait")
        let refused = LoadTrace(
            places: [try LoadURL("https://api.example.com:443/")],
            end: .handshakeRefused(.secureConnectionFailed(-9824), [Cause("moon.new", "The moon is new.")]))
        let report = try await CauseTable.$current.withValue(CauseTable(CauseTable.current.rows + [row])) {
            try await TargetDiagnosis.of(ModelServer(), load: refused)
        }
        #expect(report.decisive?.result == (passes ? .pass : .fail))
    }

    private func report() throws -> TargetReport {
        let configuration = try #require(DiagnosticConfiguration.all(host: "moon.example", supportsTLS13: true).first)
        return TargetReport(
            target: "https://moon.example:443/",
            host: "moon.example",
            port: 443,
            address: nil,
            results: [
                ConfigurationResult(
                    configuration: configuration, sdk: nil, result: .fail, error: nil, console: [],
                    because: [Self.cause], notes: [])
            ],
            secure: nil,
            smallestException: .noneHelps,
            proposal: nil,
            causeBehindCertificate: nil,
            facts: nil,
            hello: AnsweredHello(),
            status: nil,
            handshakes: 1,
            elapsed: .zero,
            notes: [],
            instant: Date(timeIntervalSince1970: 1_795_262_400)
        )
    }

    @Test func textNamesTheFix() throws {
        let report = try report()
        let text = withRow { CheckText(colored: false, verbose: false).render(report) }
        #expect(text.contains("ats.tls.moon-phase: The moon is new.") && text.contains("wait for the full moon"))
        #expect(!CheckText(colored: false, verbose: false).render(report).contains("wait for the full moon"))
    }

    @Test func jsonNamesTheFix() {
        #expect(withRow { Self.cause.json.member("fix")?.text } == "wait for the full moon")
    }

    @Test func pageHasTheFixAndTheLineOfTheServer() throws {
        let report = try report()
        let html = withRow {
            let target = CheckPage.Target(report, on: .standard)
            return CheckPage(version: "1", targets: [target], at: report.instant).html()
        }
        #expect(html.contains("wait for the full moon") && html.contains("ssl_ecdh_curve"))
    }

    @Test func draftForAppReviewNamesTheFix() throws {
        let plist = """
            <plist><dict><key>NSAppTransportSecurity</key><dict><key>NSExceptionDomains</key><dict><key>moon.example</key><dict>
            <key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict></dict></dict></dict></plist>
            """
        let evidence = """
            {"schema":"sealward.ats-check/1","os":"macos26","targets":[{"target":"https://moon.example:443/","host":"moon.example","port":443,
            "tests":[{"name":"ATS Default Connection","result":"FAIL","because":[{"code":"ats.tls.moon-phase","message":"The moon is new."}]}]}]}
            """
        let subject = LintSubject(path: "Info.plist", document: try PlistReader.read(Array(plist.utf8)))
        let draft = JustificationDraft([Linter.lint(subject)], evidence: try CheckEvidence(json: Array(evidence.utf8)))
        #expect(withRow { draft.text() }.contains("wait for the full moon"))
    }

    @Test func logOfADeviceNamesTheFix() {
        let evidence = LogEvidence(
            place: nil, urlError: -1200, streamError: nil, quote: "moon", line: 7, lines: 1)
        #expect(
            withRow { LogFailure(evidence, .tls, [Self.code], "New moon.").text }.contains(
                "fix    wait for the full moon"))
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import TLSModel
import Testing

@testable import ATSDiagnostics

@Suite struct CheckPageTests {
    private static func page(_ server: ModelServer, target: String = ModelServer.host) async throws -> String {
        let report = try await TargetDiagnosis.of(server, target: target)
        let other = try await TargetDiagnosis.of(ModelServer(), target: "https://other.example/<x>")
        let targets = [report, other].map { CheckPage.Target($0, on: .standard) }
        return CheckPage(version: "1.2.3", targets: targets, at: ModelServer.instant).html()
    }

    @Test func hasEveryPart() async throws {
        let past = ModelServer.certificate(
            "CN=old", issuer: "CN=Root", notAfter: ModelServer.instant.addingTimeInterval(-3600))
        let html = try await Self.page(ModelServer(versions: [.tls11], chain: ModelServer.chain(leaf: past)))
        for part in [
            "2 targets, ", "judged on 2026-09-21", "Hosts by system", "<span class=\"tag fail\">FAIL</span>",
            "ats.tls.version-too-low", "<span class=\"dim\">Fix:</span> ", "<summary>Configurations: ",
            "Certificates by expiry", "CN=Root (", "2026-09-20", "ssl_protocols TLSv1.2 TLSv1.3;",
            "listen 443 ssl;", "other.example:443/",
        ] { #expect(html.contains(part), "\(part)") }
        #expect(!html.contains("<script") && !html.contains("src=") && !html.contains("href=") && !html.contains("<x>"))
    }

    @Test func showsTheSmallestChangeAndWhatExpiresSoon() async throws {
        let html = try await Self.page(Self.withoutForwardSecrecy(leafEnds: 86_400 * 20))
        for part in [
            "class=\"soon\"", "class=\"smallest\"", "smallest that works", "The smallest change",
            "class=\"ins\">+ ", "NSExceptionRequiresForwardSecrecy",
        ] { #expect(html.contains(part), "\(part)") }
        #expect(!html.contains("outside"))
    }

    @Test(
        "Markdown has the fix and what helps beside it, for the app's own dictionary too, and claims nothing that is not known"
    )
    func markdownSaysWhatHelps() async throws {
        func markdown(_ server: ModelServer, _ app: ATSDictionary? = nil) async throws -> String {
            CheckDocuments.markdown(try await TargetDiagnosis.of(server, app: app))
        }
        let secret = try await markdown(ModelServer(versions: [.tls12], suites: [.rsaWithAES128GCMSHA256]))
        #expect(secret.contains("- fix: enable ECDHE suites") && secret.contains("- smallest exception: `{\"NSExc"))
        var strict = ATSDictionary()
        strict.exceptions = [ModelServer.host: ExceptionEntry(minimumTLSVersion: .tls13)]
        let tooStrict = try await markdown(ModelServer(versions: [.tls12]), strict)
        #expect(
            tooStrict.contains("- or: NSExceptionDomains.\(ModelServer.host).NSExceptionMinimumTLSVersion = TLSv1.2"))
        #expect(!tooStrict.contains("smallest exception"), "\(tooStrict)")
        let silent = try await markdown(ModelServer(failure: .refused))
        #expect(silent.contains("- fix: ") && !silent.contains("exception"), "\(silent)")
        #expect(try await markdown(ModelServer()).contains("- smallest exception: `{}`"))
    }

    @Test("Each system has the change that helps on it, and nothing is proposed where the app's dictionary loads")
    func changesOfSeveralSystems() async throws {
        func report(_ server: ModelServer, _ app: ATSDictionary?) async throws -> TargetReport {
            let profiles = ["ios18", "ios26"].compactMap { OSProfile.named($0) }
            let diagnosis = TargetDiagnosis(
                profile: try #require(profiles.first), appDictionary: app, systems: profiles, probing: server,
                instant: ModelServer.instant)
            return await diagnosis.diagnose(try CheckTarget(ModelServer.host))
        }
        func page(_ report: TargetReport) -> String {
            let target = CheckPage.Target(report, on: .standard)
            return CheckPage(version: "1", targets: [target], at: ModelServer.instant).html()
        }
        let old = ModelServer(versions: [.tls11], suites: [.ecdheRSAWithAES128CBCSHA])
        let failing = try await report(old, nil)
        for part in [
            "Why on iOS 18</h3>", "Why on iOS 26</h3>", "The smallest change to the Info.plist on iOS 18</h3>",
            "The Info.plist on iOS 26</h3>", "no exception helps",
        ] { #expect(page(failing).contains(part), "\(part)") }
        // Text and Markdown say the same of each.
        let fix = "enable TLS 1.2 or 1.3 on the server"
        let matrix = CheckText(colored: false, verbose: false).matrix(failing)
        for part in ["\n    ios18\n", "\n    ios26\n", "or     no exception helps", "fix    \(fix)"] {
            #expect(matrix.contains(part), "\(part): \(matrix)")
        }
        #expect(matrix.contains("or     NSExceptionDomains.\(ModelServer.host).NSExceptionMinimumTLSVersion = TLSv1.1"))
        #expect(CheckDocuments.markdown(failing).contains("iOS 26:\n\n- \(fix)\n- or: no exception helps\n"))
        // What is the same on both is said once.
        let expired = try await report(Self.withoutForwardSecrecy(leafEnds: -3600), nil)
        #expect(page(expired).contains("Why on iOS 18, iOS 26</h3>"))
        #expect(CheckText(colored: false, verbose: false).matrix(expired).contains("\n    ios18, ios26\n"))
        // Sentences that differ in the name of the system alone are one.
        let both = ["ios26", "macos26"].compactMap { OSProfile.named($0) }
        let same = await TargetDiagnosis(
            profile: try #require(both.first), systems: both, probing: old, instant: ModelServer.instant
        ).diagnose(try CheckTarget(ModelServer.host))
        let words = CheckText(colored: false, verbose: false).matrix(same)
        #expect(words.contains("\n    ios26, macos26\n"), "\(words)")
        #expect(words.ranges(of: "ats.tls.version-too-low").count == 1, "\(words)")
        let app = ExceptionLadder.dictionary(["elsewhere.example": ExceptionEntry(minimumTLSVersion: .tls11)])
        #expect(try await !page(report(ModelServer(), app)).contains("The smallest change"))
    }

    @Test func showsWhatIsOutsideOfItsTime() async throws {
        let html = try await Self.page(Self.withoutForwardSecrecy(leafEnds: -3600))
        #expect(html.contains("outside") && html.contains("class=\"out\"") && !html.contains("class=\"smallest\""))
    }

    /// - Parameter seconds: when the certificate ends, after the moment of judgement.
    private static func withoutForwardSecrecy(leafEnds seconds: Double) -> ModelServer {
        let leaf = ModelServer.certificate(
            "CN=leaf", issuer: "CN=Root", notAfter: ModelServer.instant.addingTimeInterval(seconds))
        return ModelServer(
            versions: [.tls12], suites: [.rsaWithAES128GCMSHA256], chain: ModelServer.chain(leaf: leaf))
    }
}

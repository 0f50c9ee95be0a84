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
            "ats.tls.version-too-low", "<span class=\"dim\">Fix:</span> ", "<h3>Configurations</h3>",
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

    @Test("Each system has the change that helps on it, and nothing is proposed where the app's dictionary loads")
    func changesOfSeveralSystems() async throws {
        func page(_ server: ModelServer, _ app: ATSDictionary?) async throws -> String {
            let profiles = ["ios18", "ios26"].compactMap { OSProfile.named($0) }
            let diagnosis = TargetDiagnosis(
                profile: try #require(profiles.first), appDictionary: app, systems: profiles, probing: server,
                instant: ModelServer.instant)
            let report = await diagnosis.diagnose(try CheckTarget(ModelServer.host))
            let target = CheckPage.Target(report, on: try #require(profiles.first))
            return CheckPage(version: "1", targets: [target], at: ModelServer.instant).html()
        }
        let old = ModelServer(versions: [.tls11], suites: [.ecdheRSAWithAES128CBCSHA])
        let failing = try await page(old, nil)
        #expect(failing.contains("The smallest change to the Info.plist on iOS 18</h3>"), "\(failing)")
        #expect(failing.contains("No exception in the Info.plist helps on iOS 26."))
        let app = ExceptionLadder.dictionary(["elsewhere.example": ExceptionEntry(minimumTLSVersion: .tls11)])
        #expect(try await !page(ModelServer(), app).contains("The smallest change"))
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

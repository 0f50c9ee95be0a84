// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Formats
import Foundation
import TLSModel
import TestSupport
import Testing
import Vocabulary

@testable import ATSDiagnostics

/// One set of observations, judged for several systems.
@Suite struct SystemsTests {
    static let systems = ["ios9", "macos10.14", "ios17", "ios18", "ios26", "macos27", "published"]

    private static func report(
        _ server: ModelServer, app: ATSDictionary? = nil, appSDK: Int? = nil, days: Int? = nil
    )
        async throws -> TargetReport
    {
        let profiles = systems.compactMap { OSProfile.named($0) }
        let diagnosis = TargetDiagnosis(
            profile: try #require(profiles.first), appDictionary: app, appSDK: appSDK.flatMap { LinkedSDK(number: $0) },
            systems: profiles, probing: server, instant: ModelServer.instant, expiryDays: days)
        return await diagnosis.diagnose(try CheckTarget(ModelServer.host))
    }

    private static let servers: [ModelServer] =
        [[TLSVersion.tls10], [.tls11], [.tls12], [.tls13], [.tls10, .tls13], [.tls12, .tls13]].flatMap { versions in
            CipherSuiteSamples.all.map { ModelServer(versions: versions, suites: [$0]) }
        }

    /// Each system gets what a check for it alone says, causes included. In `make test` each server meets one app.
    @Test(arguments: [(0, nil), (1, 18), (2, 26)] as [(Int, Int?)]) func everySystemGetsItsOwnVerdict(
        _ third: Int, _ appSDK: Int?
    ) async throws {
        let app = ExceptionLadder.dictionary([ModelServer.host: ExceptionEntry(minimumTLSVersion: .tls10)])
        for server in LongForm.share(of: Self.servers, one: 3, from: third) {
            let report = try await Self.report(server, app: app, appSDK: appSDK)
            #expect(report.systems.map(\.profile.id) == Self.systems)
            for system in report.systems {
                let alone = try await TargetDiagnosis.of(server, os: system.profile.id, app: app, appSDK: appSDK)
                #expect(
                    system.results.map(\.result) == alone.results.map(\.result), "\(server) on \(system.profile.id)")
                #expect(system.results.map { $0.because.map(\.code) } == alone.results.map { $0.because.map(\.code) })
                #expect(system.results.map(\.error) == alone.results.map(\.error))
                #expect(system.smallestException == alone.smallestException)
            }
        }
    }

    @Test func changesAreDifferencesOfTheDecisiveVerdict() async throws {
        let old = ModelServer(versions: [.tls11], suites: [.ecdheRSAWithAES128CBCSHA])
        let app = ExceptionLadder.dictionary([ModelServer.host: ExceptionEntry(minimumTLSVersion: .tls11)])
        #expect(try await Self.report(old, app: app).changesBetweenSystems)
        #expect(try await !Self.report(old).changesBetweenSystems)
        #expect(try await !Self.report(ModelServer()).changesBetweenSystems)
        let json = try await Self.report(old, app: app).json
        #expect(json.member("systems")?.member("ios18")?.member("result")?.text == "PASS")
        #expect(json.member("systems")?.member("ios26")?.member("result")?.text == "FAIL")
        #expect(json.member("systems")?.member("ios26")?.member("sdk")?.text == "26")
    }

    @Test func certificatesThatExpireSoonAreNoted() async throws {
        var server = ModelServer()
        server.chain = ModelServer.chain(
            leaf: ModelServer.certificate(
                "CN=api.example.com", issuer: "CN=Root",
                notAfter: ModelServer.instant.addingTimeInterval(86_400 * 20 + 5)))
        for (days, noted) in [(nil, false), (20, false), (21, true), (30, true), (0, false)] as [(Int?, Bool)] {
            let report = try await Self.report(server, days: days)
            #expect(report.notes.contains { $0.code == "ats.note.expires-soon" } == noted, "\(days ?? -1)")
            #expect(report.decisive?.result == .pass)
            guard case .array(let certificates)? = report.json.member("facts")?.member("certificates") else {
                Issue.record("no certificates")
                continue
            }
            #expect(certificates.first?.member("daysLeft") == .integer(20))
        }
    }
}

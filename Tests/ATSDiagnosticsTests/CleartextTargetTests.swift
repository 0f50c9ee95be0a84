// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import TLSModel
import TestSupport
import Testing
import Vocabulary

@testable import ATSDiagnostics

/// An `http` URL is judged as the app would load it.
@Suite struct CleartextTargetTests {
    private static func report(
        _ url: String, os: String = "macos26", app: ATSDictionary? = nil, server: ModelServer = ModelServer(),
        end: LoadTrace.End = .loaded
    ) async throws -> TargetReport {
        let load = LoadTrace(places: [try CheckTarget(url).url], end: end)
        return try await TargetDiagnosis.of(server, os: os, target: url, app: app, load: load)
    }

    @Test func theDefaultsBlockItAndNameTheKey() async throws {
        let report = try await Self.report("http://shop.example:8080/cart")
        #expect(report.target == "http://shop.example:8080/cart")
        #expect(report.decisive?.result == .fail)
        #expect(report.decisive?.error?.code == -1022)
        #expect(report.decisive?.because.map(\.code) == ["ats.cleartext.blocked"])
        #expect(report.handshakes == 0)
        let allowed = report.results.filter { $0.result == .pass }.map(\.configuration)
        #expect(allowed.allSatisfy { $0.name.contains("nsecure HTTP") || $0.name == "Allow All Loads" }, "\(allowed)")
        #expect(allowed.count == 6)
        let exception = try #require(report.smallestException.dictionary)
        #expect(exception.exceptions == ["shop.example": ExceptionEntry(allowsInsecureHTTPLoads: true)])
    }

    @Test func theSameHostOverTLSStandsBesideIt() async throws {
        let modern = try await TargetDiagnosis.of(ModelServer(), target: "http://\(ModelServer.host)/")
        #expect(modern.secure?.result == .pass, "\(modern.secure?.because ?? [])")
        let old = ModelServer(versions: [.tls10], suites: [.ecdheRSAWithAES128CBCSHA])
        let report = try await TargetDiagnosis.of(old, target: "http://\(ModelServer.host)/")
        #expect(report.secure?.result == .fail)
        #expect(report.secure?.because.first?.code == "ats.tls.version-too-low")
        #expect(try await TargetDiagnosis.of(ModelServer()).secure == nil)
        let text = CheckText(colored: false, verbose: false).render(report)
        #expect(text.contains("http://\(ModelServer.host) ") && text.contains("over https the load fails as well"))
    }

    /// A figure is never parted from its unit.
    @Test func aNarrowTerminalBreaksTheFirstLineBeforeTheSuite() async throws {
        let text = CheckText(colored: false, verbose: false).render(try await TargetDiagnosis.of(ModelServer()))
        let lines = text.wrapped(to: 60).split(separator: "\n")
        #expect(lines[0].contains(" ms  TLSv1."), "\(text)")
        #expect(lines[1].trimmingPrefix(while: { $0 == " " }).hasPrefix("TLS_"), "\(text)")
    }

    @Test func aServerThatDoesNotAnswerIsUndeterminedOnlyWhereTheLoadIsAllowed() async throws {
        let silent = LoadTrace.End.noAnswer(.connection(.timeout), [Cause("ats.net.timeout", "Nothing came.")])
        let report = try await Self.report("http://shop.example/", end: silent)
        #expect(report.decisive?.result == .fail)
        #expect(report.results.contains { $0.result == .undetermined })
        #expect(!report.results.contains { $0.result == .pass })
        // The block is lifted all the same.
        let proposed = CheckText(colored: false, verbose: false).render(report)
        #expect(
            proposed.contains(
                "or     NSExceptionDomains.shop.example.NSExceptionAllowsInsecureHTTPLoads = YES. Whether it loads then is not known: Nothing came."
            ) && !proposed.contains("delegate"), "\(proposed)")
        // No certificate is refused, so there is nothing that the app's own code could accept.
        let local = try await Self.report("http://127.0.0.1:8080/", end: silent)
        let text = CheckText(colored: false, verbose: false).render(local)
        #expect(local.decisive?.result == .undetermined && !text.contains("delegate"), "\(text)")
    }

    @Test func minimizeFindsTheKey() async throws {
        let target = try CheckTarget("http://shop.example/")
        let diagnosis = TargetDiagnosis(profile: .standard, probing: ModelServer(), instant: ModelServer.instant)
        let minimal = DictionarySearch([(target, await diagnosis.evidence(of: target))]).minimal()
        #expect(minimal.dictionary.exceptions == ["shop.example": ExceptionEntry(allowsInsecureHTTPLoads: true)])
        #expect(minimal.needed.map(\.without) == ["ats.cleartext.blocked"])
        #expect(minimal.impossible.isEmpty)
    }

    /// `explain` and `check` are the same judge: random dictionaries, systems and URLs.
    @Test func explainAndCheckAgreeOnEveryURL() async throws {
        var random = SplitMix(state: 26)
        let hosts = [
            "example.com", "a.example.com", "b.a.example.com", "other.org", "localhost", "printer.local", "203.0.113.9",
            "10.0.0.1", "[2001:db8::1]", "EXAMPLE.com", "xn--bcher-kva.example",
        ]
        for _ in 0..<400 {
            var dictionary = ATSDictionary()
            dictionary.arbitraryLoads = [nil, true, false].randomElement(using: &random) ?? nil
            dictionary.localNetworking = [nil, nil, true, false].randomElement(using: &random) ?? nil
            dictionary.arbitraryLoadsInWebContent = [nil, nil, true].randomElement(using: &random) ?? nil
            for host in hosts where Int.random(in: 0..<4, using: &random) == 0 {
                dictionary.exceptions[host] = ExceptionEntry(
                    includesSubdomains: .random(using: &random), allowsInsecureHTTPLoads: .random(using: &random),
                    minimumTLSVersion: TLSVersionName.allCases.randomElement(using: &random))
            }
            let profile = OSProfile.all.randomElement(using: &random) ?? .standard
            let scheme = Bool.random(using: &random) ? "http" : "https"
            let host = hosts.randomElement(using: &random) ?? "example.com"
            let url = "\(scheme)://\(host)/x"
            let policy = ATSPolicy(dictionary: dictionary, profile: profile)
            let explained = policy.decide(try LoadURL(url))
            let checked = try await Self.report(url, os: profile.id, app: dictionary)
            let decisive = try #require(checked.decisive)
            switch explained.verdict {
            case .blocked:
                #expect(decisive.result == .fail, "\(url) on \(profile.id)")
                #expect(decisive.error?.code == explained.error?.code)
            case .allowed: #expect(decisive.result == .pass, "\(url) on \(profile.id)")
            case .dependsOnServer: #expect(decisive.error?.code != -1022, "\(url) on \(profile.id)")
            }
        }
    }
}

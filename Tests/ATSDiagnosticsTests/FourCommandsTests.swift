// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import PropertyLists
import TLSModel
import TLSProbe
import TestSupport
import Testing
import Vocabulary

@testable import ATSClient
@testable import ATSDiagnostics

/// `explain`, `fetch`, `check` and `minimize` say one thing about one load: random dictionaries, URLs and systems.
///
/// `fetch` is asked by what its client really decides with: the origins that it remembers, and the judge of its handshakes.
@Suite struct FourCommandsTests {
    /// Hosts as they may stand in a URL, some of them twice in other forms.
    private static let hosts = [
        "shop.example", "api.shop.example", "v2.api.shop.example", "SHOP.example", "shop.example.", "other.test",
        "localhost",
        "printer.local", "198.51.100.7", "10.1.2.3", "[2001:db8::7]", "b\u{FC}cher.example", "bu\u{308}cher.example",
        "xn--bcher-kva.example", "www.B\u{DC}CHER.example", "shop.example:8443", "user:secret@shop.example",
    ]

    /// Keys as they stand in dictionaries, right and wrong ones.
    private static let keys = [
        "shop.example", "api.shop.example", "example", "Shop.example", "shop.example:8443", "*.shop.example",
        "shop.example.", "https://shop.example/", "localhost", "printer.local", "198.51.100.7", "198.51.100.0/24",
        "10/8",
        "2001:db8::/32", "b\u{FC}cher.example", "bu\u{308}cher.example", "xn--bcher-kva.example", "other.test", "",
    ]

    private static let flags = [
        "NSAllowsArbitraryLoads", "NSAllowsArbitraryLoadsForMedia", "NSAllowsArbitraryLoadsInWebContent",
        "NSAllowsLocalNetworking",
    ]

    private static func flag(_ random: inout SplitMix) -> PropertyListValue {
        switch random.below(8) {
        case 0...3: .boolean(true)
        case 4, 5: .boolean(false)
        case 6: .string("YES")
        default: .integer(random.below(3))
        }
    }

    private static func dictionary(_ random: inout SplitMix) -> ATSDictionary {
        var members: [String: PropertyListValue] = [:]
        for key in flags where random.below(4) == 0 { members[key] = flag(&random) }
        var domains: [String: PropertyListValue] = [:]
        for key in keys where random.below(5) == 0 {
            var entry: [String: PropertyListValue] = [:]
            if random.below(2) == 0 { entry["NSIncludesSubdomains"] = flag(&random) }
            if random.below(2) == 0 { entry["NSExceptionAllowsInsecureHTTPLoads"] = flag(&random) }
            if random.below(3) == 0 { entry["NSExceptionRequiresForwardSecrecy"] = flag(&random) }
            let versions = ["TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3", "1.0"]
            if random.below(3) == 0 { entry["NSExceptionMinimumTLSVersion"] = .string(versions[random.below(5)]) }
            domains[key] = random.below(20) == 0 ? .boolean(true) : .dictionary(entry)
        }
        members["NSExceptionDomains"] = .dictionary(domains)
        return ATSDictionary(.dictionary(members))
    }

    /// What a server can be like.
    private static func server(_ number: Int, host: String) -> ModelServer {
        func chain(bits: Int = 2048, days: Double = 60) -> ChainFacts {
            ModelServer.chain(
                leaf: ModelServer.certificate(
                    "CN=\(host)", issuer: "CN=Root", names: [host.hasSuffix(".") ? String(host.dropLast()) : host],
                    bits: bits, notAfter: ModelServer.instant.addingTimeInterval(86_400 * days)))
        }
        return switch number {
        case 0: ModelServer(chain: chain())
        case 1: ModelServer(versions: [.tls10], suites: [.ecdheRSAWithAES128CBCSHA], chain: chain())
        case 2: ModelServer(versions: [.tls11, .tls12], suites: [.rsaWithAES128GCMSHA256], chain: chain())
        case 3: ModelServer(versions: [.tls13], chain: chain())
        case 4: ModelServer(chain: chain(days: -1))
        case 5: ModelServer(chain: chain(bits: 1024))
        default: ModelServer(failure: .timeout)
        }
    }

    private struct Place: Hashable {
        let url: String
        let system: String
        let sdk: LinkedSDK?
        let server: Int
    }

    private struct Known {
        let judge: ConfigurationJudge
        let minimal: MinimalDictionary
    }

    @Test func explainFetchCheckAndMinimizeAgree() throws {
        var random = SplitMix(state: 1_000_003)
        var places: [Place: Known] = [:]
        var verdicts: [URLDecision.Verdict: Int] = [:]
        for round in 0..<(LongForm.isAsked ? 200_000 : 3000) {
            let dictionary = Self.dictionary(&random)
            let host = Self.hosts[random.below(Self.hosts.count)]
            let text = "\(random.below(2) == 0 ? "http" : "https")://\(host)/"
            let system = OSProfile.all[random.below(OSProfile.all.count)]
            let profile = random.below(4) == 0 ? LinkedSDK(number: 18).map(system.linked) ?? system : system
            let number = random.below(7)
            let url = try LoadURL(text)
            let server = Self.server(number, host: url.host)
            let place = Place(url: text, system: profile.id, sdk: profile.sdk, server: number)
            let known = try places[place] ?? Self.known(url, profile, server)
            places[place] = known
            let words =
                "round \(round): \(text) on \(profile.shownID), server \(number), \(dictionary.propertyListValue)"

            // explain
            let policy = ATSPolicy(dictionary: dictionary, profile: profile)
            let decision = policy.decide(url)
            verdicts[decision.verdict, default: 0] += 1
            let explained = NearMisses(policy).explaining(decision)
            #expect(explained.verdict == decision.verdict && explained.rule == decision.rule)

            // fetch
            let fetched = Self.fetch(url, decision, server)

            // check
            var judge = known.judge
            let offer = HelloOffer(decision.requirements)
            if url.isSecure { judge.evidence[Endpoint(url)]?.outcomes[offer] = server.answer(offer) }
            let checked = judge.judge(dictionary: dictionary)
            #expect(checked.result == fetched.result, "\(words): \(checked.because) \(fetched.because)")
            #expect(checked.error == fetched.error, "\(words)")
            #expect(checked.because.first?.code == fetched.because.first?.code, "\(words)")

            // minimize: what it finds loads by the others' word, and what loads at all it finds.
            let minimal = known.minimal
            if checked.result == .pass { #expect(minimal.impossible.isEmpty, "\(words): \(minimal.impossible)") }
            guard minimal.impossible.isEmpty, minimal.withCode.isEmpty else { continue }
            let least = ATSPolicy(dictionary: minimal.dictionary, profile: profile).decide(url)
            #expect(least.verdict != .blocked, "\(words): \(minimal.dictionary.propertyListValue)")
            #expect(Self.fetch(url, least, server).result == .pass, "\(words)")
            for need in minimal.needed { #expect(!need.keyPath.isEmpty) }
        }
        // Every verdict was met often, so that the agreement says something.
        for verdict in [URLDecision.Verdict.allowed, .blocked, .dependsOnServer] {
            #expect(verdicts[verdict, default: 0] > 300, "\(verdicts)")
        }
    }

    /// Sources contradict each other about a key of 2015, and the key is for another host.
    @Test func aDisputeAboutAnotherHostIsNone() throws {
        let (url, server) = (try LoadURL("https://\(ModelServer.host)/"), ModelServer())
        for (key, outcome) in [("10.1.2.3", ATSLoadError.Outcome.refused), (ModelServer.host, .noAnswer)] {
            let entry = PropertyListValue.dictionary(["NSThirdPartyExceptionMinimumTLSVersion": .string("TLSv1.1")])
            let dictionary = ATSDictionary(.dictionary(["NSExceptionDomains": .dictionary([key: entry])]))
            let profile = try #require(OSProfile.named("macos10.14"))
            let decision = ATSPolicy(dictionary: dictionary, profile: profile).decide(url)
            let failure = ConnectFailure(outcome: .alert(level: 2, description: 47))
            let fault = LoadFaults.translate(
                failure, url: url, decision: decision, widest: Self.widest(server), chain: server.chain,
                at: ModelServer.instant)
            #expect(fault.outcome == outcome, "\(key): \(fault.causes)")
        }
    }

    private static func known(_ url: LoadURL, _ profile: OSProfile, _ server: ModelServer) throws -> Known {
        let target = try CheckTarget(url.text)
        let dictionaries =
            [ATSDictionary(), .allowingEverything] + ExceptionLadder.candidates(key: url.host)
        var evidence = HostEvidence(address: "192.0.2.1")
        for offer in HelloOffer.distinct(dictionaries.map { ($0, profile) }, url) {
            evidence.outcomes[offer] = server.answer(offer)
        }
        // As the network is asked: only where every hello was refused.
        let isRefused = evidence.outcomes.values.allSatisfy { if case .alert = $0 { true } else { false } }
        if isRefused { evidence.explanation = widest(server) }
        server.showChain(in: &evidence)
        let judge = ConfigurationJudge(
            target: url, profile: profile, appProfile: profile, evidence: [Endpoint(url): evidence],
            instant: ModelServer.instant)
        return Known(judge: judge, minimal: DictionarySearch([(target, judge)]).minimal())
    }

    /// What the client does with a decision: it refuses, or connects and judges.
    private static func fetch(
        _ url: LoadURL, _ decision: URLDecision, _ server: ModelServer
    ) -> (result: ConfigurationResult.Result, error: URLLoadError?, because: [Cause]) {
        if decision.verdict == .blocked, let error = decision.error {
            let fault = LoadFaults.blocked(decision, error: error, isRedirect: false)
            return (.fail, fault.error, fault.causes)
        }
        guard url.isSecure else { return (.pass, nil, []) }
        let outcome = server.answer(HelloOffer(decision.requirements))
        guard case .negotiated(let handshake) = outcome else {
            let fault = LoadFaults.translate(
                ConnectFailure(outcome: outcome), url: url, decision: decision, widest: widest(server))
            return (fault.outcome == .refused ? .fail : .undetermined, fault.error, fault.causes)
        }
        let facts = ConnectionFacts(handshake: handshake, chain: server.chain, staple: nil)
        let verdict = evaluate(decision.requirements, facts, host: url.host, at: ModelServer.instant)
        return (verdict.passed ? .pass : .fail, verdict.error, verdict.causes)
    }

    /// What the server negotiates if everything is offered.
    private static func widest(_ server: ModelServer) -> HandshakeObservation? {
        guard server.failure == nil, let version = server.versions.max(),
            let suite = version == .tls13 ? CipherSuite.aes128GCMSHA256 : server.suites.first
        else { return nil }
        return HandshakeObservation(
            version: version, suite: suite, group: suite.hasForwardSecrecy ? .x25519 : nil,
            certificates: server.chain.presented.map(\.der), keyPossession: .proven)
    }
}

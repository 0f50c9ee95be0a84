// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import PropertyLists
import Testing
import Vocabulary

@testable import AppTransportSecurity

/// Keys of 2015: obeyed by the systems of that year, disputed until iOS 12, then not read.
@Suite("Legacy keys")
struct LegacyKeyTests {
    private static func decision(
        _ keys: String, _ system: String, _ url: String = "http://x.com/"
    ) throws
        -> URLDecision
    {
        let text = #"{"NSExceptionDomains":{"x.com":{\#(keys)}}}"#
        let dictionary = ATSDictionary(try PropertyListValue(json: Array(text.utf8)))
        return ATSPolicy(dictionary: dictionary, profile: try #require(OSProfile.named(system)))
            .decide(try LoadURL(url))
    }

    @Test(
        "A key of 2015 allows, is disputed, or has no effect",
        arguments: ["NSThirdPartyException", "NSTemporaryException"])
    func aKeyByItself(_ prefix: String) throws {
        let key = "\"\(prefix)AllowsInsecureHTTPLoads\":true"
        for system in ["ios9", "macos10.11"] {
            let decision = try Self.decision(key, system)
            #expect(decision.verdict == .allowed && decision.disputedSources.isEmpty)
            #expect(!decision.because.contains { $0.code == "ats.dictionary.unknown-key" })
        }
        for system in ["ios10", "ios12", "ios12.2", "macos10.12", "macos10.14"] {
            #expect(try Self.decision(key, system).disputedSources.count == 2, "\(system)")
        }
        for system in ["ios13", "macos10.15", "macos26", "published"] {
            let decision = try Self.decision(key, system)
            #expect(decision.verdict == .blocked && decision.disputedSources.isEmpty, "\(system)")
            #expect(decision.because.contains { $0.code == "ats.dictionary.unknown-key" })
        }
    }

    @Test("A key of 2015 is proposed by nobody, also where a domain above has one")
    func remedies() throws {
        let list = """
            {"NSExceptionDomains":{"x.com":{"NSIncludesSubdomains":true,"NSTemporaryExceptionAllowsInsecureHTTPLoads":true}}}
            """
        let dictionary = ATSDictionary(try PropertyListValue(json: Array(list.utf8)))
        for system in ["ios12", "ios13", "macos26"] {
            let policy = ATSPolicy(dictionary: dictionary, profile: try #require(OSProfile.named(system)))
            let remedies = Remedy.forBlocked(policy.decide(try LoadURL("http://a.x.com/")))
            #expect(
                remedies.map(\.keyPath) == ["NSExceptionDomains.a.x.com.NSExceptionAllowsInsecureHTTPLoads"],
                "\(system) \(remedies)")
        }
    }

    @Test("Systems whose sources contradict each other are printed with both")
    func systems() throws {
        for (system, words, basis) in [
            ("ios9", "obeyed", Basis.appleText), ("ios10", "obeyed or not read", .unknown),
            ("macos10.14", "obeyed or not read", .unknown), ("ios13", "not read", .inferred),
        ] {
            let fact = FidelityPage.Fact(try #require(OSProfile.named(system)), .legacyKeys)
            #expect(fact.words == words && fact.bases == [basis], "\(system) \(fact.words) \(fact.bases)")
            guard basis == .unknown else { continue }
            let sources = fact.sources.joined()
            #expect(sources.contains("Cocoa Keys") && sources.contains("SecProtocolConfiguration.m"), "\(sources)")
        }
    }

    @Test("Without an effect there is no dispute")
    func noDispute() throws {
        let key = "\"NSThirdPartyExceptionAllowsInsecureHTTPLoads\":true"
        #expect(
            try Self.decision(key + ",\"NSExceptionAllowsInsecureHTTPLoads\":true", "ios11").disputedSources.isEmpty)
        #expect(try Self.decision(key, "ios11", "http://y.com/").disputedSources.isEmpty)
        #expect(
            try Self.decision("\"NSThirdPartyExceptionRequiresForwardSecrecy\":true", "ios11").disputedSources.isEmpty)
        // TLSv1.3 is younger than the names.
        let newer = "\"NSThirdPartyExceptionMinimumTLSVersion\":\"TLSv1.3\""
        #expect(try Self.decision(newer, "ios12.2", "https://x.com/").disputedSources.isEmpty)
        // A value of another type counts as absent.
        #expect(
            try Self.decision("\"NSThirdPartyExceptionAllowsInsecureHTTPLoads\":\"YES\"", "ios9").verdict == .blocked)
    }

    @Test("The keys stay in the dictionary that is written, and can be removed one by one")
    func written() throws {
        let text = #"{"NSExceptionDomains":{"x.com":{"NSThirdPartyExceptionMinimumTLSVersion":"TLSv1.0"}}}"#
        let value = try PropertyListValue(json: Array(text.utf8))
        let dictionary = ATSDictionary(value)
        #expect(dictionary.propertyListValue == value)
        let setting = try #require(dictionary.settings.first)
        #expect(dictionary.weakens(setting) && dictionary.removing(setting).isEmpty)
    }
}

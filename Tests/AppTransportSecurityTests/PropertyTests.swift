// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import TLSModel
import TestSupport
import Testing
import Vocabulary

@Suite("Properties of decisions")
struct PropertyTests {
    static let hosts = [
        "example.com", "a.example.com", "b.a.example.com", "other.org", "localhost", "203.0.113.9", "10.0.0.1",
    ]

    static func value(_ random: inout SplitMix) -> PropertyListValue {
        [.boolean(true), .boolean(false), .integer(1), .integer(2), .string("YES"), .array([])].randomElement(
            using: &random) ?? .boolean(true)
    }

    static func entry(_ random: inout SplitMix) -> PropertyListValue {
        var members: [String: PropertyListValue] = [:]
        for key in ["NSIncludesSubdomains", "NSExceptionAllowsInsecureHTTPLoads", "NSExceptionRequiresForwardSecrecy"]
        where Bool.random(using: &random) {
            members[key] = value(&random)
        }
        return .dictionary(members)
    }

    static func dictionary(_ random: inout SplitMix) -> [String: PropertyListValue] {
        var members: [String: PropertyListValue] = [:]
        for key in [
            "NSAllowsArbitraryLoads", "NSAllowsArbitraryLoadsForMedia", "NSAllowsArbitraryLoadsInWebContent",
            "NSAllowsLocalNetworking",
        ] where Bool.random(using: &random) {
            members[key] = value(&random)
        }
        var domains: [String: PropertyListValue] = [:]
        for host in hosts where UInt8.random(in: 0..<3, using: &random) == 0 { domains[host] = entry(&random) }
        members["NSExceptionDomains"] = .dictionary(domains)
        return members
    }

    static func summary(_ decision: URLDecision) -> String {
        "\(decision.rule) \(decision.tlsRequired) \(decision.requirements.suites) \(decision.requirements.serverTrust) \(decision.verdict)"
    }

    @Test("a dictionary that is written and read again is the same")
    func roundTrip() {
        var random = SplitMix(state: 11)
        for _ in 0..<500 {
            let first = ATSDictionary(.dictionary(PropertyTests.dictionary(&random)))
            let again = ATSDictionary(first.propertyListValue)
            #expect(again == first)
            #expect(again.remarks.isEmpty)
            for setting in first.settings {
                #expect(!first.removing(setting).settings.contains(setting), "\(setting.keyPath)")
            }
        }
    }

    /// A remark is shown for the hosts that it is about, however similar the names of others are.
    @Test(arguments: [
        ("https://example.com/", 1), ("https://a.example.com/", 1), ("https://example.com.evil.org/", 0),
        ("https://other.org/", 0), ("https://dropped.org/", 1), ("https://a.dropped.org/", 1),
        ("https://notdropped.org/", 0),
    ])
    func remarksAreToldApartBySubject(_ url: String, _ count: Int) throws {
        let dictionary = ATSDictionary(
            .dictionary([
                "NSExceptionDomains": .dictionary([
                    "example.com": .dictionary(["NSExceptionDomains.other.org": .boolean(true)]),
                    "dropped.org": .string("NSExceptionDomains.other.org."),
                ])
            ])
        )
        let decision = ATSPolicy(dictionary: dictionary, profile: .standard).decide(try LoadURL(url))
        let remarks = decision.because.filter { $0.code.rawValue.hasPrefix("ats.dictionary.") }
        #expect(remarks.count == count, "\(remarks)")
        #expect(remarks.allSatisfy { $0.kind == .note })
    }

    @Test("an exception for one host, without subdomains, changes no other host", arguments: OSProfile.all.map(\.id))
    func locality(os: String) throws {
        let profile = try #require(OSProfile.named(os))
        var random = SplitMix(state: 7)
        for _ in 0..<200 {
            let before = PropertyTests.dictionary(&random)
            let chosen = PropertyTests.hosts.randomElement(using: &random) ?? "example.com"
            guard case .dictionary(var domains)? = before["NSExceptionDomains"], domains[chosen] == nil else {
                continue
            }
            domains[chosen] = .dictionary(["NSExceptionAllowsInsecureHTTPLoads": .boolean(true)])
            var after = before
            after["NSExceptionDomains"] = .dictionary(domains)
            let old = ATSPolicy(dictionary: ATSDictionary(.dictionary(before)), profile: profile)
            let new = ATSPolicy(dictionary: ATSDictionary(.dictionary(after)), profile: profile)
            for host in PropertyTests.hosts where host != chosen {
                let url = try LoadURL("http://\(host)/")
                #expect(
                    PropertyTests.summary(old.decide(url)) == PropertyTests.summary(new.decide(url)),
                    "\(host) with \(chosen) added")
            }
        }
    }

    @Test("a decision is the same however often and in whichever order the dictionary is built")
    func order() throws {
        var random = SplitMix(state: 11)
        for _ in 0..<300 {
            let members = PropertyTests.dictionary(&random)
            var rebuilt: [String: PropertyListValue] = [:]
            for key in members.keys.shuffled(using: &random) { rebuilt[key] = members[key] }
            let first = ATSPolicy(dictionary: ATSDictionary(.dictionary(members)), profile: .standard)
            let second = ATSPolicy(dictionary: ATSDictionary(.dictionary(rebuilt)), profile: .standard)
            for host in PropertyTests.hosts {
                let url = try LoadURL("https://\(host)/")
                #expect(PropertyTests.summary(first.decide(url)) == PropertyTests.summary(second.decide(url)))
                #expect(first.decide(url).because.map(\.message) == second.decide(url).because.map(\.message))
            }
        }
    }

    @Test("http is never allowed where TLS is required, and https is never blocked by the dictionary")
    func schemes() throws {
        var random = SplitMix(state: 13)
        for _ in 0..<300 {
            let policy = ATSPolicy(
                dictionary: ATSDictionary(.dictionary(PropertyTests.dictionary(&random))), profile: .standard)
            for host in PropertyTests.hosts {
                let clear = policy.decide(try LoadURL("http://\(host)/"))
                #expect((clear.verdict == .blocked) == clear.tlsRequired)
                #expect(policy.decide(try LoadURL("https://\(host)/")).verdict == .dependsOnServer)
            }
        }
    }
}

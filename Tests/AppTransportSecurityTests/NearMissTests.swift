// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Testing
import Vocabulary

/// The entry that almost matched, and why it does not.
@Suite struct NearMissTests {
    private static func notes(
        _ url: String, _ domains: [String: PropertyListValue], os: String = "macos26", sdk: Int? = nil,
        global: [String: PropertyListValue] = [:]
    ) throws -> [String] {
        let members = global.merging(["NSExceptionDomains": .dictionary(domains)]) { $1 }
        var profile = try OSProfile.asked(os)
        if let sdk { profile = profile.linked(on: try #require(LinkedSDK(number: sdk))) }
        let policy = ATSPolicy(dictionary: ATSDictionary(.dictionary(members)), profile: profile)
        let decision = NearMisses(policy).explaining(policy.decide(try LoadURL(url)))
        return decision.because.filter { $0.code == "ats.note.entry-almost-matches" }.map(\.message)
    }

    private static let open = PropertyListValue.dictionary(["NSExceptionAllowsInsecureHTTPLoads": .boolean(true)])
    private static let openBelow = PropertyListValue.dictionary([
        "NSExceptionAllowsInsecureHTTPLoads": .boolean(true), "NSIncludesSubdomains": .boolean(true),
    ])

    @Test(
        arguments: [
            ("http://pay.bank.test/", "Pay.bank.test", "letter by letter"),
            ("http://pay.bank.test:8080/", "pay.bank.test:8080", "contains no port"),
            ("http://pay.bank.test/", "http://pay.bank.test/app", "without scheme and path"),
            ("http://pay.bank.test/", "pay.bank.test/app", "without scheme and path"),
            ("http://pay.bank.test/", "pay.bank.test.", "the key ends with a dot"),
            ("http://pay.bank.test./", "pay.bank.test", "the host ends with a dot"),
            ("http://pay.bank.test/", "*.bank.test", "an asterisk matches nothing"),
            ("http://a.pay.bank.test/", "*.bank.test", "an asterisk matches nothing"),
            ("http://pay.bank.test/", ".bank.test", "does not begin with a dot"),
            ("http://pay.bank.test/", " pay.bank.test", "spaces"),
            ("http://pay.bank.test/", "bank.test", "does not set NSIncludesSubdomains"),
            ("http://bank.test/", "www.bank.test", "a host below this one"),
            ("http://m\u{FC}nchen.test/", "m\u{FC}nchen.test", "in ASCII, as xn--mnchen-3ya.test"),
            ("http://xn--mnchen-3ya.test/", "mu\u{308}nchen.test", "in ASCII, as xn--mnchen-3ya.test"),
            ("http://[2001:db8::1]/", "[2001:db8::1]", "no brackets"),
            ("http://[2001:db8::1]:81/", "[2001:db8::1]:81", "contains no port"),
            ("http://[2001:db8::1]/", "2001:db8:0:0:0:0:0:1", "usually written"),
            ("http://[fe80::1]/", "fe80::1%en0", "no interface"),
            ("http://pay.bank.test/", "pay.bank.test:", "contains no port"),
            ("http://m\u{FC}nchen.test/", "XN--mnchen-3ya.test", "letter by letter"),
        ]
    )
    func theReasonIsNamed(_ url: String, _ key: String, _ words: String) throws {
        let notes = try Self.notes(url, [key: Self.open])
        #expect(notes.count == 1, "\(notes)")
        #expect(
            notes.first?.contains(words) == true && notes.first?.contains("NSExceptionDomains.") == true, "\(notes)")
    }

    @Test("Carrier NAT is the reason of a block only where no entry, switch or older system is")
    func carrierNAT() throws {
        func reason(_ json: String, os: String) throws -> String? {
            try decide("http://100.64.0.5/", json, os: os).because.first { $0.code == .cleartextBlocked }?.message
        }
        let words = "does not count as local"
        #expect(try reason("{}", os: "ios18")?.contains(words) == true)
        let entry = #"{"NSExceptionDomains":{"100.64.0.5":{}}}"#
        for (json, os) in [(entry, "ios18"), (#"{"NSAllowsLocalNetworking":false}"#, "ios16"), ("{}", "ios9")] {
            #expect(try reason(json, os: os)?.hasSuffix("requires TLS for this host.") == true, "\(json)")
        }
    }

    @Test("A key that the build fills in is named where it may become the host")
    func filledIn() throws {
        for key in ["$(API_HOST)", "${HOST}.bank.test", "pay.$(DOMAIN:lower)", "@(HOST)"] {
            let notes = try Self.notes("http://pay.bank.test/", [key: Self.open])
            #expect(notes.count == 1 && notes.first?.contains("--define") == true, "\(notes)")
        }
        #expect(try Self.notes("http://pay.bank.test/", ["cdn.$(DOMAIN)": Self.open]).isEmpty)
        #expect(try Self.notes("http://pay.bank.test/", ["$(HOST).shop.test": Self.open]).isEmpty)
        #expect(try Self.notes("http://a.bank.test/", ["b.$(DOMAIN)": Self.openBelow]).count == 1)
    }

    @Test func severalReasonsStandTogether() throws {
        let note = try #require(try Self.notes("http://a.pay.bank.test/", ["Bank.TEST:80": Self.open]).first)
        #expect(
            note.contains("letter by letter") && note.contains("no port") && note.contains("NSIncludesSubdomains"),
            "\(note)")
        #expect(
            try Self.notes("http://a.bank.test/", ["Bank.test": Self.openBelow]).first?.contains("NSIncludes") == false)
    }

    @Test func whatMatchesOrMeansAnotherHostIsNotNamed() throws {
        #expect(try Self.notes("http://pay.bank.test/", ["pay.bank.test": Self.open]).isEmpty)
        #expect(try Self.notes("http://pay.bank.test/", ["bank.test": Self.openBelow]).isEmpty)
        #expect(
            try Self.notes("http://pay.bank.test/", ["notbank.test": Self.open, "ay.bank.test": Self.open]).isEmpty)
        #expect(try Self.notes("http://m\u{FC}nchen.test/", ["xn--mnchen-3ya.test": Self.open]).isEmpty)
        // A closer entry is named beside the one that decided.
        let both: [String: PropertyListValue] = ["bank.test": Self.openBelow, "PAY.bank.test": .dictionary([:])]
        #expect(try Self.notes("http://pay.bank.test/", both).count == 1)
        let many = Dictionary(uniqueKeysWithValues: (0..<50).map { ("pay.bank.test:\(8000 + $0)", Self.open) })
        #expect(try Self.notes("http://pay.bank.test/", many).count == 3)
    }

    @Test func olderSystemsReadNoAddresses() throws {
        for key in ["198.51.100.7", "198.51.100.0/24", "198.51/16"] {
            #expect(
                try Self.notes("http://198.51.100.7/", [key: Self.open], os: "ios16").first?.contains(
                    "iOS 16 does not read addresses") == true)
            #expect(try Self.notes("http://198.51.100.7/", [key: Self.open], os: "ios17").isEmpty)
        }
    }

    @Test("Whoever decides that addresses are not read is named: the system, or the SDK on a system that reads them")
    func appsOfOlderSDKsReadNoAddresses() throws {
        func note(_ os: String, _ sdk: Int) throws -> String? {
            try Self.notes("http://198.51.100.7/", ["198.51.100.7": Self.open], os: os, sdk: sdk).first
        }
        for os in ["ios17", "macos14", "macos26"] {
            let note = try #require(try note(os, 16))
            #expect(
                note.contains("an app linked on SDK 16 does not read addresses") && !note.contains("OS "), "\(note)")
            #expect(try Self.notes("http://198.51.100.7/", ["198.51.100.7": Self.open], os: os, sdk: 17).first == nil)
        }
        #expect(try note("ios16", 15)?.contains("iOS 16 does not read addresses") == true)
    }

    @Test(
        arguments: [
            ["NSAppTransportSecurity": .dictionary(["NSAllowsArbitraryLoads": .boolean(true)])],
            ["NSExceptionDomains": .dictionary(["NSExceptionDomains": .dictionary(["bank.test": .dictionary([:])])])],
            ["NSExceptionDomains": .dictionary(["NSAppTransportSecurity": .dictionary([:])])],
        ] as [[String: PropertyListValue]]
    )
    func aDictionaryThatIsWrappedTwiceIsCaught(_ members: [String: PropertyListValue]) throws {
        let policy = ATSPolicy(dictionary: ATSDictionary(.dictionary(members)), profile: .standard)
        let decision = policy.decide(try LoadURL("http://bank.test/"))
        #expect(decision.verdict == .blocked)
        #expect(decision.because.contains { $0.code == "ats.dictionary.nested" }, "\(decision.because)")
    }
}

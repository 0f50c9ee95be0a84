// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import TLSProbe
import Testing

@testable import ATSDiagnostics

@Suite struct DiagnosticConfigurationTests {
    @Test func sixteenInNSCurlsOrder() {
        let names = DiagnosticConfiguration.all(host: "h.example", supportsTLS13: true).map(\.name)
        let versions = ["TLSv1.3", "TLSv1.2", "TLSv1.1", "TLSv1.0"]
        let wanted =
            ["ATS Default Connection", "Allow All Loads"] + versions
            + ["Disabling Perfect Forward Secrecy", "Disabling Perfect Forward Secrecy and Allowing Insecure HTTP"]
            + versions.map { $0 + " with PFS disabled" }
            + versions.map { $0 + " with PFS disabled and insecure HTTP allowed" }
        #expect(names == wanted)
    }

    @Test func thirteenBeforeTLS13() {
        let rows = DiagnosticConfiguration.all(host: "h.example", supportsTLS13: false)
        #expect(rows.count == 13)
        #expect(!rows.contains { $0.name.contains("1.3") })
    }

    /// Ten if the network stack speaks TLS 1.0 and four if it speaks 1.2 at least.
    @Test(arguments: [(18, 10), (26, 4)]) func fewHellosDecideSixteenConfigurations(_ sdk: Int, _ count: Int) throws {
        let target = try CheckTarget("h.example")
        let profile = OSProfile.standard.linked(on: try #require(LinkedSDK(number: sdk)))
        let rows = DiagnosticConfiguration.all(host: "h.example", supportsTLS13: true)
        let offers = HelloOffer.distinct(rows.map { ($0.dictionary, profile) }, target.url)
        #expect(offers.count == count)
    }

    @Test(arguments: OSProfile.all.map(\.id))
    func theSearchForExceptionsNeedsNoHelloOfItsOwn(_ os: String) throws {
        let profile = try #require(OSProfile.named(os))
        let target = try CheckTarget("h.example")
        let rows = DiagnosticConfiguration.all(host: "h.example", supportsTLS13: profile.facts.supportsTLS13.value).map
        {
            ($0.dictionary, profile)
        }
        let own = HelloOffer.distinct(rows, target.url)
        let search = HelloOffer.distinct(
            ExceptionLadder.candidates(key: "h.example").map { ($0, profile) }, target.url)
        #expect(search.allSatisfy(own.contains))
    }

    @Test(arguments: [
        ("example.com", "https://example.com:443/", "https://example.com"),
        ("Example.com:8443", "https://example.com:8443/", "https://Example.com:8443"),
        ("http://example.com/a?b", "http://example.com:80/a?b", "http://example.com/a?b"),
        ("HTTP://example.com:8080/", "http://example.com:8080/", "HTTP://example.com:8080/"),
        ("::1", "https://[::1]:443/", "https://[::1]"), ("::1/a", "https://[::1]:443/a", "https://[::1]/a"),
        ("[::1]:8443", "https://[::1]:8443/", "https://[::1]:8443"),
    ])
    func targets(_ text: String, _ url: String, _ shown: String) throws {
        let target = try CheckTarget(text)
        #expect(target.url.text == url)
        #expect(target.displayURL == shown)
    }

    /// nscurl loads http URLs as https; the port 80 becomes 443.
    @Test(arguments: [
        ("http://example.com/a?b", "https://example.com:443/a?b", "https://example.com/a?b"),
        ("http://example.com:8080/", "https://example.com:8080/", "https://example.com:8080/"),
        ("https://example.com:80/", "https://example.com:80/", "https://example.com:80/"),
    ])
    func targetsOfNSCurl(_ text: String, _ url: String, _ shown: String) throws {
        let target = try CheckTarget(nscurl: text)
        #expect(target.url.text == url)
        #expect(target.displayURL == shown)
    }

    @Test(arguments: ["", "ftp://example.com", "example.com:0", "example.com:99999", "a b", "https://"])
    func refusesWhatIsNoTarget(_ text: String) {
        #expect(throws: (any Error).self) { try CheckTarget(text) }
    }
}

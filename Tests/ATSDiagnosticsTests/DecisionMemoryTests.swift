// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import Testing

@testable import ATSDiagnostics

/// What is remembered from one host must be what a fresh decision says about another.
@Suite struct DecisionMemoryTests {
    static let hosts = [
        "api.example.com", "other.example.net", "a.b.c.example.org", "h", "printer.local", "www.apple.com", "10.0.0.1",
        "203.0.113.7", "::1", "2001:db8::1", "example.com.", "xn--bcher-kva.example",
    ]

    @Test(arguments: OSProfile.all.map(\.id))
    func whatIsRememberedIsWhatWouldBeDecided(_ os: String) throws {
        let profile = try #require(OSProfile.named(os))
        let memory = DecisionMemory(profile: profile)
        for host in Self.hosts + Self.hosts.reversed() {
            let url = try CheckTarget(host).url
            let odd: [PropertyListValue] = [
                .dictionary([ATSKey.exceptionDomains: .dictionary([url.host: .dictionary([:])])]),
                .dictionary([ATSKey.arbitraryLoads: .boolean(false)]), .string("none"),
                .dictionary([ATSKey.exceptionDomains: .dictionary(["example.com": .dictionary([:])])]),
                .dictionary([
                    ATSKey.exceptionDomains: .dictionary([
                        url.host: .dictionary([ATSKey.minimumTLSVersion: .string("TLSv9.9")])
                    ])
                ]),
            ]
            let rows = DiagnosticConfiguration.all(host: url.host, supportsTLS13: true).map(\.ats)
            for dictionary in rows + ExceptionCandidates.dictionaries(host: url.host) + odd {
                let known = memory.decision(dictionary, url)
                let fresh = PlaceDecision(
                    ATSPolicy(dictionary: ATSDictionary(dictionary), profile: profile).decide(url)
                )
                #expect(known.isBlocked == fresh.isBlocked)
                #expect(known.error == fresh.error)
                #expect(known.because.map(\.description) == fresh.because.map(\.description))
                #expect(known.notes.map(\.description) == fresh.notes.map(\.description), "\(host)")
                #expect(known.offer == fresh.offer, "\(host)")
                #expect(known.requirements.serverTrust == fresh.requirements.serverTrust, "\(host)")
                #expect(known.requirements.delegateMayAccept == fresh.requirements.delegateMayAccept, "\(host)")
                #expect(known.requirements.judgesKeySize == fresh.requirements.judgesKeySize, "\(host)")
                #expect(known.requirements.isHardened == fresh.requirements.isHardened, "\(host)")
            }
            let offers = memory.offers(for: url, configurations: rows, app: nil)
            let candidates = ExceptionCandidates.dictionaries(host: url.host)
            #expect(offers == memory.distinctOffers(rows + candidates, url))
        }
    }
}

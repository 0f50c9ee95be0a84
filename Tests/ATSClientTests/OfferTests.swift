// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import TLSModel
import Testing
import Vocabulary

@testable import ATSClient

/// What the client asks its TLS library for: an unknown suite would end the process.
struct OfferTests {
    private static let dictionaries = [
        "{}", "{\"NSAllowsArbitraryLoads\":true}",
        Fixture.exception("\"NSExceptionRequiresForwardSecrecy\":false"),
        Fixture.exception("\"NSExceptionMinimumTLSVersion\":\"TLSv1.0\",\"NSExceptionRequiresForwardSecrecy\":false"),
        Fixture.exception("\"NSExceptionMinimumTLSVersion\":\"TLSv1.3\""),
        Fixture.exception("\"NSExceptionAllowsInsecureHTTPLoads\":true,\"NSExceptionRequiresForwardSecrecy\":false"),
    ]

    /// Of the suites of ATS four, and of the system's own list, where ATS is off, two with 3DES and four with RC4; only the prober can offer
    /// them.
    private static let unavailable: [CipherSuite] = [
        .ecdheECDSAWithAES256CBCSHA384, .ecdheRSAWithAES256CBCSHA384, .rsaWithAES256CBCSHA256, .rsaWithAES128CBCSHA256,
        .ecdheECDSAWith3DESCBCSHA, .ecdheRSAWith3DESCBCSHA, .ecdheECDSAWithRC4128SHA, .ecdheRSAWithRC4128SHA,
        .rsaWithRC4128SHA,
        .rsaWithRC4128MD5,
    ]

    @Test("Whatever system and dictionary: only suites of the vetted table are offered", arguments: OSProfile.all)
    func vetted(_ profile: OSProfile) throws {
        for json in Self.dictionaries {
            let policy = try Fixture.policy(json, os: profile.id)
            let requirements = policy.decide(try LoadURL("https://api.example.com/")).requirements
            let offer = TLSOffer(requirements, protocols: ["h2", "http/1.1"])
            #expect(Set(offer.suites).isSubset(of: VettedSuites.upToTLS12), "\(profile.id) \(json)")
            #expect(Set(offer.suites).isDisjoint(with: Self.unavailable))
            // Nothing that the policy allows is left out but what the library lacks.
            let missing = Set(requirements.suites).subtracting(offer.suites).subtracting(VettedSuites.tls13)
            #expect(missing.isSubset(of: Self.unavailable), "\(profile.id) \(json): \(missing)")
            if offer.isPossible { _ = try offer.context(from: TLSOffer.Contexts(capacity: 1)) }
        }
        _ = try TLSOffer(everythingWith: ["h2"]).context(from: TLSOffer.Contexts(capacity: 1))
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Testing

@testable import TrustService

@Suite struct ClientDataTests {
    @Test(arguments: [
        (#"{"challenge":"AAEC"}"#, true), (#"{"x":{"challenge":"no"},"challenge":"AAEC","y":1}"#, true),
        (#"{"\u0063hallenge":"AAEC"}"#, true), (#"{"challenge":"AAEC","challenge":"AAEC"}"#, false),
        (#"{"challenge":"AAEC","\u0063hallenge":"AAEC"}"#, false), (#"{"x":{"challenge":"AAEC"}}"#, false),
        (#"{"challenge":1}"#, false), (#"["challenge","AAEC"]"#, false), (#""AAEC""#, false),
        (#"{"challenge":"AAEC"}{}"#, false), (#"{"Challenge":"AAEC"}"#, false), ("", false),
    ])
    func clientDataHoldsTheChallengeExactlyOnce(_ text: String, _ holds: Bool) {
        if holds {
            #expect((try? ClientData.challenge(in: Array(text.utf8))) == [0, 1, 2])
        } else {
            #expect(throws: ProofRefusal("challenge.missing")) { try ClientData.challenge(in: Array(text.utf8)) }
        }
    }

    @Test(arguments: [
        ("AAEC", true), ("AA==", true), ("AB==", false), ("AA", false), ("AA==\n", false), (" AA==", false),
        ("A-_A", false),
        ("", true), ("=", false), ("====", false), ("A===", false), ("AAA", false), ("AAA=", true), ("AAB=", false),
        ("AA=A", false), ("A=A=", false), ("AAAA====", false), ("+/+/", true), ("é==", false), ("AAA\u{0}", false),
    ])
    func base64IsStrict(_ text: String, _ valid: Bool) { #expect((Base64.decode(text) != nil) == valid) }

    @Test func base64IsReadAsItWasWritten() {
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64.decodeURL(Base64.encodeURL(bytes)) == bytes)
        }
    }
}

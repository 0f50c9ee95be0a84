// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing
import Vocabulary

@testable import HTTPService
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
            #expect((try? ClientData.challenge(in: Array(text.utf8)).get()) == [0, 1, 2])
        } else {
            #expect(throws: ProofRefusal("challenge.missing")) { try ClientData.challenge(in: Array(text.utf8)).get() }
        }
    }

    /// Readers of other languages take the first or the last of two, so neither is believed.
    @Test(arguments: [
        (#"{"challenge":"AAEC","amount":1,"amount":1000}"#, false),
        (#"{"challenge":"AAEC","amount":1,"\u0061mount":1000}"#, false),
        (#"{"challenge":"AAEC","order":{"amount":1,"amount":1000}}"#, false),
        (#"{"challenge":"AAEC","orders":[[{"amount":1},{"a":{"b":1,"b":1}}]]}"#, false),
        (#"{"challenge":"AAEC","caf\u00e9":1,"cafe\u0301":1,"orders":[{"amount":1},{"amount":1}]}"#, true),
    ])
    func membersAreNamedOnce(_ text: String, _ isRead: Bool) throws {
        let bytes = Array(text.utf8)
        for challenge in [nil, [0, 1, 2]] as [[UInt8]?] {
            if isRead {
                #expect(
                    try SignedInput.assertion(challenge: challenge, clientData: bytes).get().challenge == [0, 1, 2])
            } else {
                #expect(throws: Problem("request.malformed")) {
                    try SignedInput.assertion(challenge: challenge, clientData: bytes)
                }
            }
        }
        if !isRead { #expect(throws: Problem("request.malformed")) { try RequestBody(bytes) } }
        // What is not JSON is the app's own, if the challenge comes beside it.
        #expect(throws: Never.self) { try SignedInput.assertion(challenge: [1], clientData: bytes + [0]) }
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

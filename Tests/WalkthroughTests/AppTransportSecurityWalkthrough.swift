// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import PropertyLists
import TLSModel
import Testing
import Vocabulary

@Test func `AppTransportSecurity: a dictionary, a decision, a verdict`() throws {
    // walkthrough: AppTransportSecurity decide
    let declared = """
        {"NSExceptionDomains": {"example.com": {"NSIncludesSubdomains": true, "NSExceptionMinimumTLSVersion": "TLSv1.1"}}}
        """
    let dictionary = ATSDictionary(try PropertyListValue(json: Array(declared.utf8)))
    let policy = ATSPolicy(dictionary: dictionary, profile: OSProfile.named("ios17") ?? .standard)

    let decision = policy.decide(try LoadURL("https://images.example.com/logo.png"))
    // decision.verdict is .dependsOnServer; decision.rule.key names the entry that decided.
    // end
    #expect(decision.verdict == .dependsOnServer)
    #expect(decision.rule.source == .exception && decision.rule.key?.contains("example.com") == true)
    #expect(decision.requirements.effectiveMinimum == .tls11)

    // walkthrough: AppTransportSecurity judge
    let facts = ConnectionFacts(
        handshake: HandshakeObservation(version: .tls10, suite: CipherSuite(rawValue: 0xC013), keyPossession: .proven),
        chain: ChainFacts(presented: [], path: .unanchored([])))
    let verdict = evaluate(decision.requirements, facts, host: "images.example.com", at: Date())
    for cause in verdict.causes { print(cause.code, cause.message) }
    // end
    #expect(!verdict.passed)
    #expect(verdict.causes.first?.code == "ats.tls.version-too-low")
    #expect(verdict.error?.code == -1200)
}

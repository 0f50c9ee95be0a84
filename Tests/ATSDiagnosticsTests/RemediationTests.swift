// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Testing
import Vocabulary

@testable import ATSDiagnostics

@Suite struct RemediationTests {
    @Test(
        arguments: [
            (["ats.tls.no-forward-secrecy"], "ECDHE-ECDSA-AES128-GCM-SHA256"),
            (["ats.trust.missing-intermediate"], "fullchain"),
            (["ats.trust.expired"], "# To do: renew the certificate."), (["ats.tls.no-common-group"], "ssl_ecdh_curve"),
        ] as [([String], String)]
    ) func snippetsAreValidForTheCause(_ codes: [String], _ words: String) throws {
        let snippet = try #require(
            NginxSnippet.text(for: codes.map { Cause(Code(rawValue: $0), "") }, host: "a;b", port: 443))
        #expect(snippet.contains(words) && !snippet.contains("a;b"))
    }

    @Test func nothingToFixGivesNoSnippet() {
        #expect(NginxSnippet.text(for: [Cause("ats.net.refused", "")], host: "a", port: 443) == nil)
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Testing
import Vocabulary

@testable import ATSClient
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

    @Test(
        "The summary of the proxy names the app's own code where that lets a server through, and only there",
        arguments: [("ats.trust.self-signed", true), ("ats.tls.no-common-group", false), ("ats.trust.revoked", false)])
    func whatNoExceptionAloneLetsThrough(_ code: String, _ isHelped: Bool) {
        var host = ProxySummary.Host(host: "a.example", port: 443, isSecure: true)
        host.causes = [Cause(Code(rawValue: code), "")]
        let summary = ProxySummary(hosts: [host], dictionary: ATSDictionary(), impossible: ["a.example:443"])
        #expect(ProxyReport.text(summary).contains("your delegate") == isHelped)
    }
}

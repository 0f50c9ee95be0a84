// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Reporting
import Testing
import Vocabulary

@Suite struct DiagnosisPageTests {
    static let page: DiagnosisPage = {
        var target = DiagnosisPage.Target(name: "https://old.example.com/<x>")
        target.verdicts = [("iOS 9", .pass), ("macOS 26", .fail)]
        target.configurations = [
            ("Default ATS Secure Connection", "ATS Default Connection", .fail, false, nil),
            ("Configuring TLS exceptions for old.example.com", "TLSv1.1", .pass, true, "{ }"),
            ("Configuring TLS exceptions for old.example.com", "TLSv1.0", .undetermined, false, nil),
        ]
        target.causes = [
            (
                Cause(
                    "ats.tls.version-too-low", "The server ends at TLS 1.1.", citation: .apple("x", read: "2026-11-21")),
                "enable TLS 1.2 on the server"
            )
        ]
        target.certificates = [
            ("CN=old.example.com", 1_735_689_600, 1_767_225_600),
            ("CN=Root", 1_420_070_400, 2_051_222_400),
        ]
        target.before = "<dict>\n</dict>"
        target.after = "<dict>\n  <key>x</key>\n</dict>"
        target.serverConfiguration = "ssl_protocols TLSv1.2 TLSv1.3;\nlisten 8443 ssl;"
        return DiagnosisPage(version: "1.2.3", targets: [target], judgedAt: 1_795_262_400)
    }()

    @Test func hasEveryPart() {
        let html = Self.page.html()
        for part in [
            "Hosts by system", "<span class=\"tag fail\">FAIL</span>", "class=\"smallest\"", "ats.tls.version-too-low",
            "2025-01-01", "2026-01-01",
            "outside", "2035-01-01", "enable TLS 1.2 on the server", "class=\"ins\">+   &lt;key&gt;x",
            "ssl_protocols TLSv1.2 TLSv1.3;",
            "listen 8443 ssl;",
            "old.example.com/&lt;x&gt;",
        ] { #expect(html.contains(part), "\(part)") }
        #expect(!html.contains("<script") && !html.contains("src=") && !html.contains("href="))
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

extension RuleCatalog {
    static let ats007 = Rule(
        id: "ATS007",
        severity: .error,
        summary: "A domain key has upper-case letters.",
        reason:
            "Exceptions are compared letter by letter with the lower-case host of the request, so such a key matches nothing.",
        citation: .apple(ATSKey.exceptionDomains, read: "2026-11-21"),
        fixDescription: "writes the key in lower case if the entry then loosens nothing",
        fires: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>", host: "API.example.com"),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: .pins(
            "<dict><key>NSPinnedCAIdentities</key><array><dict><key>SPKI-SHA256-BASE64</key>"
                + "<string>AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=</string></dict></array></dict>",
            host: "API.example.com"),
        check: .plist { facts, hits in HostKeyFault.report("ATS007", facts, &hits) }
    )
}

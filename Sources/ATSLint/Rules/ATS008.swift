// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

extension RuleCatalog {
    static let ats008 = Rule(
        id: "ATS008",
        severity: .warning,
        summary: "A domain key ends with a dot.",
        reason:
            "The dot is part of the comparison: 'example.com.' covers only requests whose URL has the dot too, and those are rare.",
        citation: .apple(ATSKey.exceptionDomains, read: "2026-11-21"),
        fires: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>", host: "api.example.com."),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: .pins(
            "<dict><key>NSPinnedCAIdentities</key><array><dict><key>SPKI-SHA256-BASE64</key>"
                + "<string>r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=</string></dict></array></dict>",
            host: "api.example.com."),
        check: .plist { facts, hits in HostKeyFault.report("ATS008", facts, &hits) }
    )
}

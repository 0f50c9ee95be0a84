// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats026 = Rule(
        id: "ATS026",
        severity: .error,
        summary: "Pins are broken, or one lost key locks the app out.",
        reason: """
            A pin is the base64 form of the SHA-256 of a public key: 44 characters for 32 bytes. Others are skipped; a list that has none left refuses every \
            certificate, and an entry without a list pins nothing. With a single pin the app is locked out when the server changes that key. \
            Subdomains are covered one label deep.
            """,
        citation: .apple(ATSKey.pinnedDomains, read: "2026-11-21"),
        firstOS: "iOS 14, macOS 11",
        fires: .pins(
            "<dict><key>NSPinnedCAIdentities</key><array><dict><key>SPKI-SHA256-BASE64</key><string>not base64</string></dict></array></dict>"
        ),
        passes: .pins(
            "<dict><key>NSPinnedCAIdentities</key><array><dict><key>SPKI-SHA256-BASE64</key>"
                + "<string>r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=</string></dict>"
                + "<dict><key>SPKI-SHA256-BASE64</key><string>++MBgDH5WGvL9Bcn5Be30cRcL0f5O+NyoXuWtQdX1aI=</string></dict></array></dict>"
        ),
        notApplicable: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        check: .plist { facts, hits in
            PinCheck.misplaced(facts, &hits)
            if let member = facts.pinsMember, member.node.members == nil {
                hits.report(
                    member, facts.path(member.key),
                    "NSPinnedDomains is of type \(member.node.typeName) and is ignored: nothing is pinned. It must be a dictionary of hosts.",
                    fix: "Write a dictionary with a dictionary for each host.")
            }
            for entry in facts.pins { PinCheck.entry(entry, facts, &hits) }
        }
    )
}

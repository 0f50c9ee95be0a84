// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import TLSModel
import Vocabulary

extension RuleCatalog {
    static let ats021 = Rule(
        id: "ATS021",
        severity: .warning,
        summary: "NSExceptionRequiresForwardSecrecy = false allows key exchange without forward secrecy.",
        reason: """
            RSA key exchange lets anyone who later gets the server's key read what was recorded today. \
            According to the documentation the key also drops the check of the certificate's key length (systems of today check it anyway).
            """,
        citation: .apple(ATSKey.forwardSecrecy, read: "2026-11-21"),
        fires: .domain("<key>NSExceptionRequiresForwardSecrecy</key><false/>"),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: Example(ats: "<key>NSExceptionDomains</key>\n<dict/>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions where entry.flag(ATSKey.forwardSecrecy) == false {
                guard let member = entry.sub(ATSKey.forwardSecrecy),
                    let effects = entry.effects
                else { continue }
                let offers = effects.secure(where: \.offersRSAKeyExchange)
                guard facts.systems.someSupported(offers)
                else { continue }
                hits.report(
                    member, entry.path(member.key),
                    "\(effects.name) may use RSA key exchange without forward secrecy\(facts.systems.words(offers) ?? ""); according to the documentation the certificate's key length is not checked either.",
                    fix: "Enable ECDHE suites on the server and remove the key.",
                    advice: [Advice([.remove(member)], .otherLoads)])
            }
        }
    )
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import TLSModel
import Vocabulary

extension RuleCatalog {
    static let ats016 = Rule(
        id: "ATS016",
        severity: .warning,
        summary: "A minimum below TLS 1.2 needs a justification for App Review.",
        reason: """
            TLS 1.0 and 1.1 have known weaknesses and are off in current servers. App Review asks why the host needs them. \
            \(ReviewReason.sentence(for: ATSKey.minimumTLSVersion))
            """,
        citation: .apple(ATSKey.minimumTLSVersion, read: "2026-11-21"),
        fires: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.0</string>"),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: .domain("<key>NSExceptionRequiresForwardSecrecy</key><false/>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions {
                guard let (member, version) = entry.minimumVersion, version < .tls12 else { continue }
                let effects = entry.effects
                let speaks = effects?.secure { $0.minimum <= version.version } ?? []
                guard let effects, facts.systems.someSupported(speaks) else {
                    hits.ask(member, entry.path(member.key))
                    continue
                }
                hits.report(
                    member, entry.path(member.key),
                    "\(effects.name) may speak \(version.rawValue)\(facts.systems.words(speaks) ?? ""), which is below TLS 1.2. App Review asks why.",
                    fix: "Enable TLS 1.2 or 1.3 on the server and remove the key.",
                    advice: [Advice([.remove(member)], .otherLoads)], trigger: member.key)
            }
        }
    )
}

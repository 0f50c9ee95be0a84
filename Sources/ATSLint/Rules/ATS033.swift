// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import TLSModel
import Vocabulary

extension RuleCatalog {
    static let ats033 = Rule(
        id: "ATS033",
        severity: .note,
        summary: "A minimum of TLS 1.3 excludes servers that support only TLS 1.2.",
        reason: """
            Stricter than the default. A server, a proxy or a CDN without TLS 1.3 can then not be reached. Systems before \(SystemChange.tls13.names) keep \
            TLS 1.2 as the minimum; from there to before \(SystemChange.tls13Minimum.names) loads with this minimum failed when that was measured, though another \
            report says that the key has no effect. \(ReviewReason.anyMinimum)
            """,
        citation: .apple(ATSKey.minimumTLSVersion, read: "2026-11-21"),
        firstOS: SystemChange.tls13.list,
        fires: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        passes: .domain("<key>NSExceptionRequiresForwardSecrecy</key><false/>"),
        notApplicable: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .plist { facts, hits in
            let failing = facts.systems.profiles.map {
                $0.facts.supportsTLS13.value && !$0.facts.supportsTLS13Minimum.value
            }
            for entry in facts.exceptions {
                guard let (member, version) = entry.minimumVersion, version == .tls13,
                    let effects = entry.effects
                else { continue }
                let requires = effects.secure { $0.minimum == .tls13 }
                guard facts.systems.someSupported(requires) else { continue }
                let old =
                    facts.systems.someSupported(zip(requires, failing).map { $0 && $1 })
                    ? " On systems before \(SystemChange.tls13Minimum.names) loads with this minimum failed, or it had no effect."
                    : ""
                hits.report(
                    member, entry.path(member.key),
                    "\(effects.name) must speak TLS 1.3\(facts.systems.words(requires) ?? ""); a server that supports only TLS 1.2 is cut off.\(old)",
                    fix: "Check the server with 'sealward ats check \(entry.host.checkTarget)' before you ship.")
            }
        }
    )
}

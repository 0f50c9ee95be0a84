// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats015 = Rule(
        id: "ATS015",
        severity: .warning,
        summary: "NSExceptionAllowsInsecureHTTPLoads needs a justification for App Review.",
        reason: """
            Plain HTTP to the host is allowed, and the app's own code may accept a certificate that the system refuses. \
            App Review asks why the server cannot do better. \
            \(ReviewReason.sentence(for: ATSKey.insecureHTTPLoads))
            """,
        citation: .apple(ATSKey.insecureHTTPLoads, read: "2026-11-21"),
        fires: .domain("<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>"),
        passes: .domain("<key>NSExceptionAllowsInsecureHTTPLoads</key><false/>"),
        notApplicable: .domain("<key>NSExceptionRequiresForwardSecrecy</key><false/>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions where entry.allowsInsecureLoads {
                guard let member = entry.sub(ATSKey.insecureHTTPLoads) else { continue }
                // Where the key changes nothing, or all of the entry can go, another finding says so.
                guard let effects = entry.effects, facts.systems.someSupported(effects.permitsPlain),
                    effects.localState != .unneeded
                else {
                    hits.ask(member, entry.path(member.key))
                    continue
                }
                let below = facts.systems.someSupported(effects.decidesBelow) ? " and its subdomains" : ""
                let isFree =
                    entry.host.isLocal
                    && facts.systems.allSupported(effects.without.map { $0.isPermitted && $0.source == .local })
                hits.report(
                    member, entry.path(member.key),
                    "Plain HTTP to \(effects.name)\(below) is allowed\(facts.systems.words(effects.permitsPlain) ?? ""). App Review asks why.",
                    fix: isFree
                        ? entry.host.isTopLevel
                            ? "Name the hosts below \(entry.key) that the app loads from; \(entry.key) itself needs no entry.\(entry.host.localReason)"
                            : "Remove the entry, unless the app loads hosts below \(entry.key): \(entry.key) itself is local and needs none."
                        : "Serve \(entry.key) over HTTPS and remove the key; 'sealward ats check \(entry.host.checkTarget)' says whether the server is ready.",
                    trigger: member.key)
            }
        }
    )
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

extension RuleCatalog {
    static let ats023 = Rule(
        "ATS023",
        .warning,
        "An exception for a local host is unnecessary, or blocks it.",
        reason: """
            Since \(SystemChange.globalKeys.names) ATS exempts names without a dot, .local names and loopback addresses. \
            An exception replaces that: without NSExceptionAllowsInsecureHTTPLoads = true it blocks plain HTTP to the host.
            """,
        citation: .apple(ATSKey.localNetworking, read: "2026-11-21"),
        firstOS: SystemChange.globalKeys.list,
        fires: .domain("<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>", host: "localhost"),
        passes: Example("<key>NSAllowsLocalNetworking</key>\n<true/>"),
        notApplicable: .domain(
            "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>", host: "localhost",
            root: "<key>MinimumOSVersion</key>\n<string>9.0</string>"),
        check: .plist { facts, hits in
            guard !facts.reachesIOS9 else { return }
            for entry in facts.exceptions where entry.isLocal && !entry.host.isDead {
                let legacyLoosens = (entry.members ?? []).contains {
                    ExceptionKeys.legacy.contains($0.key) && $0.key.hasSuffix("HTTPLoads")
                        && AppleBoolean.read($0.node) == true
                }
                if entry.allowsInsecureLoads {
                    let needed = facts.flag(ATSKey.localNetworking) == false
                    if needed { continue }
                    hits.report(
                        entry.member, entry.path,
                        "\(entry.key) is local and needs no exception since \(SystemChange.globalKeys.names).",
                        fix: "Remove the entry.")
                } else {
                    let hint = legacyLoosens ? " (its legacy key is not read)" : ""
                    hits.report(
                        entry.member, entry.path,
                        "\(entry.key) is a local host and needs no exception; this entry blocks plain HTTP to it\(hint), because NSExceptionAllowsInsecureHTTPLoads is not true.",
                        fix: "Remove the entry, unless you mean to block the host.")
                }
            }
        }
    )
}

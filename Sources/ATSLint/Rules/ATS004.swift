// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings

extension RuleCatalog {
    static let ats004 = Rule(
        "ATS004",
        .error,
        "A domain key has a port.",
        reason: "Hosts are compared without their port, so a key with a port matches no request.",
        citation: .apple(ATSKey.exceptionDomains, read: "2026-11-21"),
        fixDescription: "removes the port if the entry then loosens nothing",
        fires: .domain(
            "<key>NSIncludesSubdomains</key><false/><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>",
            host: "api.example.com:8443"),
        passes: .domain(
            "<key>NSIncludesSubdomains</key><false/><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>", host: "2001:db8::1"),
        check: .plist { facts, hits in
            for entry in facts.allEntries where entry.host.kind == .name {
                if let port = entry.host.port {
                    hits.report(
                        entry.member, entry.path,
                        "The key '\(entry.key)' names port \(port). Hosts are compared without the port, so it matches nothing and is never read.",
                        fix: "Write '\(entry.host.bareHost.lowercased())'; it covers every port.",
                        edits: [.rename(entry.member, to: entry.host.bareHost)])
                } else if entry.key.utf8.first == 0x38 || entry.key.utf8.first == 0x34,
                    let first = entry.host.labels.first,
                    entry.host.labelCount > 2,
                    ["80", "443", "8080", "8443"].contains(first)
                {
                    hits.report(
                        entry.member, entry.path,
                        "The key '\(entry.key)' begins with '\(first).', which looks like a port that was joined to the host.",
                        fix:
                            "Write '\(entry.host.labels.dropFirst().joined(separator: "."))', if \(first) is a port and not part of the name.",
                        severity: .warning)
                }
            }
        }
    )
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

extension RuleCatalog {
    static let ats004 = Rule(
        id: "ATS004",
        severity: .error,
        summary: "A domain key has a port.",
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
            HostKeyFault.report("ATS004", facts, &hits)
            for entry in facts.allEntries where entry.host.kind == .name && entry.fault == nil {
                guard entry.key.utf8.first == 0x38 || entry.key.utf8.first == 0x34, let first = entry.host.labels.first,
                    entry.host.labelCount > 2, ["80", "443", "8080", "8443"].contains(first)
                else { continue }
                let rest = entry.host.labels.dropFirst().joined(separator: ".")
                hits.report(
                    entry.member, entry.path,
                    "The key '\(entry.key)' begins with '\(first).', which looks like a port that was joined to the host.",
                    fix: "Write '\(rest)', if \(first) is a port and not part of the name.", severity: .warning,
                    advice: facts.hasEntry(rest, beside: entry)
                        ? [] : [Advice([.rename(entry.member, to: rest)], .goes)])
            }
        }
    )
}

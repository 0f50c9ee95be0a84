// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import TLSFacts

extension RuleCatalog {
    static let ats009 = Rule(
        "ATS009",
        .error,
        "An IP address or a range of addresses is not read as intended.",
        reason: """
            Keys may be addresses and ranges (CIDR) since \(SystemChange.addressKeys.names); older systems read none of them, and newer ones only in apps that \
            are linked on 17 or later. A malformed range is never read. \
            Bits after the prefix are ignored. A single address is compared as text, so it matches only URLs that spell it in the same way.
            """,
        citation: .apple(ATSKey.exceptionDomains, read: "2026-11-21"),
        firstOS: SystemChange.addressKeys.list,
        fixDescription: "clears the bits after the prefix",
        fires: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>", host: "198.51.100.7/24"),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>", host: "198.51.100.0/24"),
        notApplicable: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        check: .plist { facts, hits in
            for entry in facts.allEntries {
                let isOld = facts.subject.minimumOS?.isBefore(.addressKeys) ?? false
                switch entry.host.kind {
                case .malformedBlock:
                    hits.report(
                        entry.member, entry.path,
                        "The key '\(entry.key)' is not a valid range of addresses, so it is never read.",
                        fix:
                            "Write a network and a prefix length, for example 198.51.100.0/24 (0 to 32) or 2001:db8::/32 (0 to 128)."
                    )
                case .address, .block:
                    if isOld, let minimum = facts.subject.minimumOS {
                        hits.report(
                            entry.member, entry.path,
                            "The key '\(entry.key)' is an address or a range. The app runs on \(minimum.name) too, where such keys are not read (they came with \(SystemChange.addressKeys.names)).",
                            fix: "Use a host name, or expect the default rules on older systems.", severity: .warning)
                    }
                    if let sdk = facts.subject.sdk, let first = LinkedSDK.addressRule, sdk < first {
                        hits.report(
                            entry.member, entry.path,
                            "The key '\(entry.key)' is an address or a range. The app is linked on SDK \(sdk); such keys are read in apps that are linked on \(first) or later (that older ones ignore them is inferred from Apple's words, not measured).",
                            fix: "Build the app with a newer SDK, or use a host name.", severity: .warning)
                    }
                    if case .block(let range) = entry.host.kind, range.hadHostBits {
                        let clean = entry.host.cleanBlock
                        hits.report(
                            entry.member, entry.path,
                            "The key '\(entry.key)' has bits after its prefix of \(range.prefixLength); they are ignored.",
                            fix: clean.map { "Write '\($0)'." } ?? "Clear the bits after the prefix.", severity: .note,
                            edits: clean.map { [.rename(entry.member, to: $0)] } ?? [])
                    }
                    reportSpelling(entry, &hits)
                case .name: reportSpelling(entry, &hits)
                case .url: continue
                }
            }
        }
    )

    private static func reportSpelling(_ entry: DomainEntry, _ hits: inout Hits) {
        // Capitals are for ATS007.
        guard let usual = entry.host.usualSpelling, !entry.host.hasUppercase else { return }
        hits.report(
            entry.member, entry.path,
            "The key '\(entry.key)' matches only URLs that spell the address in this way; the usual one is '\(usual)'.",
            fix: "Write '\(usual)'.", severity: .warning)
    }
}

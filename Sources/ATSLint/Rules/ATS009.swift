// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import TLSModel
import Vocabulary

extension RuleCatalog {
    static let ats009 = Rule(
        id: "ATS009",
        severity: .error,
        summary: "An IP address or a range of addresses is not read as intended.",
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
            HostKeyFault.report("ATS009", facts, &hits)
            for entry in facts.exceptions where HostKey(entry.fault?.right ?? entry.key).isAddress {
                let reads = facts.systems.profiles.map(\.readsAddressKeys.value)
                let supported = facts.systems
                guard !supported.allSupported(reads) else { continue }
                let isDead = !supported.someSupported(reads)
                let sdk = facts.subject.sdk.flatMap { sdk in LinkedSDK.addressRule.map { sdk < $0 } == true ? sdk : nil
                }
                let why =
                    sdk.map {
                        "The app is linked on SDK \($0); such keys are read in apps that are linked on 17 or later (that older ones ignore them is inferred from Apple's words, not measured)."
                    }
                    ?? "The app runs on \(facts.subject.minimumOS?.name ?? "older systems") too, where such keys are not read (they came with \(SystemChange.addressKeys.names))."
                hits.report(
                    entry.member, entry.path, "The key '\(entry.key)' is an address or a range. \(why)",
                    fix: sdk == nil
                        ? "Use a host name, or expect the default rules on older systems."
                        : "Build the app with a newer SDK, or use a host name.", severity: isDead ? nil : .warning)
            }
        }
    )
}

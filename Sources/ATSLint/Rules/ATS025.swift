// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import TLSModel
import Vocabulary

extension RuleCatalog {
    static let ats025 = Rule(
        id: "ATS025",
        severity: .warning,
        summary: "Addresses of a VPN or of carrier NAT (100.64.0.0/10) are not local and need a range.",
        reason: """
            NSAllowsLocalNetworking does not reach 100.64.0.0/10, which Tailscale and carriers use: plain HTTP to such addresses stays blocked \
            unless a key names the range. Addresses in it change, so a single one rarely helps.
            """,
        citation: Citation(
            source: "Field reports: agent-orchestrator#3852, SparkyFitness#2289, zotero-ios#1092", read: "2026-11-21"),
        firstOS: SystemChange.addressKeys.list,
        fires: .domain("<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>", host: "100.101.102.103"),
        passes: .domain("<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>", host: "100.64.0.0/10"),
        notApplicable: .domain("<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>", host: "198.51.100.7"),
        check: .plist { facts, hits in
            // Where everything is allowed, or the systems take every address as local, there is nothing to add.
            let blocked = zip(facts.systems.profiles, facts.general("100.64.7.7")).map {
                !$0.facts.obeysOnlyArbitraryLoads.value && !$1.isPermitted
            }
            guard let carrierNAT, facts.systems.someSupported(blocked),
                !facts.exceptions.contains(where: { $0.host.covers(carrierNAT) })
            else { return }
            let since = facts.systems.words(blocked) ?? ""
            for entry in facts.exceptions where entry.host.isInside(carrierNAT) {
                hits.report(
                    entry.member, entry.path,
                    "\(entry.key) is in 100.64.0.0/10 (VPN, carrier NAT), which counts as external\(since). The exception covers this part only, and such addresses change.",
                    fix: "Name the whole range '100.64.0.0/10' if the app must reach any of its hosts.",
                    advice: facts.exceptions.count(where: { $0.host.isInside(carrierNAT) }) == 1
                        ? [Advice([.rename(entry.member, to: "100.64.0.0/10")], .goes)] : [])
            }
            for entry in facts.exceptions
            where entry.allowsInsecureLoads && entry.host.kind == .name
                && (entry.key == "ts.net" || entry.key.hasSuffix(".ts.net"))
            {
                hits.report(
                    entry.member, entry.path,
                    "\(entry.key) covers names only. Hosts of the same VPN that are reached by address are in 100.64.0.0/10, which counts as external and stays blocked\(since).",
                    fix: "Add '100.64.0.0/10' if the app loads by address too.")
            }
            let coversAll = privateBlocks.allSatisfy { block in
                facts.exceptions.contains { $0.allowsInsecureLoads && $0.host.covers(block) }
            }
            if coversAll, let member = facts.exceptionsMember {
                hits.report(
                    member, facts.path(member.key),
                    "All private networks are named, but not 100.64.0.0/10 (VPN, carrier NAT), which counts as external and stays blocked\(since).",
                    fix: "Add '100.64.0.0/10' if the app must reach hosts of a VPN.")
            }
        }
    )

    private static let carrierNAT = AddressRange("100.64.0.0/10")
    private static let privateBlocks = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"].compactMap { AddressRange($0) }
}

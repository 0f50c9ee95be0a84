// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

extension RuleCatalog {
    static let ats022 = Rule(
        "ATS022",
        .note,
        "NSIncludesSubdomains may cover more or fewer hosts than intended.",
        reason: """
            The documentation says that one more label is covered. Apple's published evaluator covers any depth, and uses the nearest parent that has the key. \
            For addresses and ranges it has no effect. Without it, only the name itself is covered: not www.
            """,
        citation: .security("protocol/SecProtocolConfiguration.m (search for an exception)"),
        fires: .domain(
            "<key>NSIncludesSubdomains</key><true/><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>",
            host: "example.com"),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: Example("<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .plist { facts, hits in
            var parents: Set<UTF8Key>?
            for entry in facts.exceptions where !entry.host.isDead {
                if let member = entry.sub(ATSKey.includesSubdomains), AppleBoolean.read(member.node) == true {
                    if entry.host.isAddress {
                        hits.report(
                            member, entry.path(member.key),
                            "NSIncludesSubdomains has no effect on '\(entry.key)', which is an address or a range.",
                            fix: "Remove it.")
                    } else {
                        hits.report(
                            member, entry.path(member.key),
                            "The entry covers subdomains of \(entry.key) at any depth according to Apple's published evaluator, but only one label more according to the documentation.",
                            fix: "List deeper hosts separately if they must, or must not, be covered.")
                    }
                } else if entry.allowsInsecureLoads, entry.sub(ATSKey.includesSubdomains) == nil,
                    entry.host.labelCount == 2,
                    !entry.host.isAddress, !entry.isLocal
                {
                    let known = parents ?? parentNames(of: facts.exceptions)
                    parents = known
                    if known.contains(UTF8Key(entry.key)) { continue }
                    hits.report(
                        entry.member, entry.path,
                        "The exception covers only \(entry.key): www.\(entry.key) and other subdomains keep full ATS.",
                        fix:
                            "Set NSIncludesSubdomains = false if that is intended, or list the hosts that the app loads from."
                    )
                }
            }
        }
    )
    /// The names of two labels, with a dot before or behind them or without, below which another entry stands.
    private static func parentNames(of entries: [DomainEntry]) -> Set<UTF8Key> {
        var names: Set<UTF8Key> = []
        for entry in entries {
            // Names of two labels begin behind one of the last four dots.
            var rest = entry.key.utf8[...]
            for _ in 0..<4 {
                guard let dot = rest.lastIndex(of: 0x2E) else { break }
                names.insert(UTF8Key(String(Substring(entry.key.utf8[entry.key.utf8.index(after: dot)...]))))
                rest = rest[..<dot]
            }
        }
        return names
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import TLSModel
import Vocabulary

extension RuleCatalog {
    static let ats044 = Rule(
        id: "ATS044",
        severity: .note,
        summary: "A host does not inherit from its parent's exception.",
        reason:
            "The nearest entry decides alone. Nothing is merged: what the parent allows must be repeated, and a dead key inherits nothing either.",
        citation: .security("protocol/SecProtocolConfiguration.m (search for an exception)"),
        fires: Example(
            ats: "<key>NSExceptionDomains</key>\n<dict>\n"
                + "<key>example.com</key>\n<dict><key>NSIncludesSubdomains</key><true/><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict>\n"
                + "<key>api.example.com</key>\n<dict><key>NSExceptionRequiresForwardSecrecy</key><false/></dict>\n</dict>"
        ),
        passes: Example(
            ats: "<key>NSExceptionDomains</key>\n<dict>\n"
                + "<key>example.com</key>\n<dict><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict>\n"
                + "<key>api.example.com</key>\n<dict><key>NSExceptionRequiresForwardSecrecy</key><false/></dict>\n</dict>"
        ),
        notApplicable: .domain("<key>NSExceptionRequiresForwardSecrecy</key><false/>"),
        check: .plist { facts, hits in
            let parents = facts.exceptions.filter {
                $0.host.isRange || $0.includesSubdomains && $0.host.kind == .name && $0.fault == nil
            }
            guard !parents.isEmpty else { return }
            let byName = Dictionary(parents.map { (UTF8Key($0.key), $0) }, uniquingKeysWith: { $1 })
            for entry in facts.exceptions {
                guard let effects = entry.effects, let parent = entry.parent(byName, effects, facts.scopes) else {
                    continue
                }
                // What the entry says itself is meant so.
                let missing = parent.loosenings.filter { entry.sub($0) == nil }
                if !missing.isEmpty, !effects.changesNothing {
                    hits.report(
                        entry.member, entry.path,
                        "\(entry.key) does not inherit \(missing.sorted().joined(separator: ", ")) from \(parent.key): the nearest entry decides alone.",
                        fix: "Repeat it here if the host needs it.")
                }
            }
        }
    )
}

extension DomainEntry {
    /// The entry that would decide about the host without this one: of a name above it, or of the smallest range around it.
    fileprivate func parent(
        _ byName: [UTF8Key: DomainEntry], _ effects: EntryEffects, _ scopes: LoadScopes
    ) -> DomainEntry? {
        guard host.isAddress else {
            return key.selfAndParents.dropFirst().lazy.compactMap { byName[UTF8Key($0)] }.first
        }
        var smallest: (entry: DomainEntry, length: Int)?
        for key in scopes.about(effects.loads.prefix(1).map(\.plain)).dictionary.exceptions.keys.sorted() {
            guard let entry = byName[UTF8Key(key)], entry !== self, case .block(let range) = entry.host.kind,
                host.isInside(range), !host.covers(range), range.prefixLength > smallest?.length ?? -1
            else { continue }
            smallest = (entry, range.prefixLength)
        }
        return smallest?.entry
    }

    /// The keys by which the entry loosens something.
    fileprivate var loosenings: Set<String> {
        var result: Set<String> = []
        if allowsInsecureLoads { result.insert(ATSKey.insecureHTTPLoads) }
        if flag(ATSKey.forwardSecrecy) == false { result.insert(ATSKey.forwardSecrecy) }
        if let (_, version) = minimumVersion, version < .tls12 {
            result.insert(ATSKey.minimumTLSVersion)
        }
        return result
    }
}

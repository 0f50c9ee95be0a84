// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import TLSModel
import Vocabulary

extension RuleCatalog {
    static let ats042 = Rule(
        id: "ATS042",
        severity: .note,
        summary: "Insecure loads without forward secrecy lift the limit on cipher suites altogether.",
        reason: """
            With both keys the published evaluator does not restrict the list of suites: the default list of the system is offered, \
            not the list of ATS with RSA key exchange added.
            """,
        citation: .security("protocol/SecProtocolConfiguration.m (transformed options)"),
        fires: .domain(
            "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/><key>NSExceptionRequiresForwardSecrecy</key><false/>"),
        passes: .domain("<key>NSExceptionRequiresForwardSecrecy</key><false/>"),
        notApplicable: Example(ats: "<key>NSAllowsArbitraryLoads</key>\n<true/>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions
            where entry.allowsInsecureLoads && entry.flag(ATSKey.forwardSecrecy) == false {
                guard let member = entry.sub(ATSKey.forwardSecrecy),
                    let lifts = entry.effects?.secure(where: { $0.suites == .system && $0.offersRSAKeyExchange }
                    ),
                    facts.systems.someSupported(lifts)
                else { continue }
                hits.report(
                    member, entry.path(member.key),
                    "Together with NSExceptionAllowsInsecureHTTPLoads = true this lifts the limit on cipher suites for \(entry.key) altogether\(facts.systems.words(lifts) ?? "").",
                    fix: "Keep only the one that the server needs.")
            }
        }
    )
}

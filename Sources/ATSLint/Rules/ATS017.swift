// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import TLSModel
import Vocabulary

extension RuleCatalog {
    static let ats017 = Rule(
        id: "ATS017",
        severity: .note,
        summary: "NSExceptionAllowsInsecureHTTPLoads does not relax HTTPS.",
        reason: """
            It allows plain HTTP. For HTTPS the minimum of TLS 1.2 and forward secrecy stay as they were, and a self-signed certificate is still refused \
            unless the app's own code accepts it in its challenge handler.
            """,
        citation: .apple(ATSKey.insecureHTTPLoads, read: "2026-11-21"),
        fires: .domain("<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>"),
        passes: .domain(
            "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/><key>NSExceptionRequiresForwardSecrecy</key><false/>"),
        notApplicable: .domain("<key>NSExceptionAllowsInsecureHTTPLoads</key><false/>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions where entry.allowsInsecureLoads {
                guard let member = entry.sub(ATSKey.insecureHTTPLoads), entry.sub(ATSKey.minimumTLSVersion) == nil,
                    entry.sub(ATSKey.forwardSecrecy) == nil, let effects = entry.effects,
                    facts.systems.someSupported(effects.permitsPlain), effects.localState == .notLocal,
                    effects.secure(where: { $0.minimum >= .tls12 && $0.suites == .ats }) == effects.decides
                else { continue }
                hits.report(
                    member, entry.path(member.key),
                    "Over https:// TLS 1.2 and forward secrecy stay required, and a self-signed certificate also needs code in the app that accepts it.",
                    fix:
                        "If https:// is what fails, find the cause with 'sealward ats check \(entry.host.checkTarget)'."
                )
            }
        }
    )
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import TLSFacts

extension RuleCatalog {
    static let ats047 = Rule(
        "ATS047",
        .error,
        "A domain key is not the name that a loader requests.",
        reason: """
            Keys are compared letter by letter with the host of the request, which is in ASCII: a name of another script is loaded as its \
            A-label (xn--...). A key in that script, composed or decomposed, and one that is not a host name at all match nothing.
            """,
        citation: .security("SecProtocolConfiguration.m, find_exception_for_host"),
        fixDescription: "writes the key in ASCII if the entry then loosens nothing",
        fires: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>", host: "bücher.example"),
        passes: .domain(
            "<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>", host: "xn--bcher-kva.example"),
        notApplicable: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        check: .plist { facts, hits in
            for entry in facts.allEntries where entry.host.isForeign {
                guard let ascii = HostName.ascii(entry.key), !ascii.hasSameBytes(as: entry.key) else {
                    hits.report(
                        entry.member, entry.path,
                        "The key '\(entry.key)' is not a host name, so it matches nothing and is never read.",
                        fix: "Write the host as it appears in the URL, without spaces or other extra characters.")
                    continue
                }
                hits.report(
                    entry.member, entry.path,
                    "The key '\(entry.key)' is not in ASCII. Loads of that host request '\(ascii)', so the key matches nothing and is never read.",
                    fix: "Write '\(ascii)'.", edits: [.rename(entry.member, to: ascii)])
            }
        }
    )
}

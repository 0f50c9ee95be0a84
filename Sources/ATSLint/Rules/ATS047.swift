// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import TLSModel
import Vocabulary

extension RuleCatalog {
    static let ats047 = Rule(
        id: "ATS047",
        severity: .error,
        summary: "A domain key is not the name that a loader requests.",
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
        check: .plist { facts, hits in HostKeyFault.report("ATS047", facts, &hits) }
    )
}

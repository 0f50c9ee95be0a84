// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

extension RuleCatalog {
    static let ats005 = Rule(
        id: "ATS005",
        severity: .error,
        summary: "A domain key is a URL or has a path.",
        reason: """
            Keys are host names. A key with a slash is taken for a range of IP addresses, fails to parse as one, \
            and is never read; the system only writes a line into its log.
            """,
        citation: .security("protocol/SecProtocolConfiguration.m (CIDR keys)"),
        fixDescription: "leaves only the host if the entry then loosens nothing",
        fires: .domain(
            "<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>", host: "https://api.example.com/v1"),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: .domain(
            "<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>", host: "198.51.100.0/24"),
        check: .plist { facts, hits in HostKeyFault.report("ATS005", facts, &hits) }
    )
}

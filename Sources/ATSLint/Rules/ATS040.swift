// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

extension RuleCatalog {
    static let ats040 = Rule(
        id: "ATS040",
        severity: .note,
        summary: "An exception replaces one of the system's own.",
        reason: """
            The system registers exceptions of its own, for example for apple.com and its subdomains. \
            An entry of the app for the same name replaces it as a whole, and may be stricter.
            """,
        citation: .security("protocol/SecProtocolConfiguration.m (built-in exceptions)"),
        fires: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>", host: "apple.com"),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>", host: "developer.apple.com"),
        notApplicable: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        check: .plist { facts, hits in
            let builtIn = OSProfile.standard.facts.builtInExceptions.value
            for entry in facts.exceptions where entry.members != nil && builtIn[entry.key] != nil {
                hits.report(
                    entry.member, entry.path,
                    "The system has an exception of its own for \(entry.key) and its subdomains; this entry replaces it as a whole.",
                    fix: "Remove it, unless you mean to be stricter.")
            }
        }
    )
}

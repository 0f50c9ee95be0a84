// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

extension RuleCatalog {
    static let ats003 = Rule(
        "ATS003",
        .error,
        "A TLS version is spelled in a way that Apple's parser does not recognize.",
        reason: """
            Only TLSv1.0, TLSv1.1, TLSv1.2 and TLSv1.3 are read, with exactly these letters. Anything else silently leaves the minimum at TLS 1.2: \
            an old server stays blocked, and a demand for TLS 1.3 is lost.
            """,
        citation: .security("protocol/SecProtocolConfiguration.m (minimum TLS version)"),
        fixDescription: "removes the key, which leaves the minimum where it is: at TLS 1.2",
        fires: .domain(
            "<key>NSExceptionMinimumTLSVersion</key><string>1.0</string><key>NSExceptionRequiresForwardSecrecy</key><false/>"
        ),
        passes: .domain(
            "<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.0</string><key>NSExceptionRequiresForwardSecrecy</key><false/>"
        ),
        notApplicable: .domain("<key>NSExceptionRequiresForwardSecrecy</key><false/>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions {
                for member in entry.members ?? [] where ExceptionKeys.tlsVersions.contains(member.key) {
                    guard let text = member.node.string, TLSVersionName(rawValue: text) == nil,
                        !PlaceholderText.isIn(text)
                    else { continue }
                    if TLSVersionName.isDatagram(text) {
                        hits.report(
                            member, entry.path(member.key), "\(TLSVersionName.datagramSentence(text)).",
                            fix: "Write TLSv1.0, TLSv1.1 or TLSv1.3, or remove the key.", severity: .warning)
                        continue
                    }
                    let meant = TLSVersionName.meant(text)
                    let question = meant.map { " Did you mean \"\($0.rawValue)\"?" } ?? ""
                    let fix =
                        switch meant {
                        case .tls12: "Remove the key: TLS 1.2 is the minimum without it."
                        case let version?:
                            "Write <string>\(version.rawValue)</string>, or remove the key if TLS 1.2 is enough."
                        case nil: "Write TLSv1.0, TLSv1.1 or TLSv1.3, or remove the key."
                        }
                    hits.report(
                        member, entry.path(member.key),
                        "\"\(text.prefix(bytes: 40))\" is not a TLS version that Apple's parser recognizes, so the minimum stays TLS 1.2.\(question)",
                        fix: fix,
                        edits: meant == .tls13
                            ? [.value(member, "<string>TLSv1.3</string>"), .remove(member)] : [.remove(member)])
                }
            }
        }
    )
}

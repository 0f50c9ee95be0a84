// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats003 = Rule(
        id: "ATS003",
        severity: .error,
        summary: "A TLS version is spelled in a way that Apple's parser does not recognize.",
        reason: """
            Only TLSv1.0, TLSv1.1, TLSv1.2 and TLSv1.3 are read, with exactly these letters. Anything else silently leaves the minimum at TLS 1.2: \
            an old server stays blocked, and a demand for TLS 1.3 is lost.
            """,
        citation: .security("protocol/SecProtocolConfiguration.m (minimum TLS version)"),
        fixDescription: "removes the key, which leaves the minimum where it is",
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
                        !BuildVariable.isIn(text)
                    else { continue }
                    let isDatagram = TLSVersionName.isDatagram(text)
                    let meant = isDatagram ? nil : TLSVersionName.meant(text)
                    let removal = Advice([.remove(member)], .sameLoads)
                    var fix = "Write TLSv1.0, TLSv1.1 or TLSv1.3, or remove the key."
                    var advice = [removal]
                    if let meant, let wanted = facts.minimum(meant, of: entry) {
                        // A legacy key is not read with any value.
                        let isCurrent = member.key.hasSameBytes(as: ATSKey.minimumTLSVersion)
                        let name = isCurrent ? "" : "NSExceptionMinimumTLSVersion with "
                        fix =
                            wanted
                            ? "Write \(name)<string>\(meant.rawValue)</string>, or remove the key if TLS 1.2 is enough."
                            : "Remove the key: the minimum is TLS 1.2 or later with \(meant.rawValue) too."
                        if wanted, isCurrent {
                            advice.append(Advice([.value(member, "<string>\(meant.rawValue)</string>")], .otherLoads))
                        }
                    }
                    hits.report(
                        member, entry.path(member.key),
                        isDatagram
                            ? "\(TLSVersionName.datagramSentence(text))."
                            : "\"\(text.prefix(bytes: 40))\" is not a TLS version that Apple's parser recognizes, so the key counts as absent."
                                + (meant.map { " Did you mean \"\($0.rawValue)\"?" } ?? ""),
                        fix: fix, severity: isDatagram ? .warning : nil,
                        edits: isDatagram
                            ? []
                            : meant == .tls13
                                ? [.value(member, "<string>TLSv1.3</string>"), .remove(member)] : [.remove(member)],
                        advice: advice)
                }
            }
        }
    )
}

extension PlistFacts {
    /// Whether a minimum would change anything for the host of an entry on a system that the app supports; nil if the entry decides nothing.
    fileprivate func minimum(_ version: TLSVersionName, of entry: DomainEntry) -> Bool? {
        guard let load = entry.effects?.loads.first else { return nil }
        let scope = scopes.about([load.secure])
        let changed = scope.changing { $0.exceptions[entry.key]?.minimumTLSVersion = version }
        return systems.someSupported(zip(scope.effects(load.secure), changed.effects(load.secure)).map { $0 != $1 })
    }
}

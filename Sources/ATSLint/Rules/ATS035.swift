// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats035 = Rule(
        id: "ATS035",
        severity: .error,
        summary: "A dictionary has the same key twice.",
        reason:
            "The parser of the system silently keeps one of the two, the last. A person who reads the file may see the other.",
        citation: Citation(source: "CoreFoundation: CFPropertyList.c (observed)", read: "2026-11-21"),
        fixDescription: "removes the ones that are not read",
        fires: Example(ats: "<key>NSAllowsArbitraryLoads</key>\n<false/>\n<key>NSAllowsArbitraryLoads</key>\n<false/>"),
        passes: Example(ats: "<key>NSAllowsArbitraryLoads</key>\n<false/>"),
        notApplicable: Example(
            ats:
                "<key>NSExceptionDomains</key>\n<dict>\n<key>a.example.com</key>\n<dict><key>NSIncludesSubdomains</key><false/></dict>\n"
                + "<key>b.example.com</key>\n<dict><key>NSIncludesSubdomains</key><false/></dict>\n</dict>"),
        check: .plist { facts, hits in
            for oddity in facts.subject.document.oddities where oddity.kind == .duplicateKey {
                let isATS = oddity.keyPath.first?.hasSameBytes(as: ATSKey.dictionary) == true
                hits.add(
                    Hit(
                        severity: isATS ? nil : .warning, keyPath: oddity.keyPath, offset: oddity.offset,
                        message:
                            "The key '\(oddity.keyPath.last?.prefix(bytes: 120) ?? "")' occurs twice in the same dictionary. This last one counts; the earlier one is never read.",
                        fix: "Remove the one that is not intended.", edits: oddity.earlier.map { [.remove($0)] } ?? []))
            }
        }
    )
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings

extension RuleCatalog {
    static let ats035 = Rule(
        "ATS035",
        .error,
        "A dictionary has the same key twice.",
        reason:
            "The parser of the system keeps one of the two, the last, without a word. Who reads the file sees the other.",
        citation: Citation(source: "CoreFoundation: CFPropertyList.c (observed)", read: "2026-11-21"),
        mend: "removes the ones that are not read",
        fires: Example("<key>NSAllowsArbitraryLoads</key>\n<false/>\n<key>NSAllowsArbitraryLoads</key>\n<false/>"),
        passes: Example("<key>NSAllowsArbitraryLoads</key>\n<false/>"),
        notApplicable: Example(
            "<key>NSExceptionDomains</key>\n<dict>\n<key>a.example.com</key>\n<dict><key>NSIncludesSubdomains</key><false/></dict>\n"
                + "<key>b.example.com</key>\n<dict><key>NSIncludesSubdomains</key><false/></dict>\n</dict>"
        ),
        check: .plist { facts, hits in
            for oddity in facts.subject.document.oddities where oddity.kind == .duplicateKey {
                let isATS = oddity.keyPath.first == "NSAppTransportSecurity"
                let earlier = earlierMember(oddity, facts.subject.document.root)
                hits.add(
                    Hit(
                        severity: isATS ? nil : .warning,
                        keyPath: oddity.keyPath,
                        offset: oddity.offset,
                        message:
                            "The key '\(oddity.keyPath.last?.prefix(120) ?? "")' stands twice in the same dictionary. This last one counts; the earlier one is never read.",
                        fix: "Remove the one that is not meant.",
                        mends: earlier.map { [.remove($0)] } ?? []
                    )
                )
            }
        }
    )

    /// The member that the reported one hides.
    private static func earlierMember(_ oddity: PlistDocument.Oddity, _ root: PlistNode) -> PlistMember? {
        var node = root
        for step in oddity.keyPath.dropLast() {
            guard let next = node[step] else { return nil }
            node = next
        }
        return node.members?.last { $0.key == oddity.keyPath.last && $0.keyRange.lowerBound < oddity.offset }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats035 = Rule(
        "ATS035",
        .error,
        "A dictionary has the same key twice.",
        reason:
            "The parser of the system silently keeps one of the two, the last. A person who reads the file may see the other.",
        citation: Citation(source: "CoreFoundation: CFPropertyList.c (observed)", read: "2026-11-21"),
        fixDescription: "removes the ones that are not read",
        fires: Example("<key>NSAllowsArbitraryLoads</key>\n<false/>\n<key>NSAllowsArbitraryLoads</key>\n<false/>"),
        passes: Example("<key>NSAllowsArbitraryLoads</key>\n<false/>"),
        notApplicable: Example(
            "<key>NSExceptionDomains</key>\n<dict>\n<key>a.example.com</key>\n<dict><key>NSIncludesSubdomains</key><false/></dict>\n"
                + "<key>b.example.com</key>\n<dict><key>NSIncludesSubdomains</key><false/></dict>\n</dict>"),
        check: .plist { facts, hits in
            var places = MemberPlaces(facts.subject.document.root)
            for oddity in facts.subject.document.oddities where oddity.kind == .duplicateKey {
                let isATS = oddity.keyPath.first?.hasSameBytes(as: ATSKey.dictionary) == true
                let earlier = places.last(oddity.keyPath, before: oddity.offset)
                hits.add(
                    Hit(
                        severity: isATS ? nil : .warning, keyPath: oddity.keyPath, offset: oddity.offset,
                        message:
                            "The key '\(oddity.keyPath.last?.prefix(bytes: 120) ?? "")' occurs twice in the same dictionary. This last one counts; the earlier one is never read.",
                        fix: "Remove the one that is not intended.", edits: earlier.map { [.remove($0)] } ?? []))
            }
        }
    )
}

/// Finds members by their paths, each dictionary on the way read once for all paths in a row that lead through it.
private struct MemberPlaces {
    private struct Level {
        let step: String
        let members: [PlistMember]
        /// The places of each key's members, in the order of the file.
        var places: [UTF8Key: [Int]]?
    }

    private var levels: [Level]

    init(_ root: PlistNode) { levels = [Level(step: "", members: root.members ?? [])] }

    /// The last member at a path that begins before an offset.
    mutating func last(_ path: [String], before offset: Int) -> PlistMember? {
        guard let key = path.last else { return nil }
        var depth = 1
        while depth < levels.count, depth < path.count, levels[depth].step.hasSameBytes(as: path[depth - 1]) {
            depth += 1
        }
        levels.removeSubrange(depth...)
        for step in path[(depth - 1)..<(path.count - 1)] {
            guard let place = places(of: step).last, let members = levels[levels.count - 1].members[place].node.members
            else { return nil }
            levels.append(Level(step: step, members: members))
        }
        let members = levels[levels.count - 1].members
        let places = places(of: key)
        // Later members of the same key stand behind the offset.
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if members[places[middle]].keyRange.lowerBound < offset { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? members[places[low - 1]] : nil
    }

    /// Where a key stands in the deepest dictionary.
    private mutating func places(of key: String) -> [Int] {
        let last = levels.count - 1
        if levels[last].places == nil {
            levels[last].places = Dictionary(grouping: levels[last].members.indices) {
                UTF8Key(levels[last].members[$0].key)
            }
        }
        return levels[last].places?[UTF8Key(key)] ?? []
    }
}

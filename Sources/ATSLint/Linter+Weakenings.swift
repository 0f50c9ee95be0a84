// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension Linter {
    /// What got weaker from one list to another: one finding for each host, or for all hosts without an entry together.
    ///
    /// Hosts that are worse off only because the rule for all hosts changed are not repeated one by one.
    public static func weakenings(from old: LintSubject, to new: LintSubject) -> LintResult {
        let difference = PolicyDifference(old: old, new: new)
        let lines = LineIndex(new.document.source)
        func name(_ weakening: PolicyDifference.Weakening) -> UTF8Key {
            UTF8Key("\(weakening.rule) \(weakening.key ?? "")")
        }
        let general = Set(difference.weakenings.filter(\.isGeneral).map(name))
        let facts = PlistFacts(new)
        let places = EntryPlaces(facts)
        var hits = Hits(FindingAllowance.bytes, of: new)
        for weakening in difference.weakenings {
            if !weakening.isGeneral, general.contains(name(weakening)) { continue }
            guard let rule = RuleCatalog.all.firstIndex(where: { $0.id == weakening.rule }) else { continue }
            let (path, offset) = places.place(of: weakening.key)
            hits.rule = rule
            hits.add(
                Hit(
                    keyPath: path, offset: offset, message: weakening.message,
                    fix: "Revert the change, or explain in the review why it is needed."))
        }
        return LintResult(
            subject: new,
            findings: hits.all.map { finding([$0], lines) },
            // App Review asks about what is there, whatever it was before.
            questions: lint(new).questions,
            omitted: hits.omitted
        )
    }
}

/// Where the keys of a dictionary stand that decide about a host.
private struct EntryPlaces {
    private let facts: PlistFacts
    private let containers: [(name: String, entries: [UTF8Key: DomainEntry])]

    init(_ facts: PlistFacts) {
        self.facts = facts
        containers = [(ATSKey.exceptionDomains, facts.exceptions), (ATSKey.pinnedDomains, facts.pins)].map {
            name,
            entries in
            (name, Dictionary(entries.map { (UTF8Key($0.key), $0) }, uniquingKeysWith: { $1 }))
        }
    }

    /// The path and the offset of a key like `NSExceptionDomains.api.example.com`; of the dictionary where it is not there.
    func place(of key: String?) -> ([String], Int) {
        let home = facts.ats?.keyRange.lowerBound ?? facts.subject.document.root.range.lowerBound
        guard let key else { return (PlistFacts.atsPath, home) }
        for (container, entries) in containers where key.utf8.starts(with: (container + ".").utf8) {
            let host = String(Substring(key.utf8.dropFirst(container.utf8.count + 1)))
            if let entry = entries[UTF8Key(host)] { return (entry.path, entry.member.keyRange.lowerBound) }
            return (PlistFacts.atsPath + [container, host], facts.global(container)?.keyRange.lowerBound ?? home)
        }
        return (facts.path(key), facts.global(key)?.keyRange.lowerBound ?? home)
    }
}

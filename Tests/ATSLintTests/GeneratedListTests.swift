// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import PropertyLists
import TLSModel
import TestSupport
import Testing
import Vocabulary

@testable import ATSLint

/// What the linter says of random lists is what `ATSPolicy` answers, on every system that the app supports: each claim, each piece of advice
/// and each fix is tried, the last two of every third list. `SEALWARD_LONG=1` tries 5,000 lists; `SEALWARD_SEED` gives them another seed.
@Suite struct GeneratedListTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let rounds = LongForm.isAsked ? 5_000 : 300
    private static let seed = environment["SEALWARD_SEED"].flatMap { UInt64($0) } ?? 20_261_126

    private static func contradictions(
        _ rounds: Int, _ check: (GeneratedList) throws -> [Contradiction]
    ) rethrows -> [Contradiction] {
        var random = SplitMix(state: seed)
        var found: [String: Contradiction] = [:]
        for _ in 0..<rounds {
            let list = GeneratedList(&random)
            for one in try check(list) where found[one.kind] == nil && found.count < 12 {
                let smallest = list.smallest { smaller in
                    (try? check(smaller))?.contains { $0.kind == one.kind } ?? false
                }
                found[one.kind] =
                    (try? check(smallest))?.first { $0.kind == one.kind }?.with(list: "\(smallest)") ?? one
            }
        }
        return found.values.sorted { $0.kind < $1.kind }
    }

    @Test func everyClaimIsTheEvaluatorsAndOneKeyHasOneFinding() throws {
        let found = try Self.contradictions(Self.rounds) { list in
            let lists = try EvaluatedList("\(list)")
            let findings = Linter.lint(lists.subject).findings
            return lists.contradictions(in: findings) + Self.doubled(findings.map(\.finding))
        }
        #expect(found.isEmpty, "\(found.map(\.description).joined(separator: "\n\n"))")
    }

    private static func doubled(_ findings: [Finding]) -> [Contradiction] {
        let keyed = findings.filter { $0.keyPath != ["NSAppTransportSecurity"] }
        let groups = Dictionary(grouping: keyed) { "\($0.keyPath) \(String(describing: $0.location))" }
        return groups.values.filter { $0.count > 1 }.map {
            Contradiction(
                kind: "two findings", claim: $0.map(\.message).joined(separator: " | "), answer: "", list: "")
        }
    }

    @Test func adviceWorks() throws {
        let found = try Self.contradictions(Self.rounds / 3) { try EvaluatedList("\($0)").contradictionsOfAdvice() }
        #expect(found.isEmpty, "\(found.map(\.description).joined(separator: "\n\n"))")
    }

    @Test func fixesAreDoneOnceAndLoosenNothing() throws {
        let found = try Self.contradictions(Self.rounds / 3) { try EvaluatedList("\($0)").contradictionsOfFixes() }
        #expect(found.isEmpty, "\(found.map(\.description).joined(separator: "\n\n"))")
    }

    /// Rules that answer by themselves are found out.
    @Test(arguments: PlantedFault.all) func aRuleThatGuessesIsFound(_ fault: PlantedFault) throws {
        var random = SplitMix(state: Self.seed)
        let isFound = try (0..<60).contains { _ in
            let lists = try EvaluatedList("\(GeneratedList(&random))")
            let facts = PlistFacts(lists.subject)
            var hits = Hits(FindingAllowance.bytes, of: lists.subject)
            hits.rule = RuleCatalog.all.firstIndex { $0.id == "ATS015" } ?? 0
            fault.check(facts, &hits)
            return !lists.contradictions(
                in: hits.all.map { Linter.finding([$0], LineIndex(lists.subject.document.source)) }
            ).isEmpty
        }
        #expect(isFound)
    }
}

/// A rule of the kind that was in the linter before it asked.
struct PlantedFault: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let check: @Sendable (PlistFacts, inout Hits) -> Void

    static let all = [
        PlantedFault(testDescription: "allowed") { facts, hits in
            for entry in facts.exceptions where entry.allowsInsecureLoads {
                hits.report(
                    entry.member, entry.path, "Plain HTTP to \(entry.key) is allowed. App Review asks why.", fix: nil)
            }
        },
        PlantedFault(testDescription: "may speak") { facts, hits in
            for entry in facts.exceptions {
                guard let (member, version) = entry.minimumVersion, version < .tls12 else { continue }
                hits.report(
                    member, entry.path(member.key),
                    "\(entry.key) may speak \(version.rawValue), which is below TLS 1.2. App Review asks why.", fix: nil
                )
            }
        },
        PlantedFault(testDescription: "needs no exception") { facts, hits in
            for entry in facts.exceptions where entry.host.isLocal {
                hits.report(
                    entry.member, entry.path,
                    "\(entry.key) is local and needs no exception: plain HTTP to it is allowed without the entry.",
                    fix: nil)
            }
        },
        PlantedFault(testDescription: "counts as absent") { facts, hits in
            for member in facts.members where ATSDictionary.booleanKeys.contains(member.key) {
                if case .boolean = member.node.value { continue }
                hits.report(member, facts.path(member.key), "\(member.key) is odd, so it counts as absent.", fix: nil)
            }
        },
    ]
}

/// Something that the linter says and the evaluator does not.
struct Contradiction: CustomStringConvertible {
    let kind: String
    let claim: String
    let answer: String
    var list: String

    var description: String { "[\(kind)] says: \(claim)\n  evaluator: \(answer)\n  with \(list)" }

    func with(list: String) -> Contradiction {
        var other = self
        other.list = list
        return other
    }
}

/// A list with the systems of its app, read without the linter's own helpers.
struct EvaluatedList {
    let subject: LintSubject
    let text: String
    let profiles: [OSProfile]
    /// Whether the list names its oldest system.
    private let isStated: Bool

    init(_ text: String) throws {
        self.text = text
        subject = try LintFixtures.subject(text)
        let root = subject.document.root
        let sdk = root["DTSDKName"]?.string.flatMap { name in
            name.dropFirst("iphoneos".count).split(separator: ".").first.flatMap { LinkedSDK(String($0)) }
        }
        let minimum = root["MinimumOSVersion"]?.string.map(Self.number)
        isStated = minimum != nil
        let ids = [
            "ios9", "ios10", "ios12", "ios12.2", "ios13", "ios14", "ios14.5", "ios15", "ios16", "ios17", "ios18",
            "ios26",
            "ios26.4", "ios27", "macos10.11", "macos10.14", "macos10.15", "macos13", "macos14", "macos26.4",
        ]
        profiles = ids.compactMap(OSProfile.named).filter { profile in
            guard let minimum else { return true }
            let number = Self.number(String(profile.id.drop { $0.isLetter }))
            return profile.id.hasPrefix("ios") && (number >= minimum || Self.isLast(profile.id, before: minimum))
        }.map { profile in sdk.map(profile.linked) ?? profile }
    }

    /// The systems that the app is said to support: those of today, where it does not say.
    private var supported: [OSProfile] {
        isStated ? profiles : profiles.filter { ["ios17", "ios18", "ios26", "ios26.4", "macos14"].contains($0.id) }
    }

    /// The oldest of the supported systems, the newest, and one between.
    private var sampled: [OSProfile] {
        let all = supported
        return [0, all.count / 2, all.count - 1].filter(all.indices.contains).reduce(into: [OSProfile]()) {
            chosen, index in
            if chosen.last?.id != all[index].id { chosen.append(all[index]) }
        }
    }

    private static func number(_ text: String) -> Double {
        let parts = text.split(separator: ".").compactMap { Double($0) }
        return (parts.first ?? 0) + (parts.count > 1 ? parts[1] / 100 : 0)
    }

    /// Whether the release is the one that a minimum between two releases means.
    private static func isLast(_ id: String, before minimum: Double) -> Bool {
        let known = [
            "ios9", "ios10", "ios12", "ios12.2", "ios13", "ios14", "ios14.5", "ios15", "ios16", "ios17", "ios18",
            "ios26",
        ]
        return known.last { number(String($0.dropFirst(3))) <= minimum } == id
    }

    // MARK: - What the evaluator answers

    private static func url(_ host: String, _ scheme: String) -> LoadURL? {
        try? LoadURL("\(scheme)://\(host.contains(":") ? "[\(host)]" : host)/")
    }

    private static func dictionary(_ document: PlistDocument) -> ATSDictionary {
        ATSDictionary(document.root["NSAppTransportSecurity"]?.propertyListValue)
    }

    private var dictionary: ATSDictionary { Self.dictionary(subject.document) }

    private static func answer(_ policy: ATSPolicy, _ url: LoadURL, _ loader: Loader = .urlsession) -> URLDecision {
        policy.decide(url, loader: loader)
    }

    /// Everything that decides how a load ends.
    private static func outcome(_ decision: URLDecision) -> String {
        let needs = decision.requirements
        guard decision.url.isSecure else { return decision.verdict.rawValue }
        func pins(_ set: Set<[UInt8]>?) -> String { set.map { "\($0.map { "\($0)" }.sorted())" } ?? "-" }
        return
            "\(decision.verdict) \(needs.effectiveMinimum) \(needs.suitePolicy) \(needs.serverTrust) \(needs.delegateMayAccept) \(needs.judgesKeySize) "
            + "\(needs.isHardened) \(needs.entryRequiresTransparency) \(pins(needs.pins?.authorities)) \(pins(needs.pins?.leaves))"
    }

    /// Every host that any of two dictionaries may treat in a way of its own.
    private static func hosts(_ dictionaries: [ATSDictionary]) -> [String] {
        var hosts: Set<String> = [
            "host.invalid", "192.0.2.77", "localhost", "printer.local", "10.77.77.77", "100.64.7.7",
        ]
        for dictionary in dictionaries {
            for key in dictionary.exceptions.keys.map({ $0 }) + dictionary.pinnedDomains.map(\.domain) {
                if let range = AddressRange(key) {
                    hosts.formUnion([range.base.canonicalText])
                    continue
                }
                guard let url = try? LoadURL("http://\(key.contains("::") ? "[\(key)]" : key)/") else { continue }
                hosts.insert(url.host)
                if IPAddress(url.host) == nil { hosts.formUnion(["zz.\(url.host)", "zz.zz.\(url.host)"]) }
            }
        }
        return hosts.sorted()
    }

    /// What both dictionaries do to each load on the supported systems.
    private func compare(
        _ other: ATSDictionary, on systems: [OSProfile]? = nil
    ) -> [(place: String, before: URLDecision, after: URLDecision)] {
        var result: [(String, URLDecision, URLDecision)] = []
        let hosts = Self.hosts([dictionary, other])
        for profile in systems ?? sampled {
            let (old, new) = (
                ATSPolicy(dictionary: dictionary, profile: profile), ATSPolicy(dictionary: other, profile: profile)
            )
            for host in hosts {
                for scheme in ["http", "https"] {
                    guard let url = Self.url(host, scheme) else { continue }
                    for loader in host == "host.invalid" ? [Loader.urlsession, .web, .media] : [.urlsession] {
                        result.append(
                            (
                                "\(url) by \(loader) on \(profile.id)", Self.answer(old, url, loader),
                                Self.answer(new, url, loader)
                            ))
                    }
                }
            }
        }
        return result
    }

    private func firstDifference(_ other: ATSDictionary, on systems: [OSProfile]? = nil) -> String? {
        compare(other, on: systems).first { Self.outcome($0.before) != Self.outcome($0.after) }.map {
            "\($0.place): \(Self.outcome($0.before)) becomes \(Self.outcome($0.after))"
        }
    }

    /// A load that was permitted and is not, or that must meet more.
    private func firstLoss(_ other: ATSDictionary) -> String? {
        compare(other).first { change in
            let (old, new) = (change.before.requirements, change.after.requirements)
            guard change.before.verdict != .blocked else { return false }
            guard change.after.verdict != .blocked else { return true }
            return change.before.url.isSecure
                && (new.effectiveMinimum > old.effectiveMinimum
                    || old.serverTrust == .default && new.serverTrust == .ats
                    || old.delegateMayAccept && !new.delegateMayAccept)
        }.map { "\($0.place): \(Self.outcome($0.before)) becomes \(Self.outcome($0.after))" }
    }

    // MARK: - Claims

    /// Whether a phrase such as ` since iOS 17 and macOS 14` includes a system.
    private static func includes(_ words: String, _ profile: OSProfile) -> Bool {
        let own = number(String(profile.id.drop { $0.isLetter }))
        let names = profile.id.hasPrefix("ios") ? ["iOS "] : ["macOS ", "OS X "]
        func bound(_ text: Substring) -> Double? {
            let start = names.lazy.compactMap { text.range(of: $0)?.upperBound }.first
            return start.map { number(String(text[$0...].prefix { $0.isNumber || $0 == "." })) }
        }
        if words.isEmpty { return true }
        let pieces = words.replacingOccurrences(of: " and since", with: "|since").replacingOccurrences(
            of: " and from", with: "|from"
        )
        .replacingOccurrences(of: " and before", with: "|before").split(separator: "|")
        return pieces.contains { piece in
            if piece.contains("to before") {
                let parts = piece.components(separatedBy: "to before")
                guard let low = bound(Substring(parts[0])), let high = bound(Substring(parts[1])) else { return false }
                return own >= low && own < high
            }
            guard let number = bound(piece) else { return false }
            return piece.contains("before") ? own < number : own >= number
        }
    }

    /// Systems, as the end of a clause.
    private static let s = #"(?<words>(?: (?:since|before|from) (?:[^;:.,(]|\.[0-9])*)?)"#
    private static let v = #" (?<version>TLSv1\.[0-9])"#
    private static let h = #"(?<host>\S+?)(?: \(apart from narrower entries\))?"#

    /// Sentences with a host and systems, and what must hold exactly there.
    private struct Claim: Sendable {
        let pattern: String
        /// Whether it holds for a host on a system, with the entry and without.
        let holds: @Sendable (_ with: ATSPolicy, _ without: ATSPolicy, _ host: String, _ version: String) -> Bool
    }

    private static func decides(_ policy: ATSPolicy, _ key: String) -> Bool {
        sample(policy, key).flatMap { url($0, "https") }.map {
            policy.decide($0).rule.key == "NSExceptionDomains.\(key)"
        }
            ?? false
    }

    /// A host for a key: itself, or an address of a range, one that no narrower entry covers if there is one.
    private static func sample(_ policy: ATSPolicy, _ key: String) -> String? {
        guard let range = AddressRange(key) else { return key }
        let addresses = [UInt8(0), 1, 9, 255].compactMap { last -> String? in
            var bytes = range.base.bytes
            if range.prefixLength <= bytes.count * 8 - 8 { bytes[bytes.count - 1] |= last }
            return IPAddress(bytes: bytes)?.canonicalText
        }
        return addresses.first {
            url($0, "https").map { policy.decide($0).rule.key == "NSExceptionDomains.\(key)" } == true
        }
            ?? addresses.first
    }

    private static func permitted(_ policy: ATSPolicy, _ host: String, _ scheme: String = "http") -> Bool {
        sample(policy, host).flatMap { url($0, scheme) }.map { policy.decide($0).verdict != .blocked } ?? false
    }

    private static func needs(_ policy: ATSPolicy, _ host: String) -> TransportRequirements? {
        sample(policy, host).flatMap { url($0, "https") }.map { policy.decide($0).requirements }
    }

    private static let claims: [Claim] = [
        Claim(pattern: "Plain HTTP to \(h)(?: and its subdomains)? is allowed\(s)\\. App Review") { with, _, host, _ in
            permitted(with, host) && decides(with, host)
        },
        Claim(pattern: "Plain HTTP to \(h) and its subdomains is allowed\(s)\\. App Review") { with, _, host, _ in
            permitted(with, "zz." + host) && decides(with, host)
        },
        Claim(pattern: "\(h) may speak\(v)\(s), which is below") { with, _, host, version in
            decides(with, host)
                && needs(with, host).map {
                    $0.effectiveMinimum <= (TLSVersionName(rawValue: version)?.version ?? .tls13)
                } == true
        },
        Claim(pattern: "\(h) may use RSA key exchange without forward secrecy\(s);") { with, _, host, _ in
            decides(with, host)
                && needs(with, host).map { $0.suitePolicy != .ats && !$0.isHardened && $0.effectiveMinimum < .tls13 }
                    == true
        },
        Claim(pattern: "lifts the limit on cipher suites for \(h) altogether\(s)\\.") { with, _, host, _ in
            decides(with, host)
                && needs(with, host).map { $0.suitePolicy == .system && !$0.isHardened && $0.effectiveMinimum < .tls13 }
                    == true
        },
        Claim(pattern: "\(h) must speak TLS 1.3\(s);") { with, _, host, _ in
            decides(with, host) && needs(with, host)?.effectiveMinimum == .tls13
        },
        Claim(pattern: "\(h) is local and needs no exception\(s): plain") { _, without, host, _ in
            permitted(without, host)
        },
        Claim(
            pattern:
                "\(h) is local(?:, as field reports say)?\\. This entry blocks plain HTTP to it\(s)(?: \\(its .*\\))?, because"
        ) {
            with, without, host, _ in
            !permitted(with, host) && permitted(without, host)
        },
        Claim(pattern: "this entry turns it back on for \(h): plain HTTP to it is blocked\(s)\\.") {
            with, without, host, _ in
            !permitted(with, host) && permitted(without, host)
        },
        Claim(pattern: "of \(h) has no usable pin: .* every connection fails\(s)\\.") { with, _, host, _ in
            guard let pins = needs(with, host)?.pins else { return false }
            return [pins.authorities, pins.leaves].contains { $0.map { !$0.contains { $0.count == 32 } } ?? false }
        },
        Claim(pattern: "this exception has no effect\(s): ATS accepts \(v.dropFirst()) for \(h),") {
            with, _, host, version in
            decides(with, host)
                && needs(with, host).map {
                    $0.effectiveMinimum > (TLSVersionName(rawValue: version)?.version ?? .tls13)
                } == true
        },
    ]

    func contradictions(in findings: [LintFinding]) -> [Contradiction] {
        var result: [Contradiction] = []
        for finding in findings.map(\.finding) {
            for claim in Self.claims { result += check(claim, finding) }
            result += checkEffects(finding)
        }
        return result
    }

    private func check(_ claim: Claim, _ finding: Finding) -> [Contradiction] {
        guard let regex = try? NSRegularExpression(pattern: claim.pattern) else { return [] }
        let text = finding.message as NSString
        guard let match = regex.firstMatch(in: finding.message, range: NSRange(location: 0, length: text.length)) else {
            return []
        }
        func group(_ name: String) -> String {
            let range = match.range(withName: name)
            return range.location == NSNotFound ? "" : text.substring(with: range)
        }
        let (host, words, version) = (group("host"), group("words"), group("version"))
        var rest = dictionary
        rest.exceptions[host] = nil
        var wrong: [String] = []
        for profile in profiles {
            let (with, without) = (
                ATSPolicy(dictionary: dictionary, profile: profile), ATSPolicy(dictionary: rest, profile: profile)
            )
            let said = Self.includes(words, profile)
            let holds = claim.holds(with, without, host, version)
            // A sentence about local hosts is about those that are local; elsewhere nothing is said.
            if said != holds, said || !finding.message.contains("local") { wrong.append(profile.id) }
        }
        guard !wrong.isEmpty else { return [] }
        return [
            Contradiction(
                kind: "\(finding.rule) \(claim.pattern.prefix(30))", claim: finding.message,
                answer: "not so on \(wrong.joined(separator: ", ")) (\(words))", list: text as String)
        ]
    }

    /// Sentences that a key changes nothing, tried by removing it.
    private func checkEffects(_ finding: Finding) -> [Contradiction] {
        let silent = [
            "counts as absent", "is never read", "the system ignores it", "It changes no load there",
            "repeats the default",
            "is empty and changes nothing", "never existed", "is empty and adds no pin", "has no effect on '",
        ]
        guard let words = silent.first(where: finding.message.contains),
            finding.keyPath.first == "NSAppTransportSecurity",
            finding.keyPath.count > 1, !finding.message.contains("occurs twice"),
            // Of an entry to remove it is said with it what is wrong with its keys.
            !finding.message.contains(" is local"),
            let other = Self.removing(finding.keyPath, subject)
        else { return [] }
        let difference = firstDifference(Self.dictionary(other.document))
        let against = [(subject, other), (other, subject)].flatMap {
            PolicyDifference(old: $0, new: $1).weakenings.map(\.message)
        }
        if difference == nil, against.isEmpty { return [] }
        return [
            Contradiction(
                kind: "\(finding.rule) \(words)", claim: finding.message,
                answer: difference ?? against.joined(), list: "")
        ]
    }

    /// The list without the last member at a path.
    private static func removing(_ path: [String], _ subject: LintSubject) -> LintSubject? {
        var node = subject.document.root
        for step in path.dropLast() {
            guard let next = node[step] else { return nil }
            node = next
        }
        guard let key = path.last, let member = node.member(key),
            let text = PlistFixer.applied([.remove(member.range)], to: subject.document.source),
            let document = try? PlistReader.read(text)
        else { return nil }
        return subject.with(document)
    }

    // MARK: - Advice and fixes

    func contradictionsOfAdvice() -> [Contradiction] {
        let before = Linter.lint(subject)
        var result: [Contradiction] = []
        for finding in before.findings {
            for advice in finding.advice {
                func fail(_ kind: String, _ answer: String) {
                    result.append(
                        Contradiction(
                            kind: "\(finding.finding.rule) \(kind)",
                            claim: "\(finding.finding.message) -> \(finding.finding.fix ?? "")",
                            answer: answer, list: ""))
                }
                guard let text = PlistFixer.applied(advice.edits, to: subject.document.source),
                    let document = try? PlistReader.read(text)
                else {
                    fail("edits", "the edits do not fit")
                    continue
                }
                let after = Linter.lint(subject.with(document))
                let stays = after.findings.contains {
                    $0.finding.keyPath == finding.finding.keyPath && $0.finding.rule == finding.finding.rule
                        && $0.finding.message == finding.finding.message
                }
                if stays { fail("stays", "the finding is still there") }
                // About the key that was written nothing is wrong, unless that was said before, and no key is made dead.
                let written = advice.edits.map { edit -> String in
                    if case .replace(_, let text) = edit, let end = text.range(of: "</key>") {
                        return text[..<end.lowerBound].components(separatedBy: "<key>").last ?? ""
                    }
                    return ""
                }
                for error in after.findings where error.finding.severity == .error {
                    let isOfKey =
                        error.finding.keyPath.last.map(written.contains) == true
                        || error.finding.keyPath == finding.finding.keyPath
                    let isNew = !before.findings.contains {
                        $0.rules.contains(where: error.rules.contains)
                            && ($0.finding.keyPath.starts(with: finding.finding.keyPath)
                                || $0.finding.keyPath == error.finding.keyPath)
                    }
                    if isNew, isOfKey || error.finding.rule == "ATS011" {
                        fail("adds", "the linter then says \(error.finding.message)")
                    }
                }
                let other = Self.dictionary(document)
                switch advice.promise {
                case .sameLoads: if let difference = firstDifference(other) { fail("same", difference) }
                case .asManyLoads: if let loss = firstLoss(other) { fail("loss", loss) }
                case .otherLoads: if firstDifference(other, on: supported) == nil { fail("other", "nothing changes") }
                case .goes: break
                }
            }
        }
        return result
    }

    func contradictionsOfFixes() -> [Contradiction] {
        let fixer = PlistFixer(subject) { try? PlistReader.read($0) }
        var result: [Contradiction] = []
        func fail(_ kind: String, _ answer: String) {
            result.append(
                Contradiction(
                    kind: kind, claim: fixer.steps.map { "\($0.finding.rule) \($0.action)" }.joined(separator: ", "),
                    answer: answer, list: ""))
        }
        guard let document = try? PlistReader.read(fixer.text) else {
            fail("fix unreadable", "the text is no property list")
            return result
        }
        let fixed = subject.with(document)
        let again = PlistFixer(fixed) { try? PlistReader.read($0) }
        if !again.steps.isEmpty { fail("fix twice", again.steps.map(\.action).joined(separator: ", ")) }
        func variables(_ text: String) -> [String] {
            text.components(separatedBy: "<").filter { $0.contains("$(") || $0.contains("${") }.sorted()
        }
        if variables(text) != variables(String(decoding: fixer.text, as: UTF8.self)) {
            fail("fix variables", "a variable changed")
        }
        // What loads after the fix loaded before.
        let back = try? EvaluatedList(String(decoding: fixer.text, as: UTF8.self)).firstLoss(dictionary)
        if let loss = back ?? nil { fail("fix loosens", loss) }
        return result
    }
}

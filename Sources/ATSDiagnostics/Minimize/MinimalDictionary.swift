// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
public import Findings

/// The smallest dictionary that lets every target load, with its proof.
public struct MinimalDictionary: Sendable {
    /// A key that cannot be left out, with a target that fails without it.
    public struct Need: Sendable, Equatable {
        /// Components joined by `.`.
        public let keyPath: String
        /// The target that fails without it.
        public let target: String
        /// The first cause of that target's failure without the key.
        public let without: Code
    }

    /// A key of the app's dictionary that no target needs.
    public struct DeadKey: Sendable, Equatable {
        /// Components joined by `.`.
        public let keyPath: String
        /// Why nothing needs it, as a sentence.
        public let why: String
    }

    /// A target that no dictionary lets load.
    public struct Impossible: Sendable, Equatable {
        /// The target as it was given.
        public let target: String
        /// The first cause.
        public let because: Code
        /// The cause as a sentence.
        public let message: String
        /// Whether the target could not be reached, so that nothing is known.
        public let isUndetermined: Bool
    }

    /// The value of NSAppTransportSecurity.
    public let dictionary: PropertyListValue
    /// Each key of the dictionary, with its proof.
    public let needed: [Need]
    /// Keys of the app's own dictionary that can go.
    public let dead: [DeadKey]
    /// Targets that no dictionary helps.
    public let impossible: [Impossible]
}

/// Searches the smallest dictionary from what was learned about each target: pure.
///
/// Exposure counts, least first: no key; forward secrecy off; a lower minimum; insecure HTTP; and an entry for one host before one for a
/// parent with its subdomains, before a global key. An entry for one host changes no other host, so hosts are searched one by one, and an
/// entry with subdomains or a global key never exposes less than the entries for the hosts that need them; a global key is the answer
/// only where the system reads no exceptions for addresses.
package struct DictionarySearch: Sendable {
    package let judges: [(target: CheckTarget, judge: ConfigurationJudge)]

    package init(_ judges: [(target: CheckTarget, judge: ConfigurationJudge)]) { self.judges = judges }

    /// - Parameter app: the app's own dictionary, whose keys are looked through for dead ones.
    package func minimal(app: PropertyListValue? = nil) -> MinimalDictionary {
        var entries: [String: [String: PropertyListValue]] = [:]
        var global: PropertyListValue?
        var impossible: [MinimalDictionary.Impossible] = []
        var possible: [(target: CheckTarget, judge: ConfigurationJudge)] = []
        for (target, judge) in judges {
            switch judge.smallestException() {
            case .none: possible.append((target, judge))
            case .dictionary(let value):
                possible.append((target, judge))
                let domains = value.members?[ATSKey.exceptionDomains]?.members
                if domains == nil { global = value }
                for (host, entry) in domains ?? [:] {
                    entries[host] = DictionarySearch.union(entries[host] ?? [:], entry.members ?? [:])
                }
            case .noneHelps:
                let judgement = judge.judge(dictionary: DictionarySearch.widest(for: target))
                let first = judgement.because.first
                impossible.append(
                    MinimalDictionary.Impossible(
                        target: target.url.text,
                        because: first?.code ?? "ats.http.no-answer",
                        message: first?.message ?? "No dictionary lets this target load.",
                        isUndetermined: judgement.result == .undetermined
                    )
                )
            }
        }
        var dictionary = global ?? ExceptionCandidates.dictionary(entries)
        if global == nil { dictionary = DictionarySearch.prune(dictionary, possible) }
        return MinimalDictionary(
            dictionary: dictionary,
            needed: DictionarySearch.needs(of: dictionary, possible),
            dead: app.map { DictionarySearch.dead(in: $0, possible) } ?? [],
            impossible: impossible
        )
    }

    /// The keys that two targets on one host need together: the lower minimum, and whatever either needs.
    private static func union(
        _ left: [String: PropertyListValue],
        _ right: [String: PropertyListValue]
    ) -> [String: PropertyListValue] {
        left.merging(right) { one, other in
            if case .string(let a) = one, case .string(let b) = other { return .string(min(a, b)) }
            return one
        }
    }

    private static func widest(for target: CheckTarget) -> PropertyListValue {
        target.url.literalAddress == nil
            ? ExceptionCandidates.entries.last.map { ExceptionCandidates.dictionary([target.url.host: $0]) }
                ?? .dictionary([:])
            : .dictionary([ATSKey.arbitraryLoads: .boolean(true)])
    }

    private static func allPass(
        _ dictionary: PropertyListValue,
        _ judges: [(target: CheckTarget, judge: ConfigurationJudge)]
    ) -> Bool {
        judges.allSatisfy { $0.judge.judge(dictionary: dictionary).result == .pass }
    }

    /// Leaves out every key without which all targets still load: two targets on one host may make a key of one superfluous.
    private static func prune(
        _ dictionary: PropertyListValue,
        _ judges: [(target: CheckTarget, judge: ConfigurationJudge)]
    ) -> PropertyListValue {
        var dictionary = dictionary
        for path in KeyPaths.all(in: dictionary) {
            let smaller = KeyPaths.removing(path, from: dictionary)
            if allPass(smaller, judges) { dictionary = smaller }
        }
        return dictionary
    }

    private static func needs(
        of dictionary: PropertyListValue,
        _ judges: [(target: CheckTarget, judge: ConfigurationJudge)]
    ) -> [MinimalDictionary.Need] {
        KeyPaths.all(in: dictionary).compactMap { path in
            let without = KeyPaths.removing(path, from: dictionary)
            for (target, judge) in judges {
                let judgement = judge.judge(dictionary: without)
                guard judgement.result != .pass, let cause = judgement.because.first else { continue }
                return MinimalDictionary.Need(
                    keyPath: KeyPaths.text(path),
                    target: target.url.text,
                    without: cause.code
                )
            }
            return nil
        }
    }

    /// Keys of the app's dictionary that can go, one after another, with every target that loads under it still loading.
    private static func dead(
        in app: PropertyListValue,
        _ judges: [(target: CheckTarget, judge: ConfigurationJudge)]
    ) -> [MinimalDictionary.DeadKey] {
        let loading = judges.filter { $0.judge.judge(dictionary: app).result == .pass }
        var dictionary = app
        var dead: [MinimalDictionary.DeadKey] = []
        for path in KeyPaths.all(in: app) where KeyPaths.weakens(path, in: app) {
            let smaller = KeyPaths.removing(path, from: dictionary)
            guard allPass(smaller, loading) else { continue }
            dictionary = smaller
            let host = path.count > 1 ? path[1] : nil
            let touched = host.map { name in
                judges.contains { $0.target.url.host == name || $0.target.url.host.hasSuffix("." + name) }
            }
            let why =
                touched == false
                ? "None of the targets is on this host, and all of them load without the key."
                : "Every target that loads with this key loads without it: its server complies today."
            dead.append(MinimalDictionary.DeadKey(keyPath: KeyPaths.text(path), why: why))
        }
        return dead
    }
}

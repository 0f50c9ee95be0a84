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

    /// The smallest dictionary.
    public let dictionary: ATSDictionary
    /// Each key of the dictionary, with its proof.
    public let needed: [Need]
    /// Keys of the app's own dictionary that can go.
    public let dead: [DeadKey]
    /// Targets that no dictionary helps, and those that could not be reached.
    public let impossible: [Impossible]
    /// How many targets the dictionary lets load.
    package let loading: Int
    /// What the proof rests on that was inferred and not measured.
    package let notes: [Cause]
    /// How many times a target was judged under some dictionary to find the keys.
    let judgements: Int
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
    package func minimal(app: ATSDictionary? = nil) -> MinimalDictionary {
        var entries: [String: ExceptionEntry] = [:]
        var global: ATSDictionary?
        var impossible: [MinimalDictionary.Impossible] = []
        var possible: [(target: CheckTarget, judge: ConfigurationJudge)] = []
        var failing: [(target: CheckTarget, isUndetermined: Bool)] = []
        for (target, judge) in judges {
            switch judge.smallestException() {
            case .none: possible.append((target, judge))
            case .dictionary(let value):
                possible.append((target, judge))
                if value.exceptions.isEmpty { global = value }
                for (host, entry) in value.exceptions { entries[host] = entries[host]?.union(entry) ?? entry }
            case .noneHelps:
                let judgement = judge.judge(dictionary: DictionarySearch.widest(for: target))
                let first = judgement.because.first
                failing.append((target, judgement.result == .undetermined))
                impossible.append(
                    MinimalDictionary.Impossible(
                        target: target.url.text, because: first?.code ?? .httpNoAnswer,
                        message: first?.message ?? "No dictionary lets this target load.",
                        isUndetermined: judgement.result == .undetermined))
            }
        }
        var smallest = ShrinkingDictionary(global ?? ExceptionLadder.dictionary(entries), possible.map(\.judge))
        if global == nil { smallest.prune() }
        let needed = DictionarySearch.needs(of: &smallest, possible)
        var notes: [Cause] = []
        for place in possible.indices {
            for note in smallest.inferences(of: place)
            where !notes.contains(where: { $0.message.hasSameBytes(as: note.message) }) { notes.append(note) }
        }
        var judgements = smallest.judgements
        var dead: [MinimalDictionary.DeadKey] = []
        if let app {
            (dead, judgements) = DictionarySearch.dead(
                in: app, possible, failing, on: judges.first?.judge.profile, judgements)
        }
        return MinimalDictionary(
            dictionary: smallest.dictionary, needed: needed, dead: dead, impossible: impossible,
            loading: possible.count, notes: notes, judgements: judgements)
    }

    private static func widest(for target: CheckTarget) -> ATSDictionary {
        guard target.url.literalAddress == nil, let last = ExceptionLadder.entries.last else {
            return .allowingEverything
        }
        return ExceptionLadder.dictionary(host: target.url.host, last)
    }

    private static func needs(
        of dictionary: inout ShrinkingDictionary, _ judges: [(target: CheckTarget, judge: ConfigurationJudge)]
    ) -> [MinimalDictionary.Need] {
        dictionary.dictionary.settings.compactMap { setting in
            dictionary.firstFailure(without: setting).map { place, cause in
                MinimalDictionary.Need(
                    keyPath: setting.keyPath, target: judges[place].target.url.text, without: cause.code)
            }
        }
    }

    /// Keys of the app's dictionary that can go, one after another, with every target that loads under it still loading.
    ///
    /// Of a key for a target that could not be reached nothing is claimed, unless the system gives it no effect.
    ///
    /// - Parameters:
    ///   - failing: targets that do not load under any dictionary, as far as is known.
    ///   - judgements: how many the search took so far.
    private static func dead(
        in app: ATSDictionary, _ judges: [(target: CheckTarget, judge: ConfigurationJudge)],
        _ failing: [(target: CheckTarget, isUndetermined: Bool)], on profile: OSProfile?, _ judgements: Int
    ) -> (dead: [MinimalDictionary.DeadKey], judgements: Int) {
        let all = ShrinkingDictionary(app, judges.map(\.judge))
        let loading = judges.indices.filter { !all.failing.contains($0) }.map { judges[$0].judge }
        let before = judgements + all.judgements
        var remaining = ShrinkingDictionary(app, loading)
        let undetermined = Domains(failing.filter(\.isUndetermined).map(\.target))
        let (known, unloaded) = (Domains(judges.map(\.target)), Domains(failing.map(\.target)))
        var dead: [MinimalDictionary.DeadKey] = []
        for setting in app.settings where app.weakens(setting) {
            let without = withoutEffect(setting, of: app, on: profile)
            let mayGo = without != nil || !undetermined.contains(setting)
            guard mayGo, remaining.remove(setting) else { continue }
            let why =
                if let without {
                    without
                } else if known.contains(setting) {
                    "Every target that loads with this key also loads without it: its server complies today."
                } else if unloaded.contains(setting) {
                    "The target of this key does not load, with or without the key."
                } else {
                    "None of the targets is on this host, and all of them load without the key."
                }
            dead.append(MinimalDictionary.DeadKey(keyPath: setting.keyPath, why: why))
        }
        return (dead, before + remaining.judgements)
    }

    /// The hosts of some targets and every domain above them: whether a key is for one of the targets.
    private struct Domains {
        private let names: Set<UTF8Key>
        private let isEmpty: Bool

        init(_ targets: [CheckTarget]) {
            names = Set(targets.lazy.flatMap { $0.url.host.selfAndParents.map { UTF8Key($0) } })
            isEmpty = targets.isEmpty
        }

        /// A key without a host is for every target.
        func contains(_ setting: ATSSetting) -> Bool {
            setting.host.map { names.contains(UTF8Key($0)) } ?? !isEmpty
        }
    }

    /// Why a key changes nothing on this system, whatever the servers do; nil if it may.
    private static func withoutEffect(_ setting: ATSSetting, of app: ATSDictionary, on profile: OSProfile?) -> String? {
        guard let profile, setting.components.last == ATSKey.minimumTLSVersion,
            let version = setting.host.flatMap({ app.exceptions[$0]?.minimumTLSVersion }),
            version.version < profile.stackMinimum.value
        else { return nil }
        return
            "Apps linked on \(profile.sdk.map(\.description) ?? "this SDK") do not speak \(version.rawValue) on \(profile.name) unless their code sets "
            + "tlsMinimumSupportedProtocolVersion, so the key has no effect."
    }
}

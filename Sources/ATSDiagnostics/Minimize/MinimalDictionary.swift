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
                        target: target.url.text,
                        because: first?.code ?? .httpNoAnswer,
                        message: first?.message ?? "No dictionary lets this target load.",
                        isUndetermined: judgement.result == .undetermined
                    )
                )
            }
        }
        var dictionary = global ?? ExceptionLadder.dictionary(entries)
        if global == nil { dictionary = DictionarySearch.prune(dictionary, possible) }
        return MinimalDictionary(
            dictionary: dictionary,
            needed: DictionarySearch.needs(of: dictionary, possible),
            dead: app.map { DictionarySearch.dead(in: $0, possible, failing, on: judges.first?.judge.profile) } ?? [],
            impossible: impossible,
            loading: possible.count,
            notes: possible.flatMap { $0.judge.inferences(under: dictionary) }.reduce(into: []) { notes, note in
                if !notes.contains(where: { $0.message.hasSameBytes(as: note.message) }) { notes.append(note) }
            }
        )
    }

    private static func widest(for target: CheckTarget) -> ATSDictionary {
        guard target.url.literalAddress == nil, let last = ExceptionLadder.entries.last else {
            return .allowingEverything
        }
        return ExceptionLadder.dictionary(host: target.url.host, last)
    }

    private static func allPass(
        _ dictionary: ATSDictionary,
        _ judges: [(target: CheckTarget, judge: ConfigurationJudge)]
    ) -> Bool {
        judges.allSatisfy { $0.judge.judge(dictionary: dictionary).result == .pass }
    }

    /// Leaves out every key without which all targets still load: two targets on one host may make a key of one superfluous.
    private static func prune(
        _ dictionary: ATSDictionary,
        _ judges: [(target: CheckTarget, judge: ConfigurationJudge)]
    ) -> ATSDictionary {
        var dictionary = dictionary
        for setting in dictionary.settings {
            let smaller = dictionary.removing(setting)
            if allPass(smaller, judges) { dictionary = smaller }
        }
        return dictionary
    }

    private static func needs(
        of dictionary: ATSDictionary,
        _ judges: [(target: CheckTarget, judge: ConfigurationJudge)]
    ) -> [MinimalDictionary.Need] {
        dictionary.settings.compactMap { setting in
            let without = dictionary.removing(setting)
            for (target, judge) in judges {
                let judgement = judge.judge(dictionary: without)
                guard judgement.result != .pass, let cause = judgement.because.first else { continue }
                return MinimalDictionary.Need(
                    keyPath: setting.keyPath,
                    target: target.url.text,
                    without: cause.code
                )
            }
            return nil
        }
    }

    /// Keys of the app's dictionary that can go, one after another, with every target that loads under it still loading.
    ///
    /// Of a key for a target that could not be reached nothing is claimed, unless the system gives it no effect.
    ///
    /// - Parameter failing: targets that do not load under any dictionary, as far as is known.
    private static func dead(
        in app: ATSDictionary,
        _ judges: [(target: CheckTarget, judge: ConfigurationJudge)],
        _ failing: [(target: CheckTarget, isUndetermined: Bool)],
        on profile: OSProfile?
    ) -> [MinimalDictionary.DeadKey] {
        let loading = judges.filter { $0.judge.judge(dictionary: app).result == .pass }
        var dictionary = app
        var dead: [MinimalDictionary.DeadKey] = []
        for setting in app.settings where app.weakens(setting) {
            let smaller = dictionary.removing(setting)
            guard allPass(smaller, loading) else { continue }
            let without = withoutEffect(setting, of: app, on: profile)
            func isFor(_ target: CheckTarget) -> Bool { setting.host.map { target.url.host.isSameOrBelow($0) } ?? true }
            if without == nil, failing.contains(where: { $0.isUndetermined && isFor($0.target) }) { continue }
            dictionary = smaller
            if let why = without {
                dead.append(MinimalDictionary.DeadKey(keyPath: setting.keyPath, why: why))
                continue
            }
            let why =
                if judges.contains(where: { isFor($0.target) }) {
                    "Every target that loads with this key also loads without it: its server complies today."
                } else if failing.contains(where: { isFor($0.target) }) {
                    "The target of this key does not load, with or without the key."
                } else {
                    "None of the targets is on this host, and all of them load without the key."
                }
            dead.append(MinimalDictionary.DeadKey(keyPath: setting.keyPath, why: why))
        }
        return dead
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

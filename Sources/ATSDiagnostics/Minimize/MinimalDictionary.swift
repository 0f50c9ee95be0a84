// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
public import Vocabulary

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

    /// A target that loads only if code of the app accepts its certificate.
    public struct WithCode: Sendable, Equatable {
        /// The target as it was given.
        public let target: String
        /// What the dictionary must say besides; empty if nothing.
        public let dictionary: ATSDictionary
        /// Why the certificate is refused: the first cause.
        public let because: Code
        /// What to do, as a sentence.
        public let message: String
    }

    /// The smallest dictionary.
    public let dictionary: ATSDictionary
    /// Each key of the dictionary, with its proof.
    public let needed: [Need]
    /// Keys of the app's own dictionary that can go.
    public let dead: [DeadKey]
    /// Keys that can go only together with the dead ones: alone, the removal of one changes how a target loads.
    public let deadTogether: [DeadKey]
    /// Targets that no dictionary helps, and those that could not be reached.
    public let impossible: [Impossible]
    /// Targets for which code of the app is needed; their keys are not part of the dictionary, because alone they help nothing.
    public let withCode: [WithCode]
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
        var withCode: [MinimalDictionary.WithCode] = []
        for (target, judge) in judges {
            switch judge.smallestException() {
            case .none: possible.append((target, judge))
            case .dictionary(let value):
                possible.append((target, judge))
                if value.exceptions.isEmpty { global = value }
                for (host, entry) in value.exceptions { entries[host] = entries[host]?.union(entry) ?? entry }
            case .noneHelps:
                if let keys = judge.exceptionWithDelegate() {
                    let because = judge.judge(dictionary: keys).because
                    withCode.append(
                        MinimalDictionary.WithCode(
                            target: target.url.text, dictionary: keys,
                            because: because.first?.code ?? .trustNeedsDelegate,
                            message: DictionaryProposal(
                                before: ATSDictionary(), after: keys, kind: .withDelegate,
                                doubt: judge.causeBehindCertificate(keys)
                            ).sentence(after: because)))
                    continue
                }
                // A redirect to where nothing answers is not found out under an entry for the target alone.
                let all = [DictionarySearch.widest(for: target), .allowingEverything].map {
                    judge.judge(dictionary: $0)
                }
                guard let judgement = all.first(where: { $0.result == .undetermined }) ?? all.first else { continue }
                let first = judge.causeBehindCertificate(.allowingEverything) ?? judgement.because.first
                impossible.append(
                    MinimalDictionary.Impossible(
                        target: target.url.text, because: first?.code ?? .httpNoAnswer,
                        message: first?.message ?? "No dictionary lets this target load.",
                        isUndetermined: judgement.result == .undetermined))
            }
        }
        var least = global ?? ATSDictionary()
        if global == nil { least.exceptions = entries }
        var smallest = ShrinkingDictionary(least, possible.map(\.judge))
        // Two targets on one host may make a key of one superfluous.
        if global == nil { for setting in smallest.dictionary.settings { smallest.remove(setting) } }
        let needed = DictionarySearch.needs(of: &smallest, possible)
        var notes: [Cause] = []
        for place in possible.indices {
            for note in smallest.inferences(of: place)
            where !notes.contains(where: { $0.message.hasSameBytes(as: note.message) }) { notes.append(note) }
        }
        var judgements = smallest.judgements
        var dead: [MinimalDictionary.DeadKey] = []
        var deadTogether: [MinimalDictionary.DeadKey] = []
        if let app {
            let unknown = Set(impossible.lazy.filter(\.isUndetermined).map { UTF8Key($0.target) })
            (dead, deadTogether, judgements) = self.dead(
                in: app, { unknown.contains(UTF8Key(judges[$0].target.url.text)) }, judgements,
                sparing: Set(smallest.dictionary.settings))
        }
        return MinimalDictionary(
            dictionary: smallest.dictionary, needed: needed, dead: dead, deadTogether: deadTogether,
            impossible: impossible, withCode: withCode, loading: possible.count, notes: notes, judgements: judgements)
    }

    private static func widest(for target: CheckTarget) -> ATSDictionary {
        guard target.url.literalAddress == nil, let last = ExceptionLadder.entries.last else {
            return .allowingEverything
        }
        return ExceptionLadder.dictionary([target.url.host: last])
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

    /// Keys of the app's dictionary that can go: each alone, and all of them together, changes no decision about any target.
    ///
    /// Of a key for a target that could not be reached nothing is claimed, unless the system gives it no effect.
    ///
    /// - Parameters:
    ///   - judgements: how many the search took so far.
    ///   - needed: the keys of the smallest dictionary, which another key of the app may keep from having an effect.
    private func dead(
        in app: ATSDictionary, _ isUndetermined: (Int) -> Bool, _ judgements: Int, sparing needed: Set<ATSSetting>
    ) -> (dead: [MinimalDictionary.DeadKey], together: [MinimalDictionary.DeadKey], judgements: Int) {
        var whole = ShrinkingDictionary(app, judges.map(\.judge))
        var remaining = whole
        var dead: [MinimalDictionary.DeadKey] = []
        /// Whether a key can go; where alone, but not with those that went before, nothing is claimed.
        func goes(_ setting: ATSSetting) -> Bool {
            whole.changes(without: setting) == false && remaining.changes(without: setting) == false
        }
        for setting in app.settings where app.weakens(setting) {
            // It may become a host of the targets in the build.
            if setting.host.map(BuildVariable.isIn) == true { continue }
            // Its entry may be gone as a whole.
            if let host = setting.host, remaining.dictionary.exceptions[host] == nil { continue }
            let without = DictionarySearch.withoutEffect(setting, of: app, on: judges.first?.judge.profile)
            guard without != nil || !whole.concerned(by: setting).contains(where: isUndetermined) else { continue }
            var gone = setting
            if !goes(setting) {
                // The entry itself decides: without it the host is under the other rules, and with it, emptied, under the defaults.
                guard let entry = setting.entry, goes(entry) else { continue }
                gone = entry
            }
            if gone == setting, needed.contains(setting) { continue }
            remaining.drop(gone)
            let why = without ?? self.why(gone, of: setting, in: whole)
            dead.append(MinimalDictionary.DeadKey(keyPath: gone.keyPath, why: why))
        }
        var together: [MinimalDictionary.DeadKey] = []
        for setting in remaining.dictionary.settings
        where !dead.isEmpty && !whole.concerned(by: setting).contains(where: isUndetermined)
            && remaining.changes(without: setting) == false && whole.changes(without: setting)
        {
            remaining.drop(setting)
            let why = "It can go only together with the dead keys: without it alone, a target ends in another way."
            together.append(MinimalDictionary.DeadKey(keyPath: setting.keyPath, why: why))
        }
        return (dead, together, judgements + whole.judgements + remaining.judgements)
    }

    private func why(_ gone: ATSSetting, of setting: ATSSetting, in whole: ShrinkingDictionary) -> String {
        let concerned = whole.concerned(by: setting)
        if gone != setting {
            return
                "Only the whole entry can go: every target on its host is decided alike without it, and not with an entry that is left without this key."
        }
        if concerned.isEmpty {
            if let reasons = setting.host.flatMap(nearMiss) {
                return "Its entry matches none of the targets: \(reasons.map(\.words).joined(separator: "; "))."
            }
            return "None of the targets is on this host: the key decides about none of them."
        }
        if whole.isIdle(setting) {
            return "It decides about none of the targets: other keys, or the default rules, do."
        }
        let loading = concerned.filter { !whole.failing.contains($0) }
        if loading.isEmpty { return "The target of this key does not load, with or without the key." }
        return loading.allSatisfy { judges[$0].judge.judge(dictionary: ATSDictionary()).result == .pass }
            ? "Every target that loads with this key also loads without it: its server complies today."
            : "Every target that loads with this key also loads without it: other keys of the dictionary let it."
    }

    /// What keeps the key of an entry from matching a target that it was meant for; nil if it was meant for none.
    private func nearMiss(_ key: String) -> [NearMisses.Reason]? {
        guard let (host, reasons) = NearMisses.meant(by: key), !reasons.isEmpty else { return nil }
        let isWild = reasons.contains(.wildcard) || reasons.contains(.leadingDot)
        let isMeant = judges.contains { (target, _) in
            isWild ? target.url.host.isSameOrBelow(host) : target.url.host.hasSameBytes(as: host)
        }
        return isMeant ? reasons : nil
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

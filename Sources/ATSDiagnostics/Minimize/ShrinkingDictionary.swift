// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// A dictionary that loses keys, and the targets that are judged under it.
///
/// A key of an exception is tried with the targets that it can concern, and each of those is judged under the exceptions that can concern it: thousands
/// of keys and targets take as many judgements, not the product of both.
struct ShrinkingDictionary {
    private(set) var dictionary: ATSDictionary
    /// The targets that do not load under the dictionary as it is, by their place in the list.
    private(set) var failing: Set<Int> = []
    /// How many times a target was judged.
    private(set) var judgements = 0
    /// How each target ended under the whole dictionary.
    private var decisions: [Decision] = []
    private let judges: [ConfigurationJudge]
    /// For each target the keys of exceptions that can decide about a place of its load.
    private let keys: [[String]]
    /// For each key of an exception the targets that it can concern, in their order.
    private let concerned: [String: [Int]]
    /// The dictionary without its exceptions.
    private var base: ATSDictionary

    init(_ dictionary: ATSDictionary, _ judges: [ConfigurationJudge]) {
        self.dictionary = dictionary
        self.judges = judges
        let index = ExceptionKeys(dictionary)
        keys = judges.map { judge in
            let places = [judge.target] + (judge.trace?.places ?? [])
            return places.count == 1 ? index.about(judge.target) : Array(Set(places.flatMap(index.about)))
        }
        var concerned: [String: [Int]] = [:]
        for (place, keys) in keys.enumerated() { for key in keys { concerned[key, default: []].append(place) } }
        self.concerned = concerned
        base = dictionary
        base.exceptions = [:]
        for place in judges.indices {
            decisions.append(decision(place))
            if decisions[place].result != .pass { failing.insert(place) }
        }
    }

    /// Removes a key if all targets load without it; whether they do.
    @discardableResult mutating func remove(_ setting: ATSSetting) -> Bool {
        let concerned = concerned(by: setting)
        // Those that fail and do not know the key fail without it too.
        guard failing.isEmpty || failing.isSubset(of: concerned) else { return false }
        let saved = take(setting)
        for place in concerned where judge(place).result != .pass {
            restore(saved)
            return false
        }
        failing = []
        return true
    }

    /// Whether the decision about any target is another one without a key, whose entry stays, than in the beginning. The key stays.
    mutating func changes(without setting: ATSSetting) -> Bool {
        let saved = take(setting, keepsEntry: true)
        defer { restore(saved) }
        return concerned(by: setting).contains { decision($0) != decisions[$0] }
    }

    /// Removes a key, and leaves its entry.
    mutating func drop(_ setting: ATSSetting) { _ = take(setting, keepsEntry: true) }

    /// How a target ends, as far as an app sees it.
    private struct Decision: Equatable {
        let result: ConfigurationResult.Result
        let error: URLLoadError?
        let causes: [Code]
    }

    private mutating func decision(_ place: Int) -> Decision {
        let judgement = judge(place)
        return Decision(
            result: judgement.result, error: judgement.error, causes: judgement.because.map(\.code))
    }

    /// The first target, by its place, that does not load without a key, and the first cause. The key stays.
    mutating func firstFailure(without setting: ATSSetting) -> (place: Int, cause: Cause)? {
        let concerned = concerned(by: setting)
        let others = failing.isEmpty ? [] : failing.subtracting(concerned).sorted()
        let saved = take(setting, keepsEntry: true)
        let own = first(of: concerned)
        restore(saved)
        guard let other = first(of: others) else { return own }
        return own.map { $0.place < other.place ? $0 : other } ?? other
    }

    /// What the verdict about one target rests on that was inferred.
    func inferences(of place: Int) -> [Cause] { judges[place].inferences(under: part(for: place)) }

    private mutating func first(of places: [Int]) -> (place: Int, cause: Cause)? {
        for place in places {
            let judgement = judge(place)
            if judgement.result != .pass, let cause = judgement.because.first { return (place, cause) }
        }
        return nil
    }

    /// The targets that a key can concern; a key without a host concerns all.
    func concerned(by setting: ATSSetting) -> [Int] {
        setting.host.map { concerned[$0] ?? [] } ?? Array(judges.indices)
    }

    /// Whether the policy asks the same of every target without a key: other keys, or the default rules, decide.
    func isIdle(_ setting: ATSSetting) -> Bool {
        concerned(by: setting).allSatisfy { place in
            let judge = judges[place]
            let with = part(for: place)
            var without = with
            without.remove(setting, keepsEntry: true)
            let policies = [with, without].map { ATSPolicy(dictionary: $0, profile: judge.profile) }
            return ([judge.target] + (judge.trace?.places ?? [])).allSatisfy { url in
                LoadEffect(policies[0].decide(url)) == LoadEffect(policies[1].decide(url))
            }
        }
    }

    private mutating func judge(_ place: Int) -> ConfigurationJudge.Judgement {
        judgements += 1
        return judges[place].judge(dictionary: part(for: place))
    }

    /// The dictionary as far as it decides about one target.
    private func part(for place: Int) -> ATSDictionary {
        var part = base
        for key in keys[place] { part.exceptions[key] = dictionary.exceptions[key] }
        return part
    }

    // MARK: Taking a key out, and putting it back

    private enum Saved {
        case entry(String, ExceptionEntry?)
        case whole(ATSDictionary)
    }

    private mutating func take(_ setting: ATSSetting, keepsEntry: Bool = false) -> Saved {
        guard let host = setting.host else {
            let saved = Saved.whole(dictionary)
            dictionary.remove(setting)
            base.remove(setting)
            return saved
        }
        let saved = Saved.entry(host, dictionary.exceptions[host])
        dictionary.remove(setting, keepsEntry: keepsEntry)
        return saved
    }

    private mutating func restore(_ saved: Saved) {
        switch saved {
        case .entry(let host, let entry): dictionary.exceptions[host] = entry
        case .whole(let whole):
            dictionary = whole
            base = whole
            base.exceptions = [:]
        }
    }
}

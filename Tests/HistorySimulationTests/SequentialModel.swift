// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// An answer that no order of steps explains, or that the service must never give.
struct Violation: Error, Sendable, Equatable, CustomStringConvertible {
    /// What it is about: `keys`, `token`, `promotion`, `quota`, or `answer` for one that is wrong by itself.
    let object: String
    let reason: String

    var description: String { "\(object): \(reason)" }
}

/// The service as it would be if it did one thing after the other: what each object may answer in each state.
struct SequentialModel {
    let plan: Plan
    /// The objects whose search grew too large.
    var undecided = 0

    /// Looks at every object of a history by itself.
    mutating func check(_ history: History) throws(Violation) {
        var keys = KeyHistories(isStrict: plan.isStrict)
        var tokens: [Int: [Interval<TokenState.Entry>]] = [:]
        var promotions: [Int: [Interval<PromotionState.Entry>]] = [:]
        var quotas: [Int: [Interval<QuotaState.Entry>]] = [:]
        for exchange in history.exchanges {
            for entry in try KeyState.entries(of: exchange) { keys.add(exchange.interval(entry)) }
            if let (token, entry) = try TokenState.entry(of: exchange) {
                tokens[token, default: []].append(exchange.interval(entry))
            }
            if let (subject, entry) = try PromotionState.entry(of: exchange) {
                promotions[subject, default: []].append(exchange.interval(entry))
            }
            if let (key, entry) = try QuotaState.entry(of: exchange) {
                quotas[key, default: []].append(exchange.interval(entry))
            }
        }
        for group in keys.groups {
            try judge(
                .check(group.intervals, from: keys.initial, step: keys.step), "keys", "keys \(group.keys.sorted())")
        }
        for (token, intervals) in tokens.sorted(by: { $0.key < $1.key }) {
            try judge(.check(intervals, from: TokenState(), step: TokenState.step), "token", "token \(token)")
        }
        for (subject, intervals) in promotions.sorted(by: { $0.key < $1.key }) {
            let verdict = Linearizability.check(intervals, from: PromotionState(), step: PromotionState.step)
            try judge(verdict, "promotion", "promotion of subject \(subject)")
        }
        for (key, intervals) in quotas.sorted(by: { $0.key < $1.key }) {
            try judge(.check(intervals, from: QuotaState(), step: QuotaState.step), "quota", "quota of key \(key)")
        }
    }

    private mutating func judge(_ verdict: Linearizability, _ object: String, _ name: String) throws(Violation) {
        switch verdict {
        case .linearizable: break
        case .undecided: undecided += 1
        case .violated:
            throw Violation(object: object, reason: "no order of single steps explains the answers about \(name)")
        }
    }
}

extension Exchange {
    func interval<Entry>(_ entry: Entry) -> Interval<Entry> {
        let isKnown = answer.map { !$0.isFault } ?? false
        return Interval(invoked: invoked, returned: isKnown ? returned : nil, entry: entry)
    }

    /// The answer, where it says what became of the request.
    var known: ClientAnswer? { answer.flatMap { $0.isFault ? nil : $0 } }

    func unexpected() -> Violation {
        Violation(object: "answer", reason: "\(answer?.text ?? "none") to \(request) is not among what may be answered")
    }
}

// MARK: Keys and their challenges

/// A key, and the challenges that were spent with it.
struct KeyState: Hashable {
    var isRevoked = false
    var highest = 0
    var seen: Set<Int> = []

    enum Refusal { case absent, revoked, replayed, used, untimely }

    enum Outcome { case done, repeated, refused(Refusal), unknown }

    enum Entry: Sendable {
        case attest(key: Int, challenge: Int, Outcome)
        case assert(key: Int, counter: Int, challenge: Int, Outcome)
        case use(key: Int, Outcome)
        case revoke(key: Int, Outcome)
        case show(key: Int, counter: Int, isRevoked: Bool)
        case absent(key: Int)

        var key: Int {
            switch self {
            case .attest(let key, _, _), .assert(let key, _, _, _), .use(let key, _), .revoke(let key, _),
                .show(let key, _, _), .absent(let key):
                key
            }
        }

        var challenge: Int? {
            switch self {
            case .attest(_, let challenge, _), .assert(_, _, let challenge, _): challenge
            default: nil
            }
        }
    }

    static func entries(of exchange: Exchange) throws(Violation) -> [Entry] {
        let known = exchange.known
        switch exchange.request {
        case .attest(let key, let challenge, let expires):
            guard let known else { return [.attest(key: key, challenge: challenge, .unknown)] }
            switch (known.status, known.code) {
            case (201, nil): return [.attest(key: key, challenge: challenge, .done)]
            case (200, nil): return [.attest(key: key, challenge: challenge, .repeated)]
            case (_, "challenge.used"): return [.attest(key: key, challenge: challenge, .refused(.used))]
            case (_, "challenge.expired") where expires <= exchange.latestClock: return []
            // The object is not of the time of a node whose clock is off.
            case (_, let code?)
            where code.hasPrefix("attest.") || code.hasPrefix("receipt."):
                guard abs(exchange.lead) > 1_000 else { throw exchange.unexpected() }
                return []
            default: throw exchange.unexpected()
            }
        case .assert(let key, let counter, let challenge, let expires):
            let outcome: Outcome
            switch (known?.status, known?.code) {
            case (nil, _): outcome = .unknown
            case (200, nil):
                guard known?.number ?? counter == counter, exchange.nodeTime < expires else {
                    throw exchange.unexpected()
                }
                outcome = .done
            case (_, "key.unknown"): outcome = .refused(.absent)
            case (_, "key.revoked"): outcome = .refused(.revoked)
            case (_, "assert.counter.replayed"): outcome = .refused(.replayed)
            case (_, "challenge.used"): outcome = .refused(.used)
            case (_, "challenge.expired") where expires <= exchange.latestClock: outcome = .refused(.untimely)
            default: throw exchange.unexpected()
            }
            return [.assert(key: key, counter: counter, challenge: challenge, outcome)]
        case .authorize(let token, _), .consume(let token):
            switch (known?.status, known?.code) {
            case (nil, _): return []
            case (200, nil), (204, nil), (_, "policy.quota"), (_, "token.spent"):
                guard token.isTimely(at: exchange.nodeTime) else { throw exchange.unexpected() }
                return [.use(key: token.key, .done)]
            case (_, "key.revoked"): return [.use(key: token.key, .refused(.revoked))]
            case (_, "token.invalid"):
                // Too late for this node, or for what a sweep of another one left behind.
                if !token.isTimely(at: exchange.nodeTime) { return [] }
                if case .consume = exchange.request, token.expires * 1000 <= exchange.latestClock { return [] }
                return [.use(key: token.key, .refused(.absent))]
            default: throw exchange.unexpected()
            }
        case .revoke(let key):
            switch (known?.status, known?.code) {
            case (nil, _): return [.revoke(key: key, .unknown)]
            case (200, nil): return [.revoke(key: key, .done)]
            case (_, "key.unknown"): return [.absent(key: key)]
            default: throw exchange.unexpected()
            }
        case .show(let key):
            switch (known?.status, known?.code) {
            case (nil, _): return []
            case (200, nil):
                guard let counter = known?.number, let flag = known?.flag else { throw exchange.unexpected() }
                return [.show(key: key, counter: counter, isRevoked: flag)]
            case (_, "key.unknown"): return [.absent(key: key)]
            default: throw exchange.unexpected()
            }
        case .claim: return []
        }
    }
}

/// The histories of keys; those that share a challenge are one object, because one step changes all of them.
struct KeyHistories {
    struct State: Hashable {
        var keys: [Int: KeyState] = [:]
        var spent: Set<Int> = []
    }

    struct Group {
        var keys: Set<Int>
        var challenges: Set<Int>
        var intervals: [Interval<KeyState.Entry>]
    }

    let isStrict: Bool
    private(set) var groups: [Group] = []

    init(isStrict: Bool) { self.isStrict = isStrict }

    var initial: State {
        State(keys: Dictionary(uniqueKeysWithValues: (0..<Plan.attestedKeys).map { ($0, KeyState()) }))
    }

    mutating func add(_ interval: Interval<KeyState.Entry>) {
        var group = Group(keys: [interval.entry.key], challenges: [], intervals: [interval])
        if let challenge = interval.entry.challenge { group.challenges = [challenge] }
        groups = groups.filter { other in
            if other.keys.isDisjoint(with: group.keys), other.challenges.isDisjoint(with: group.challenges) {
                return true
            }
            group.keys.formUnion(other.keys)
            group.challenges.formUnion(other.challenges)
            group.intervals = other.intervals + group.intervals
            return false
        }
        groups.append(group)
    }

    private func accepts(_ counter: Int, _ key: KeyState) -> Bool {
        isStrict ? counter > key.highest : !key.seen.contains(counter)
    }

    /// The states that a request can leave, given its answer.
    func step(_ state: State, _ entry: KeyState.Entry) -> [State] {
        let key = state.keys[entry.key]
        switch entry {
        case .attest(let name, let challenge, let outcome):
            let fresh = key == nil && !state.spent.contains(challenge)
            var after = state
            after.keys[name] = KeyState()
            after.spent.insert(challenge)
            switch outcome {
            case .done, .unknown: return fresh ? [after] : []
            case .repeated: return key == nil ? [] : [state]
            case .refused: return key == nil && state.spent.contains(challenge) ? [state] : []
            }
        case .assert(let name, let counter, let challenge, let outcome):
            switch outcome {
            case .refused(.absent): return key == nil ? [state] : []
            case .refused(.revoked): return key?.isRevoked == true ? [state] : []
            case .refused(.used): return key != nil && state.spent.contains(challenge) ? [state] : []
            case .refused(.replayed):
                return key.map { !$0.isRevoked && !accepts(counter, $0) } ?? false ? [state] : []
            case .refused(.untimely): return [state]
            case .done, .repeated, .unknown:
                guard var key, !key.isRevoked, accepts(counter, key), !state.spent.contains(challenge) else {
                    return []
                }
                key.highest = max(key.highest, counter)
                key.seen.insert(counter)
                var after = state
                after.keys[name] = key
                after.spent.insert(challenge)
                return [after]
            }
        case .use(_, let outcome):
            switch outcome {
            case .refused(.revoked): return key?.isRevoked == true ? [state] : []
            case .refused: return key == nil ? [state] : []
            default: return key?.isRevoked == false ? [state] : []
            }
        case .revoke(let name, _):
            guard key != nil else { return [] }
            var after = state
            after.keys[name]?.isRevoked = true
            return [after]
        case .show(_, let counter, let isRevoked):
            return key?.highest == counter && key?.isRevoked == isRevoked ? [state] : []
        case .absent: return key == nil ? [state] : []
        }
    }
}

// MARK: Tokens

/// A single-use token.
struct TokenState: Hashable {
    var isSpent = false

    enum Entry { case spent, refused, unknown }

    static func entry(of exchange: Exchange) throws(Violation) -> (Int, Entry)? {
        guard case .consume(let token) = exchange.request else { return nil }
        guard let known = exchange.known else { return (token.number, .unknown) }
        if known.status == 200 { return (token.number, .spent) }
        return known.code == "token.spent" ? (token.number, .refused) : nil
    }

    static func step(_ state: TokenState, _ entry: Entry) -> [TokenState] {
        switch entry {
        case .spent, .unknown: state.isSpent ? [] : [TokenState(isSpent: true)]
        case .refused: state.isSpent ? [state] : []
        }
    }
}

// MARK: Promotions

/// A promotion of one subject.
struct PromotionState: Hashable {
    var granted: Int?
    var refused: Set<Int> = []

    enum Entry { case granted(Int), refused(Int), unknown(Int) }

    static func entry(of exchange: Exchange) throws(Violation) -> (Int, Entry)? {
        guard case .claim(let subject, let transaction) = exchange.request else { return nil }
        guard let known = exchange.known else { return (subject, .unknown(transaction)) }
        guard known.status == 200, let granted = known.flag else { throw exchange.unexpected() }
        return (subject, granted ? .granted(transaction) : .refused(transaction))
    }

    static func step(_ state: PromotionState, _ entry: Entry) -> [PromotionState] {
        func granting(_ transaction: Int) -> [PromotionState] {
            guard state.granted ?? transaction == transaction, !state.refused.contains(transaction) else { return [] }
            var after = state
            after.granted = transaction
            return [after]
        }
        func refusing(_ transaction: Int) -> [PromotionState] {
            guard state.granted != transaction else { return [] }
            var after = state
            after.refused.insert(transaction)
            return [after]
        }
        return switch entry {
        case .granted(let transaction): granting(transaction)
        case .refused(let transaction): refusing(transaction)
        case .unknown(let transaction): granting(transaction) + refusing(transaction)
        }
    }
}

// MARK: Quotas

/// The window of one subject of a quota.
struct QuotaState: Hashable {
    var endsAt: Int64?
    var used = 0

    static let limit = 6
    /// In seconds.
    static let window = 60
    /// How long after its end a window is kept, and how far beyond a whole window its end may be.
    static let slack: Int64 = 3_600_000

    enum Outcome { case drawn(remaining: Int), exhausted, unknown }

    struct Entry: Sendable {
        let cost: Int
        let now: Int64
        let latestClock: Int64
        let outcome: Outcome
    }

    static func entry(of exchange: Exchange) throws(Violation) -> (Int, Entry)? {
        guard case .authorize(let token, let cost) = exchange.request else { return nil }
        func entry(_ outcome: Outcome) -> (Int, Entry) {
            let entry = Entry(cost: cost, now: exchange.nodeTime, latestClock: exchange.latestClock, outcome: outcome)
            return (token.key, entry)
        }
        guard let known = exchange.known else { return entry(.unknown) }
        if known.status == 204, let remaining = known.number { return entry(.drawn(remaining: remaining)) }
        return known.code == "policy.quota" ? entry(.exhausted) : nil
    }

    static func step(_ state: QuotaState, _ entry: Entry) -> [QuotaState] {
        var windows: [QuotaState] = []
        let end = entry.now + Int64(window) * 1000
        let fresh = QuotaState(endsAt: end)
        if let endsAt = state.endsAt, endsAt > entry.now, endsAt <= end + slack {
            windows.append(state)
            // A node with a better clock may have swept it.
            if entry.latestClock == .max || endsAt < entry.latestClock - slack { windows.append(fresh) }
        } else {
            windows.append(fresh)
        }
        return windows.compactMap { window in
            var after = window
            after.used += entry.cost
            let fits = after.used <= limit
            switch entry.outcome {
            case .drawn(let remaining): return fits && remaining == limit - after.used ? after : nil
            case .exhausted: return fits ? nil : state
            case .unknown: return fits ? after : nil
            }
        }
    }
}

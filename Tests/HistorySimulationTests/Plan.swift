// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TestSupport

/// What is simulated: who asks for what, from which node, and what goes wrong. A plan and nothing else decides a history.
struct Plan: Sendable {
    /// One thing that a client does. Those of one client follow each other.
    struct Operation: Sendable {
        let number: Int
        let client: Int
        /// Milliseconds after the operation before it.
        let delay: Int64
        let node: Int
        let kind: Kind
        /// How often the client asks again with the same bytes if it got no answer, each time another node.
        let retries: Int
        /// Whether the network delivers the request twice, the second time to the next node.
        let isDoubled: Bool
    }

    /// The numbers of keys, challenges, tokens and so on are names that clients give.
    enum Kind: Sendable, Equatable {
        case challenge(Int)
        case attest(key: Int)
        case assert(key: Int, challenge: Int)
        case token(Int, key: Int, challenge: Int, singleUse: Bool)
        case authorize(token: Int, cost: Int)
        case consume(token: Int)
        case revoke(key: Int)
        case show(key: Int)
        case claim(subject: Int, transaction: Int, phone: Int)
        case again(operation: Int)
        case sweep
        case wait(Int64)
        case crash
        case restartStore
        case partition(Int64)
    }

    /// What goes wrong at one step of an operation: the nth verb of a store or call of Apple.
    struct Fault: Sendable {
        let operation: Int
        let attempt: Int
        let step: Int
        let kind: FaultKind
    }

    enum FaultKind: Sendable, Equatable {
        /// The request never arrives.
        case lostRequest
        /// What was asked is done, the answer is lost.
        case lostReply
        /// The caller gives up; what was asked is done so much later.
        case late(Int64)
        /// The node stands still for so long before it asks.
        case stall(Int64)
        case crashBefore
        case crashAfter
        /// The database stops and starts again before it has done what was asked.
        case restartStore
    }

    /// How a node's clock goes.
    struct Clock: Sendable {
        /// Milliseconds that it is ahead at the start.
        let offset: Int64
        /// In percent of the true time.
        let rate: Int64
    }

    var seed: UInt64
    /// Decides the order of turns; another one where a failure is made shorter.
    var schedule: UInt64
    var clocks: [Clock]
    /// Whether the database has a clock of its own, as PostgreSQL has.
    var hasServerClock: Bool
    var isStrict: Bool
    var operations: [Operation]
    var faults: [Fault]

    func fault(_ operation: Int, _ attempt: Int, _ step: Int) -> FaultKind? {
        faults.first { $0.operation == operation && $0.attempt == attempt && $0.step == step }?.kind
    }
}

extension Plan {
    /// What a seed is mostly about.
    private enum Theme: Int, CaseIterable {
        case keys, tokens, quotas, promotions, clocks, everything
    }

    /// How many keys are attested before a simulation starts; the others attest in it.
    static let attestedKeys = 2

    init(seed: UInt64) {
        var random = SplitMix(state: seed &* 0x9E37_79B9_7F4A_7C15 &+ 1)
        let theme = Theme(rawValue: Int(seed % UInt64(Theme.allCases.count))) ?? .everything
        self.seed = seed
        schedule = random.next()
        let nodes = theme == .clocks ? 2 + random.below(2) : 1 + random.below(3)
        // A node whose clock is further off than a minute sweeps nothing, so those that are good do not drift apart in hours.
        let drift = theme == .clocks ? 0 : 5
        clocks = (0..<nodes).map { node in
            guard theme == .clocks, node == 0 || random.below(4) == 0 else {
                let rate = 100 - drift + random.below(2 * drift + 1)
                return Clock(offset: Int64(random.below(40_000)) - 20_000, rate: Int64(rate))
            }
            if random.below(3) > 0 { return Clock(offset: 0, rate: 1) }
            return Clock(offset: Int64(random.below(14_400_000)) - 7_200_000, rate: 100)
        }
        hasServerClock = nodes > 1 || random.below(2) == 0
        isStrict = random.below(2) == 0
        operations = []
        faults = []
        var writer = Writer(nodes: nodes, random: random)
        let clients = 2 + writer.random.below(2)
        for client in 0..<clients { writer.script(of: client, theme.rawValue) }
        writer.disturbances(of: clients, isLong: theme == .clocks)
        operations = writer.operations
        let asked = operations.count
        for _ in 0..<writer.random.below(5) {
            faults.append(
                Fault(
                    operation: writer.random.below(asked), attempt: writer.random.below(4) == 0 ? 1 : 0,
                    step: writer.random.below(5), kind: writer.fault()))
        }
    }

    /// Writes the scripts of clients.
    private struct Writer {
        let nodes: Int
        var random: SplitMix
        var operations: [Operation] = []
        var challenges = 0
        var tokens: [(number: Int, key: Int, singleUse: Bool)] = []
        var transactions = 0

        mutating func add(_ client: Int, _ kind: Kind, delay: Int64? = nil) {
            operations.append(
                Operation(
                    number: operations.count, client: client,
                    delay: delay ?? Int64(random.below(4) == 0 ? random.below(2_000) : random.below(100)),
                    node: random.below(nodes), kind: kind, retries: random.below(3), isDoubled: random.below(8) == 0))
        }

        mutating func challenge(_ client: Int) -> Int {
            // Now and then somebody tries a challenge that was there before.
            if challenges > 0, random.below(5) == 0 { return random.below(challenges) }
            challenges += 1
            add(client, .challenge(challenges - 1))
            return challenges - 1
        }

        mutating func key() -> Int {
            let key = random.below(Plan.attestedKeys)
            return random.below(4) == 0 ? key : 0
        }

        mutating func token(_ client: Int, singleUse: Bool) {
            let (key, challenge) = (key(), challenge(client))
            tokens.append((tokens.count, key, singleUse))
            add(client, .token(tokens.count - 1, key: key, challenge: challenge, singleUse: singleUse))
        }

        mutating func use(_ client: Int) {
            guard !tokens.isEmpty else { return token(client, singleUse: random.below(2) == 0) }
            let token = tokens[random.below(tokens.count)]
            add(client, token.singleUse ? .consume(token: token.number) : authorization(of: token.number))
        }

        mutating func authorization(of token: Int) -> Kind { .authorize(token: token, cost: 1 + random.below(3)) }

        mutating func script(of client: Int, _ theme: Int) {
            for _ in 0..<3 + random.below(4) {
                switch theme == 5 ? random.below(5) : theme {
                case 0: keys(client)
                case 1: single(client)
                case 2: quota(client)
                case 3: promotion(client)
                default: clock(client)
                }
            }
        }

        mutating func keys(_ client: Int) {
            switch random.below(12) {
            case 0: add(client, .revoke(key: key()))
            case 1: add(client, .show(key: key()))
            case 2: add(client, .attest(key: Plan.attestedKeys + random.below(2)))
            case 3, 4: use(client)
            case 5: add(client, .again(operation: random.below(max(1, operations.count))))
            case 6:
                let challenge = challenge(client)
                add(client, .assert(key: Plan.attestedKeys, challenge: challenge))
            default:
                let challenge = challenge(client)
                add(client, .assert(key: key(), challenge: challenge))
            }
        }

        mutating func single(_ client: Int) {
            if tokens.isEmpty || random.below(4) == 0 { return token(client, singleUse: true) }
            random.below(12) == 0 ? add(client, .revoke(key: key())) : use(client)
        }

        mutating func quota(_ client: Int) {
            let reusable = tokens.filter { !$0.singleUse }
            guard !reusable.isEmpty else { return token(client, singleUse: false) }
            switch random.below(10) {
            case 0: add(client, .wait(Int64(20_000 + random.below(60_000))))
            case 1: add(client, .revoke(key: key()))
            default: add(client, authorization(of: reusable[random.below(reusable.count)].number))
            }
        }

        mutating func promotion(_ client: Int) {
            if transactions > 0, random.below(5) == 0 {
                return add(client, .again(operation: random.below(operations.count)))
            }
            let transaction = random.below(3)
            transactions = max(transactions, transaction + 1)
            add(client, .claim(subject: random.below(2), transaction: transaction, phone: random.below(2)))
            if random.below(3) == 0 { add(client, .wait(Int64(random.below(20_000)))) }
        }

        mutating func clock(_ client: Int) {
            switch random.below(6) {
            case 0: token(client, singleUse: true)
            case 1: add(client, .wait(Int64(4_000_000 + random.below(3_000_000))))
            case 2: add(client, .sweep)
            case 3: keys(client)
            default: use(client)
            }
        }

        /// What happens to nodes and the database by itself.
        mutating func disturbances(of client: Int, isLong: Bool) {
            for _ in 0..<random.below(4) {
                let delay = Int64(random.below(isLong ? 5_000_000 : 2_500))
                switch random.below(4) {
                case 0: add(client, .crash, delay: delay)
                case 1: add(client, .restartStore, delay: delay)
                case 2: add(client, .partition(Int64(random.below(3_000))), delay: delay)
                default: add(client, .sweep, delay: delay)
                }
            }
        }

        mutating func fault() -> FaultKind {
            switch random.below(8) {
            case 0: .lostRequest
            case 1, 2: .lostReply
            case 3: .late(Int64(random.below(5_000)))
            case 4: .stall(Int64(random.below(3) == 0 ? random.below(400_000) : random.below(20_000)))
            case 5: .crashBefore
            case 6: .crashAfter
            default: .restartStore
            }
        }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
package import AppTransportSecurity
package import FoundationEssentials
package import TLSModel
package import TLSProbe

/// What was learned about one server: an outcome for each offer, and a path for each chain that it presented.
package struct HostEvidence: Sendable {
    package var outcomes: [HelloOffer: HandshakeOutcome] = [:]
    /// What was presented, by the certificates behind the stapled response, each looked at once.
    private(set) var presented: [PresentedChain: (chain: ChainFacts, staple: StapleStatus?)] = [:]
    /// The hellos that were sent; a second one after HelloRetryRequest does not count.
    package var hellos = 0
    /// What the server negotiates when far more is offered than any system does; asked only where every hello was refused, to tell why.
    package var explanation: HandshakeObservation?
    /// A hello without post-quantum groups and what the server said to it; sent only where the others failed in a way that their size may
    /// explain.
    package var smaller: (offer: HelloOffer, outcome: HandshakeOutcome)?
    /// The address that answered first.
    package var address: String?

    /// The facts of a handshake that succeeded.
    package func facts(of observation: HandshakeObservation) -> ConnectionFacts? {
        presented[HostEvidence.key(observation)].map {
            ConnectionFacts(handshake: observation, chain: $0.chain, staple: $0.staple)
        }
    }

    /// Keeps the chain of a handshake, and what its stapled response says about it.
    package mutating func keep(_ chain: ChainFacts, of observation: HandshakeObservation, at instant: Date) {
        presented[HostEvidence.key(observation)] = (
            chain, observation.stapledResponse.map { chain.status(in: $0, at: instant) }
        )
    }

    private static func key(_ observation: HandshakeObservation) -> PresentedChain {
        PresentedChain([observation.stapledResponse].compactMap(\.self) + observation.certificates)
    }

    /// What to show of the server: the answer to the default offer, or else to the widest one, or else to a smaller one.
    func answer(to defaults: HelloOffer, host: String) -> (facts: ConnectionFacts?, hello: AnsweredHello) {
        let gotFurther = smaller.map { if case .connection = $0.outcome { false } else { true } }
        var smallerFacts: ConnectionFacts?
        if case .negotiated(let observation)? = smaller?.outcome { smallerFacts = facts(of: observation) }
        func hello(_ kind: AnsweredHello.Kind, _ offer: HelloOffer?) -> AnsweredHello {
            AnsweredHello(
                kind: kind, length: offer.map { $0.named(host).length }, smallerGotFurther: gotFurther)
        }
        if case .negotiated(let observation)? = outcomes[defaults], let facts = facts(of: observation) {
            return (facts, hello(.default, defaults))
        }
        if let widest { return (widest.facts, hello(.wider, widest.offer)) }
        if let smallerFacts { return (smallerFacts, hello(.smaller, smaller?.offer)) }
        return (explanation.flatMap(facts), hello(explanation == nil ? .default : .wider, nil))
    }

    /// The handshake that asked least: of those that succeeded, the one with the most offered suites and the lowest minimum.
    package var widest: (offer: HelloOffer, facts: ConnectionFacts)? {
        var best: (offer: HelloOffer, facts: ConnectionFacts)?
        for (offer, outcome) in outcomes {
            guard case .negotiated(let observation) = outcome, let facts = facts(of: observation) else { continue }
            if let held = best?.offer, !offer.isWider(than: held) { continue }
            best = (offer, facts)
        }
        return best
    }
}

extension HelloOffer {
    /// The offer that decides the most.
    static func widest(of offers: some Collection<HelloOffer>) -> HelloOffer? { offers.max { $1.isWider(than: $0) } }

    /// A total order, so that the choice never depends on the order of a dictionary.
    fileprivate func isWider(than other: HelloOffer) -> Bool {
        if suites.count != other.suites.count { return suites.count > other.suites.count }
        if minimumVersion != other.minimumVersion { return minimumVersion < other.minimumVersion }
        return suites.map(\.rawValue).lexicographicallyPrecedes(other.suites.map(\.rawValue))
    }
}

extension HostEvidence {
    /// Sends the hellos from which the outcome of every offer is known: all of them, or as few as decide the rest.
    ///
    /// - Parameter ask: sends one hello; nil when the time is over.
    init(offers: [HelloOffer], isExhaustive: Bool, ask: (HelloOffer) async -> HandshakeOutcome?) async {
        self.init()
        for group in HelloOffer.comparable(offers) {
            var plan = AdaptivePlan(
                questions: group.map { HelloQuestion(minimumVersion: $0.minimumVersion, suites: $0.suites) },
                maximumVersion: group.first?.maximumVersion ?? .tls13,
                exhaustive: isExhaustive)
            while let index = plan.next {
                guard let outcome = await ask(group[index]) else { break }
                plan.record(outcome, for: index)
            }
            for index in group.indices { outcomes[group[index]] = plan.answer(index)?.outcome }
            hellos += plan.hellosSent
        }
    }
}

extension HelloOffer {
    /// What the dictionaries offer to one place on their systems, each offer once, the first dictionary's first.
    package static func distinct(_ dictionaries: [(ATSDictionary, OSProfile)], _ place: LoadURL) -> [HelloOffer] {
        var offers: [HelloOffer] = []
        for (dictionary, profile) in dictionaries {
            for reading in dictionary.readings(on: profile) {
                let policy = ATSPolicy(dictionary: reading, profile: profile)
                let offer = HelloOffer(policy.requirements(for: place))
                if !offers.contains(offer) { offers.append(offer) }
            }
        }
        return offers
    }

    /// Offers that differ in version floor and suites alone decide one another; those with other groups or signature schemes do not.
    fileprivate static func comparable(_ offers: [HelloOffer]) -> [[HelloOffer]] {
        offers.reduce(into: []) { groups, offer in
            if let index = groups.firstIndex(where: { $0.first.map(offer.isComparable) == true }) {
                groups[index].append(offer)
            } else {
                groups.append([offer])
            }
        }
    }

    /// Whether what is learned with one of two hellos says something about the other.
    func isComparable(to other: HelloOffer) -> Bool {
        maximumVersion == other.maximumVersion && groups == other.groups && keyShareGroups == other.keyShareGroups
            && signatureSchemes == other.signatureSchemes && layout == other.layout
    }
}

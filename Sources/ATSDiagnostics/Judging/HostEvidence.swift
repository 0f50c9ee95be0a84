// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
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

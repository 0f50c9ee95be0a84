// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
package import FoundationEssentials
package import TLSModel
import TLSProbe

/// What a hello offers, as far as it changes the answer: two requirements with the same offer are decided by the same hello.
package struct Offer: Hashable, Sendable {
    package let minimum: TLSVersion
    package let maximum: TLSVersion
    /// The most wanted first.
    package let suites: [CipherSuite]
    package let groups: [NamedGroup]
    /// The groups that the hello has a key share of.
    package let keyShareGroups: [NamedGroup]
    package let signatureSchemes: [SignatureScheme]
    /// How the hello is written.
    package let layout: HelloLayout
    /// What a hello with this offer asks.
    var question: HelloQuestion { HelloQuestion(minimumVersion: minimum, suites: suites) }

    package init(_ requirements: TransportRequirements) {
        minimum = requirements.effectiveMinimum
        maximum = requirements.maximum
        suites = requirements.suites
        groups = requirements.groups
        keyShareGroups = requirements.keyShareGroups
        signatureSchemes = requirements.signatureSchemes
        layout = requirements.helloLayout
    }

    private init(_ other: Offer, groups: [NamedGroup], keyShareGroups: [NamedGroup]) {
        minimum = other.minimum
        maximum = other.maximum
        suites = other.suites
        self.groups = groups
        self.keyShareGroups = keyShareGroups
        signatureSchemes = other.signatureSchemes
        layout = other.layout
    }

    /// The same without post-quantum groups, so that the hello fits into one TCP segment; nil if it has none.
    package var smaller: Offer? {
        guard keyShareGroups.contains(where: \.isHybrid) else { return nil }
        return Offer(self, groups: NamedGroup.classical(groups), keyShareGroups: NamedGroup.classical(keyShareGroups))
    }

    /// The hello itself.
    func hello(serverName: String) -> HelloOffer {
        var offer = HelloOffer(
            minimumVersion: minimum, maximumVersion: maximum, suites: suites, groups: groups,
            signatureSchemes: signatureSchemes, serverName: serverName, keyShareGroups: keyShareGroups)
        offer.layout = layout
        return offer
    }

    package static func == (left: Offer, right: Offer) -> Bool {
        left.minimum == right.minimum && left.maximum == right.maximum && left.suites == right.suites
            && left.isComparable(to: right)
    }

    /// Of the lists the lengths alone: few offers differ in more, and they are looked up for every judgement.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(minimum)
        hasher.combine(maximum)
        hasher.combine(suites.count)
    }
}

/// What was learned about one server: an outcome for each offer, and a path for each chain that it presented.
package struct HostEvidence: Sendable {
    package var outcomes: [Offer: HandshakeOutcome]
    /// By the presented list of DER certificates.
    package var chains: [PresentedChain: ChainFacts]
    /// What the stapled OCSP responses say, each looked at once. The key is the response before the chain.
    private var staples: [PresentedChain: StapleStatus] = [:]
    /// The hellos that were sent; a second one after HelloRetryRequest does not count.
    package var hellos: Int
    /// What the server negotiates when far more is offered than any system does; asked only where every hello was refused, to tell why.
    package var explanation: HandshakeObservation?
    /// A hello without post-quantum groups and what the server said to it; sent only where the others failed in a way that their size may
    /// explain.
    package var smaller: (offer: Offer, outcome: HandshakeOutcome)?
    /// The address that answered first.
    package var address: String?

    package init(
        outcomes: [Offer: HandshakeOutcome] = [:], chains: [PresentedChain: ChainFacts] = [:], hellos: Int = 0,
        address: String? = nil
    ) {
        self.outcomes = outcomes
        self.chains = chains
        self.hellos = hellos
        self.address = address
    }

    /// The facts of a handshake that succeeded.
    package func facts(of observation: HandshakeObservation) -> ConnectionFacts? {
        chains[PresentedChain(observation.certificates)].map { chain in
            ConnectionFacts(
                handshake: observation, chain: chain,
                staple: HostEvidence.stapleKey(observation).flatMap { staples[$0] })
        }
    }

    /// What to show of the server: the answer to the default offer, or else to the widest one, or else to a smaller one.
    func answer(to defaults: Offer, host: String) -> (facts: ConnectionFacts?, hello: AnsweredHello) {
        var smallerFacts: ConnectionFacts?
        var gotFurther: Bool?
        switch smaller?.outcome {
        case .negotiated(let observation)?:
            smallerFacts = facts(of: observation)
            gotFurther = true
        case .alert?, .protocolError?: gotFurther = true
        case .connection?: gotFurther = false
        case nil: break
        }
        func hello(_ kind: AnsweredHello.Kind, _ offer: Offer?) -> AnsweredHello {
            AnsweredHello(
                kind: kind, length: offer.map { $0.hello(serverName: host).length }, smallerGotFurther: gotFurther)
        }
        if case .negotiated(let observation)? = outcomes[defaults], let facts = facts(of: observation) {
            return (facts, hello(.default, defaults))
        }
        if let widest { return (widest.facts, hello(.wider, widest.offer)) }
        if let smallerFacts { return (smallerFacts, hello(.smaller, smaller?.offer)) }
        return (explanation.flatMap(facts), hello(explanation == nil ? .default : .wider, nil))
    }

    /// Looks at the staple of a handshake whose chain is there.
    package mutating func readStaple(of observation: HandshakeObservation, at instant: Date) {
        guard let response = observation.stapledResponse, let key = HostEvidence.stapleKey(observation),
            staples[key] == nil, let chain = chains[PresentedChain(observation.certificates)]
        else { return }
        staples[key] = chain.status(in: response, at: instant)
    }

    private static func stapleKey(_ observation: HandshakeObservation) -> PresentedChain? {
        observation.stapledResponse.map { PresentedChain([$0] + observation.certificates) }
    }

    /// The handshake that asked least: of those that succeeded, the one with the most offered suites and the lowest minimum.
    package var widest: (offer: Offer, facts: ConnectionFacts)? {
        var best: (offer: Offer, facts: ConnectionFacts)?
        for (offer, outcome) in outcomes {
            guard case .negotiated(let observation) = outcome, let facts = facts(of: observation) else { continue }
            if let held = best?.offer, !offer.isWider(than: held) { continue }
            best = (offer, facts)
        }
        return best
    }
}

extension Offer {
    /// The offer that decides the most.
    static func widest(of offers: some Collection<Offer>) -> Offer? { offers.max { $1.isWider(than: $0) } }

    /// A total order, so that the choice never depends on the order of a dictionary.
    fileprivate func isWider(than other: Offer) -> Bool {
        if suites.count != other.suites.count { return suites.count > other.suites.count }
        if minimum != other.minimum { return minimum < other.minimum }
        return suites.map(\.rawValue).lexicographicallyPrecedes(other.suites.map(\.rawValue))
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import FoundationEssentials
import NIOCore
import NIOPosix
import TLSModel
import TLSProbe

struct NetworkProbing: ServerProbing {
    private let prober: Prober
    /// Where names are looked up, for the load too.
    var resolver: NameResolver { prober.resolver }
    /// What was learned of chains, for the load too.
    let chains: RememberingChains
    private let configuration: CheckSession.Configuration
    private let instant: Date
    /// What was asked before; nil remembers nothing.
    private var memory: HelloMemory?

    init(_ configuration: CheckSession.Configuration, anchors: TrustAnchors, resolver: NameResolver, instant: Date) {
        let group = MultiThreadedEventLoopGroup.singleton
        prober = Prober(group: group, resolver: resolver)
        chains = RememberingChains(
            ChainBuilder(
                anchors: anchors,
                fetcher: configuration.fetchesIntermediates
                    ? HTTPIntermediateFetcher(group: group, resolver: resolver) : nil))
        self.configuration = configuration
        self.instant = instant
    }

    func evidence(
        of endpoint: Endpoint, offers: [HelloOffer], address: String?, within scope: FetchScope
    ) async -> HostEvidence {
        let place = HelloMemory.Key(endpoint: endpoint, address: address, scope: scope)
        var known = memory?[place] ?? HelloMemory.Place()
        defer { memory?[place] = known }
        let resolution = if let found = known.resolution { found } else { await resolution(of: place) }
        known.resolution = resolution
        if case .failed(let failure) = resolution {
            let outcomes = offers.map { ($0, HandshakeOutcome.connection(failure)) }
            return HostEvidence(outcomes: Dictionary(outcomes) { first, _ in first })
        }
        var hellos = 0
        func send(_ offer: HelloOffer) async -> HandshakeOutcome? {
            let timeout = TargetDeadline.remaining(atMost: configuration.connectTimeout)
            guard timeout > .zero, !Task.isCancelled else { return nil }
            let end = await prober.attempt(
                offer.named(endpoint.host), addresses: known.candidates, connectTimeout: timeout, timeout: timeout)
            hellos += 1
            known.remember(end, of: offer)
            return end.outcome
        }
        func ask(_ offer: HelloOffer) async -> HandshakeOutcome? {
            if let outcome = known.outcome(of: offer) { return outcome }
            return await send(offer)
        }
        var evidence = await HostEvidence(offers: offers, isExhaustive: configuration.isExhaustive, ask: ask)
        evidence.address = known.settled?.ipAddress
        if let last = offers.last, evidence.outcomes.values.allSatisfy(\.isRefusal), !evidence.outcomes.isEmpty {
            let baseline = WidestHello.Baseline(maximum: last.maximumVersion, groups: last.groups)
            if known.explanations[baseline] == nil {
                let explanation = await WidestHello.ask(
                    prober, known.candidates, serverName: endpoint.host, beyond: baseline,
                    timeout: configuration.connectTimeout * 2)
                known.explanations[baseline] = .some(explanation)
            }
            evidence.explanation = known.explanations[baseline] ?? nil
        }
        if let widest = HelloOffer.widest(of: offers), let smaller = widest.smaller, known.wasConnected,
            evidence.mayFailForSize(widest),
            let outcome = await SmallerHello.outcome(of: { await ask(smaller) }, again: { await send(widest) })
        {
            evidence.smaller = (smaller, outcome)
        }
        evidence.hellos = hellos
        let issuers: FetchScope =
            configuration.allowsPrivateRedirects
            ? .anyNetwork : known.settled.map { FetchScope(of: $0) } ?? .publicAddresses
        let negotiated = (evidence.outcomes.values + [evidence.smaller?.outcome].compactMap(\.self)).compactMap {
            outcome in
            if case .negotiated(let observation) = outcome { observation } else { nil }
        }
        for observation in negotiated + [evidence.explanation].compactMap(\.self)
        where evidence.facts(of: observation) == nil {
            let chain = await chains.facts(of: observation.certificates, at: instant, fetchingWithin: issuers)
            evidence.keep(chain, of: observation, at: instant)
        }
        return evidence
    }

    /// Where the hellos go: the addresses of the place, or why there are none.
    private func resolution(of place: HelloMemory.Key) async -> NameResolver.Resolution {
        let resolution = await resolution(
            of: Endpoint(host: place.address ?? place.endpoint.host, port: place.endpoint.port))
        guard case .addresses(let found) = resolution else { return resolution }
        let allowed = found.filter(place.scope.allows)
        return allowed.isEmpty && !found.isEmpty ? .failed(.unreachable(FetchScope.refusal)) : .addresses(allowed)
    }

    func remembering() -> any ServerProbing {
        var copy = self
        copy.memory = HelloMemory()
        return copy
    }

    func scope(ofServerAt address: String) -> FetchScope {
        (try? SocketAddress(ipAddress: address, port: 0)).map { FetchScope(of: $0) } ?? .publicAddresses
    }

    func addresses(of endpoint: Endpoint) async -> [String] {
        guard case .addresses(let list) = await resolution(of: endpoint) else { return [] }
        return list.compactMap(\.ipAddress)
    }

    /// What a look-up within the time for one connection says, or within what is left for the target.
    func resolution(of endpoint: Endpoint) async -> NameResolver.Resolution {
        await resolver.resolve(
            host: endpoint.host, port: endpoint.port,
            timeout: TargetDeadline.remaining(atMost: configuration.connectTimeout))
    }
}

extension HostEvidence {
    /// Whether nothing but the size of the hello may be the reason that no hello led to a handshake.
    ///
    /// A server that answers with alerts has another reason unless it negotiates, where everything classical is offered, what was offered.
    fileprivate func mayFailForSize(_ widest: HelloOffer) -> Bool {
        if outcomes.values.contains(where: \.isNegotiated) || outcomes.isEmpty { return false }
        if let explanation { return widest.offers(explanation) }
        return outcomes.values.allSatisfy(\.isSilence)
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Foundation
import NIOCore
import NIOPosix
import Synchronization
import TLSFacts
import TLSProbe

/// Hellos over the network.
struct NetworkProbing: ServerProbing {
    private let prober: Prober
    /// Where names are looked up, for the load too.
    var resolver: NameResolver { prober.resolver }
    /// What was learned of chains, for the load too.
    let chains: RememberingChains
    private let connectTimeout: Duration
    private let isExhaustive: Bool
    private let fetchesFromPrivateAddresses: Bool
    private let instant: Date

    init(_ configuration: CheckSession.Configuration, anchors: TrustAnchors, instant: Date) {
        let group = MultiThreadedEventLoopGroup.singleton
        let resolver = NameResolver(overrides: configuration.overrides)
        prober = Prober(group: group, resolver: resolver)
        chains = RememberingChains(
            ChainBuilder(
                anchors: anchors,
                fetcher: configuration.fetchesIntermediates
                    ? HTTPIntermediateFetcher(group: group, resolver: resolver) : nil
            )
        )
        connectTimeout = configuration.connectTimeout
        isExhaustive = configuration.isExhaustive
        fetchesFromPrivateAddresses = configuration.allowsPrivateRedirects
        self.instant = instant
    }

    func evidence(of endpoint: Endpoint, offers: [Offer], address: String?, allowsPrivate: Bool) async -> HostEvidence {
        var evidence = HostEvidence()
        func fail(_ failure: ConnectionFailure) -> HostEvidence {
            for offer in offers { evidence.outcomes[offer] = .connection(failure) }
            return evidence
        }
        var addresses: [SocketAddress]
        switch await resolver.resolve(
            host: address ?? endpoint.host,
            port: endpoint.port,
            timeout: TargetDeadline.remaining(atMost: connectTimeout)
        ) {
        case .failed(let failure): return fail(failure)
        case .addresses(let found): addresses = found
        }
        if !allowsPrivate {
            addresses.removeAll { AddressKind($0).isPrivate }
            if addresses.isEmpty { return fail(.unreachable("a public server may not lead to a private address")) }
        }
        let server = ServerAddress(addresses)
        let plan = HelloPlan(offers: offers, isExhaustive: isExhaustive)
        evidence = await plan.run { offer in
            let timeout = TargetDeadline.remaining(atMost: connectTimeout)
            guard timeout > .zero, !Task.isCancelled else { return nil }
            let (outcome, used) = await prober.probe(
                offer.hello(serverName: endpoint.host),
                addresses: server.candidates,
                connectTimeout: timeout,
                timeout: timeout
            )
            server.settle(on: used, after: outcome)
            return outcome
        }
        evidence.address = server.settled?.ipAddress
        if let last = offers.last, evidence.outcomes.values.allSatisfy(\.isRefusal), !evidence.outcomes.isEmpty {
            evidence.explanation = await WidestHello.ask(
                prober,
                server.candidates,
                serverName: endpoint.host,
                maximum: last.maximum,
                timeout: connectTimeout * 2
            )
        }
        let scope: FetchScope =
            fetchesFromPrivateAddresses
            ? .anyNetwork : server.settled.map { FetchScope(of: $0) } ?? .publicAddresses
        let negotiated = evidence.outcomes.values.compactMap { outcome in
            if case .negotiated(let observation) = outcome { observation } else { nil }
        }
        for observation in negotiated + [evidence.explanation].compactMap(\.self) {
            defer { evidence.readStaple(of: observation, at: instant) }
            guard evidence.chains[PresentedChain(observation.certificates)] == nil else { continue }
            evidence.chains[PresentedChain(observation.certificates)] = await chains.facts(
                of: observation.certificates,
                at: instant,
                fetchingWithin: scope
            )
        }
        return evidence
    }

    func isPrivate(_ address: String) -> Bool {
        (try? SocketAddress(ipAddress: address, port: 0)).map { AddressKind($0).isPrivate } ?? false
    }

    /// Every address of an endpoint, as text.
    func addresses(of endpoint: Endpoint) async -> [String] {
        guard
            case .addresses(let list) = await resolver.resolve(
                host: endpoint.host,
                port: endpoint.port,
                timeout: connectTimeout
            )
        else { return [] }
        return list.compactMap(\.ipAddress)
    }
}

extension Offer {
    fileprivate func hello(serverName: String) -> HelloOffer {
        HelloOffer(
            minimumVersion: minimum,
            maximumVersion: maximum,
            suites: suites,
            groups: groups,
            signatureSchemes: signatureSchemes,
            serverName: serverName,
            // One share, as Apple's clients send; a server that wants another group asks for it.
            keyShareGroups: [.x25519]
        )
    }
}

/// The addresses of a server: all of them until one can be connected to, then that one.
private final class ServerAddress: Sendable {
    private let addresses: [SocketAddress]
    private let chosen = Mutex<SocketAddress?>(nil)

    init(_ addresses: [SocketAddress]) { self.addresses = addresses }

    var candidates: [SocketAddress] { settled.map { [$0] } ?? addresses }

    /// Nil where no address let itself be connected to.
    var settled: SocketAddress? { chosen.withLock { $0 } }

    func settle(on address: SocketAddress?, after outcome: HandshakeOutcome) {
        switch outcome {
        case .connection(.refused), .connection(.unreachable), .connection(.nameNotFound): return
        default: chosen.withLock { if $0 == nil { $0 = address } }
        }
    }
}

extension HandshakeOutcome {
    /// A TLS answer that is a no.
    fileprivate var isRefusal: Bool {
        switch self {
        case .alert, .protocolError: true
        case .negotiated, .connection: false
        }
    }
}

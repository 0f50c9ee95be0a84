// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import NIOCore
import Synchronization
import TLSModel
import TLSProbe

/// What was asked about one target already, so that several systems ask for each thing once. It lives as long as the check of the target.
final class HelloMemory: Sendable {
    private struct Key: Hashable {
        let endpoint: Endpoint
        let address: String?
        let scope: FetchScope
    }

    private let places = Mutex<[Key: Place]>([:])

    /// What is known about one place.
    func place(_ endpoint: Endpoint, address: String?, within scope: FetchScope) -> Place {
        let key = Key(endpoint: endpoint, address: address, scope: scope)
        return places.withLock { places in
            if let place = places[key] { return place }
            let place = Place()
            places[key] = place
            return place
        }
    }

    /// One server: where it is, how it answered each offer, and what it negotiates when everything is offered.
    final class Place: Sendable {
        private struct State {
            var resolution: NameResolver.Resolution?
            var settled: SocketAddress?
            var outcomes: [HelloOffer: HandshakeOutcome] = [:]
            var wasConnected = false
            /// An outcome that every other hello would have too, with the offer that had it.
            var dead: (offer: HelloOffer, outcome: HandshakeOutcome)?
            /// By what the system offers; a value of nil says that nothing was negotiated.
            var explanations: [WidestHello.Baseline: HandshakeObservation?] = [:]
        }

        private let state = Mutex(State())

        /// The addresses that hellos may go to, or why there are none; nil until it was looked up.
        var resolution: NameResolver.Resolution? {
            get { state.withLock { $0.resolution } }
            set { state.withLock { $0.resolution = newValue } }
        }

        /// The address that was connected to; nil if none was.
        var settled: SocketAddress? { state.withLock { $0.settled } }

        /// All addresses until one was connected to, then that one.
        var candidates: [SocketAddress] {
            if let settled { return [settled] }
            if case .addresses(let addresses)? = resolution { return addresses }
            return []
        }

        /// What the server answered, or would answer; nil if it must be asked.
        func outcome(of offer: HelloOffer) -> HandshakeOutcome? {
            state.withLock { state in
                if let outcome = state.outcomes[offer] { return outcome }
                guard let dead = state.dead else { return nil }
                // Silence may be due to what a hello contains; a host that is not there is not there for any.
                if case .connection(.timeout) = dead.outcome, !offer.isComparable(to: dead.offer) { return nil }
                return dead.outcome
            }
        }

        /// Whether any hello was written to the server.
        var wasConnected: Bool { state.withLock { $0.wasConnected } }

        func remember(
            _ outcome: HandshakeOutcome, of offer: HelloOffer, at address: SocketAddress?, wasConnected: Bool
        ) {
            state.withLock { state in
                if wasConnected { state.wasConnected = true }
                state.outcomes[offer] = outcome
                if outcome.endsThePlan { state.dead = (offer, outcome) }
                switch outcome {
                case .connection(.refused), .connection(.unreachable), .connection(.nameNotFound): break
                default: state.settled = state.settled ?? address
                }
            }
        }

        func explanation(
            beyond baseline: WidestHello.Baseline, ask: () async -> HandshakeObservation?
        ) async -> HandshakeObservation? {
            if let known = state.withLock({ $0.explanations[baseline] }) { return known }
            let explanation = await ask()
            state.withLock { $0.explanations[baseline] = .some(explanation) }
            return explanation
        }
    }
}

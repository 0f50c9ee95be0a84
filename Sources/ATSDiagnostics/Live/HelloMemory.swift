// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import NIOCore
import Synchronization
import TLSModel
import TLSProbe

/// What was asked about one target already, so that several systems ask for each thing once. It lives as long as the check of the target.
final class HelloMemory: Sendable {
    struct Key: Hashable, Sendable {
        let endpoint: Endpoint
        let address: String?
        let scope: FetchScope
    }

    private let places = Mutex<[Key: Place]>([:])

    subscript(key: Key) -> Place {
        get { places.withLock { $0[key] ?? Place() } }
        set { places.withLock { $0[key] = newValue } }
    }

    /// One server: where it is, how it answered each offer, and what it negotiates when everything is offered.
    struct Place: Sendable {
        /// The addresses that hellos may go to, or why there are none; nil until it was looked up.
        var resolution: NameResolver.Resolution?
        /// The address that was connected to; nil if none was.
        private(set) var settled: SocketAddress?
        /// Whether any hello was written to the server.
        private(set) var wasConnected = false
        private var outcomes: [HelloOffer: HandshakeOutcome] = [:]
        /// An outcome that every other hello would have too, with the offer that had it.
        private var dead: (offer: HelloOffer, outcome: HandshakeOutcome)?
        /// By what the system offers; a value of nil says that nothing was negotiated.
        var explanations: [WidestHello.Baseline: HandshakeObservation?] = [:]

        /// All addresses until one was connected to, then that one.
        var candidates: [SocketAddress] {
            if let settled { return [settled] }
            if case .addresses(let addresses)? = resolution { return addresses }
            return []
        }

        /// What the server answered, or would answer; nil if it must be asked.
        func outcome(of offer: HelloOffer) -> HandshakeOutcome? {
            if let outcome = outcomes[offer] { return outcome }
            guard let dead else { return nil }
            // Silence may be due to what a hello contains; a host that is not there is not there for any.
            if case .connection(.timeout) = dead.outcome, !offer.isComparable(to: dead.offer) { return nil }
            return dead.outcome
        }

        mutating func remember(_ end: ProbeEnd, of offer: HelloOffer) {
            if end.wasConnected { wasConnected = true }
            outcomes[offer] = end.outcome
            if end.outcome.endsThePlan { dead = (offer, end.outcome) }
            switch end.outcome {
            case .connection(.refused), .connection(.unreachable), .connection(.nameNotFound): break
            default: settled = settled ?? end.address
            }
        }
    }
}

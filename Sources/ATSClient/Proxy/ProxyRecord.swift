// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Synchronization
import Vocabulary

/// What passed through a proxy, for each host and port. At most 10,000 of them; what comes later is only counted as a whole.
final class ProxyRecord: Sendable {
    struct Place: Hashable, Sendable {
        let host: String
        let port: Int
        let isSecure: Bool
    }

    struct Entry: Sendable {
        var requests = 0
        var refused = 0
        var failed = 0
        var causes: [Cause] = []
        var error: URLLoadError?
        var console: [ConsoleLine] = []
    }

    static let capacity = 10_000
    private let kept = Mutex<[Place: Entry]>([:])

    func add(_ event: ATSProxy.Event, host: String, port: Int, isSecure: Bool) {
        let place = Place(host: host, port: port, isSecure: isSecure)
        kept.withLock { kept in
            guard kept[place] != nil || kept.count < ProxyRecord.capacity else { return }
            kept[place, default: Entry()].requests += 1
            switch event.result {
            case .allowed: break
            case .refused, .wouldRefuse:
                kept[place]?.refused += 1
                kept[place]?.causes = event.causes
                kept[place]?.error = event.error
                kept[place]?.console = event.console
            case .failed:
                kept[place]?.failed += 1
                // What the policy refused says more.
                if kept[place]?.refused == 0 { kept[place]?.error = event.error }
            }
        }
    }

    var hosts: [(place: Place, entry: Entry)] {
        kept.withLock { kept in
            kept.map { (place: $0.key, entry: $0.value) }.sorted {
                ($0.place.host, $0.place.port) < ($1.place.host, $1.place.port)
            }
        }
    }
}

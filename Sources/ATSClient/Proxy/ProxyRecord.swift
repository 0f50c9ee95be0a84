// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What passed through a proxy, for each host and port. At most 10,000 of them; what comes later is only counted as a whole.
final class ProxyRecord: Sendable {
    private struct Place: Hashable {
        let host: String
        let port: Int
        let isSecure: Bool
    }

    static let capacity = 10_000
    private let kept = Mutex<[Place: ProxySummary.Host]>([:])

    func add(_ event: ATSProxy.Event, host: String, port: Int, isSecure: Bool) {
        let place = Place(host: host, port: port, isSecure: isSecure)
        kept.withLock { kept in
            guard kept[place] != nil || kept.count < ProxyRecord.capacity else { return }
            kept[place, default: .init(host: host, port: port, isSecure: isSecure)].requests += 1
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
                guard kept[place]?.refused == 0 else { break }
                kept[place]?.causes = event.causes
                kept[place]?.error = event.error
            }
        }
    }

    var hosts: [ProxySummary.Host] {
        kept.withLock { Array($0.values) }.sorted { ($0.host, $0.port) < ($1.host, $1.port) }
    }
}

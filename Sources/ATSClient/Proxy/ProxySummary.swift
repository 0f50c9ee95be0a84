// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
import NIOCore
import Synchronization
import TLSModel
package import Vocabulary

/// What passed through a proxy, and the smallest dictionary that would have let all of it through.
package struct ProxySummary: Sendable {
    package struct Host: Sendable {
        /// Name or address, without brackets.
        package let host: String
        package let port: Int
        /// Whether it was asked by CONNECT and not in cleartext.
        package let isSecure: Bool
        package internal(set) var requests = 0
        package internal(set) var refused = 0
        /// Requests that failed for other reasons than the policy.
        package internal(set) var failed = 0
        /// Why, first cause first.
        package internal(set) var causes: [Cause] = []
        /// What an app would get; nil if everything was passed on.
        package internal(set) var error: URLLoadError?
        /// What the console of the system would show for it, as far as a source has it.
        package internal(set) var console: [ConsoleLine] = []
    }

    package let hosts: [Host]
    /// The smallest dictionary; empty if the defaults let everything through.
    package let dictionary: ATSDictionary
    /// Each `host:port` that no exception lets through without code of the app, or that did not answer when it was asked again.
    package let impossible: [String]

    /// Finds the smallest exception for each host by asking it with narrower hellos first.
    static func make(
        of hosts: [Host], judge: ProxyJudge, within limit: Duration
    ) async -> ProxySummary {
        let deadline = NIODeadline.now() + TimeAmount(limit)
        let places = hosts.filter { $0.failed < $0.requests }
        var dictionary = ATSDictionary()
        var impossible: Set<String> = []
        // Neither asking nor noting the answer throws.
        try? await BoundedTasks(width: 16).run(places) { _, place in
            NIODeadline.now() < deadline ? await place.smallestDictionary(judge) : nil
        } each: { index, need in
            guard let need else {
                impossible.insert("\(places[index].host):\(places[index].port)")
                return
            }
            dictionary.arbitraryLoads = need.arbitraryLoads ?? dictionary.arbitraryLoads
            dictionary.exceptions.merge(need.exceptions) { $0.union($1) }
        }
        return ProxySummary(hosts: hosts, dictionary: dictionary, impossible: impossible.sorted())
    }
}

extension ProxySummary.Host {
    /// The first candidate of ``ExceptionLadder`` under which the place complies, or the key for the whole app, where no exception reaches: before
    /// iOS 17 the entries of NSExceptionDomains are names, not addresses. Nil if none does.
    func smallestDictionary(_ judge: ProxyJudge) async -> ATSDictionary? {
        let address = HostPort.text(host: host, port: port)
        guard let url = try? LoadURL("\(isSecure ? "https" : "http")://\(address)/") else { return nil }
        let profile = judge.policy.profile
        let addresses = isSecure ? await judge.addresses(of: host, port: port) : []
        var asked: LoadEffect?
        for need in ExceptionLadder.candidates(key: ExceptionLadder.key(for: host, on: profile)) + [.allowingEverything]
        {
            let decision = ATSPolicy(dictionary: need, profile: profile).decide(url)
            if decision.verdict == .blocked { continue }
            if !isSecure { return need }
            let effect = LoadEffect(decision)
            if effect == asked { continue }
            asked = effect
            // Where nobody speaks TLS with any hello, another one changes nothing.
            var isMute = true
            for address in addresses {
                switch await judge.probe(decision, address) {
                case .complies: return need
                case .unknown(let causes, _):
                    if let code = causes.first?.code, [.netReset, .netClosed].contains(code) { isMute = false }
                    continue
                // No key of a dictionary makes a hello smaller.
                case .refused(let causes, _, _) where causes.contains { $0.code == .tlsLargeHello }: return nil
                case .refused: isMute = false
                }
                break
            }
            if isMute { return nil }
        }
        return nil
    }
}

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

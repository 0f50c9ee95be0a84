// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
import NIOCore
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
        var needs: [String: ExceptionEntry] = [:]
        var needsArbitraryLoads = false
        var impossible: Set<String> = []
        // Neither asking nor noting the answer throws.
        try? await BoundedTasks(width: 16).run(places) { _, place in
            NIODeadline.now() < deadline ? await Need.smallest(for: place, judge) : nil
        } each: { index, need in
            let place = places[index]
            switch need {
            case .exception(let need)?: needs[place.host] = needs[place.host].map { $0.union(need) } ?? need
            case .arbitraryLoads?: needsArbitraryLoads = true
            case nil: impossible.insert("\(place.host):\(place.port)")
            }
        }
        var dictionary = ExceptionLadder.dictionary(needs)
        if needsArbitraryLoads { dictionary.arbitraryLoads = true }
        return ProxySummary(
            hosts: hosts,
            dictionary: dictionary,
            impossible: impossible.sorted()
        )
    }
}

enum Need: Equatable {
    case exception(ExceptionEntry)
    /// The key for the whole app, where no exception reaches: before iOS 17 the entries of NSExceptionDomains are names, not addresses.
    case arbitraryLoads

    /// The first entry of ``ExceptionLadder`` under which the place complies; nil if none does.
    static func smallest(for place: ProxySummary.Host, _ judge: ProxyJudge) async -> Need? {
        let address = HostPort.text(host: place.host, port: place.port)
        guard let url = try? LoadURL("\(place.isSecure ? "https" : "http")://\(address)/") else { return nil }
        let profile = judge.policy.profile
        let needs = ExceptionLadder.entries.map(Need.exception) + [.arbitraryLoads]
        let addresses = place.isSecure ? await judge.addresses(of: place.host, port: place.port) : []
        for need in needs {
            let decision = ATSPolicy(dictionary: need.dictionary(place.host), profile: profile).decide(url)
            if decision.verdict == .blocked { continue }
            if !place.isSecure { return need }
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

    private func dictionary(_ host: String) -> ATSDictionary {
        switch self {
        case .exception(let entry): ExceptionLadder.dictionary([host: entry])
        case .arbitraryLoads: .allowingEverything
        }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
public import Findings
import NIOCore
import TLSFacts

/// What passed through a proxy, and the smallest dictionary that would have let all of it through.
public struct ProxySummary: Sendable {
    /// One host and port.
    public struct Host: Sendable {
        /// Name or address, without brackets.
        public let host: String
        /// Its port.
        public let port: Int
        /// Whether it was asked by CONNECT and not in cleartext.
        public let isSecure: Bool
        /// All requests to it.
        public let requests: Int
        /// Requests that the policy refused.
        public let refused: Int
        /// Requests that failed for other reasons than the policy.
        public let failed: Int
        /// Why, first cause first.
        public let causes: [Cause]
    }

    /// Every host that was asked for.
    public let hosts: [Host]
    /// The value of NSAppTransportSecurity; empty where the defaults let everything through.
    public let dictionary: PropertyListValue
    /// Each `host:port` that no exception lets through without code of the app, or that did not answer when it was asked again.
    public let impossible: [String]

    /// Finds the smallest exception for each host by asking it with narrower hellos first.
    static func make(
        of hosts: [(place: ProxyRecord.Place, entry: ProxyRecord.Entry)],
        judge: ProxyJudge,
        within limit: Duration
    ) async -> ProxySummary {
        let deadline = NIODeadline.now() + TimeAmount(limit)
        let places = hosts.filter { $0.entry.failed < $0.entry.requests }.map(\.place)
        var needs: [String: Exception] = [:]
        var impossible: Set<String> = []
        await withTaskGroup(of: (ProxyRecord.Place, Exception?).self) { group in
            var rest = places[...]
            func next() {
                guard let place = rest.popFirst() else { return }
                group.addTask {
                    (place, NIODeadline.now() < deadline ? await Exception.smallest(for: place, judge) : nil)
                }
            }
            for _ in 0..<16 { next() }
            for await (place, need) in group {
                if let need {
                    needs[place.host] = needs[place.host].map { $0.joined(need) } ?? need
                } else {
                    impossible.insert("\(place.host):\(place.port)")
                }
                next()
            }
        }
        let entries = needs.compactMapValues(\.value)
        return ProxySummary(
            hosts: hosts.map { place, entry in
                Host(
                    host: place.host,
                    port: place.port,
                    isSecure: place.isSecure,
                    requests: entry.requests,
                    refused: entry.refused,
                    failed: entry.failed,
                    causes: entry.causes
                )
            },
            dictionary: .dictionary(entries.isEmpty ? [:] : ["NSExceptionDomains": .dictionary(entries)]),
            impossible: impossible.sorted()
        )
    }
}

/// The sub-keys of one exception, as little as possible.
struct Exception: Sendable, Equatable {
    var allowsInsecure = false
    var minimum: TLSVersion?
    var dropsForwardSecrecy = false

    /// From nothing to everything: forward secrecy first, because App Review does not ask about it, then older versions.
    static let bySize: [Exception] = [
        Exception(),
        Exception(dropsForwardSecrecy: true),
        Exception(minimum: .tls11),
        Exception(minimum: .tls10),
        Exception(minimum: .tls11, dropsForwardSecrecy: true),
        Exception(minimum: .tls10, dropsForwardSecrecy: true),
        Exception(allowsInsecure: true, dropsForwardSecrecy: true),
        Exception(allowsInsecure: true, minimum: .tls11, dropsForwardSecrecy: true),
        Exception(allowsInsecure: true, minimum: .tls10, dropsForwardSecrecy: true),
    ]

    /// The entry of NSExceptionDomains; nil where none is needed.
    var value: PropertyListValue? {
        var members: [String: PropertyListValue] = [:]
        if allowsInsecure { members["NSExceptionAllowsInsecureHTTPLoads"] = .boolean(true) }
        if let minimum { members["NSExceptionMinimumTLSVersion"] = .string(minimum.description) }
        if dropsForwardSecrecy { members["NSExceptionRequiresForwardSecrecy"] = .boolean(false) }
        return members.isEmpty ? nil : .dictionary(members)
    }

    /// What serves both.
    func joined(_ other: Exception) -> Exception {
        Exception(
            allowsInsecure: allowsInsecure || other.allowsInsecure,
            minimum: [minimum, other.minimum].compactMap(\.self).min(),
            dropsForwardSecrecy: dropsForwardSecrecy || other.dropsForwardSecrecy
        )
    }

    private func policy(_ host: String, _ profile: OSProfile) -> ATSPolicy {
        let value = value.map { PropertyListValue.dictionary(["NSExceptionDomains": .dictionary([host: $0])]) }
        return ATSPolicy(dictionary: ATSDictionary(value), profile: profile)
    }

    /// The first of the list under which the host complies; nil where none does.
    static func smallest(for place: ProxyRecord.Place, _ judge: ProxyJudge) async -> Exception? {
        let host = place.host.contains(":") ? "[\(place.host)]" : place.host
        guard let url = try? LoadURL("\(place.isSecure ? "https" : "http")://\(host):\(place.port)/") else {
            return nil
        }
        if !place.isSecure {
            let needed = [Exception(), Exception(allowsInsecure: true)]
            return needed.first { $0.policy(place.host, judge.policy.profile).decide(url).verdict != .blocked }
        }
        let addresses = await judge.addresses(of: place.host, port: place.port)
        for exception in bySize {
            let decision = exception.policy(place.host, judge.policy.profile).decide(url)
            if decision.verdict == .blocked { continue }
            let requirements = decision.requirements
            for address in addresses {
                switch await judge.probe(requirements, place.host, address) {
                case .complies: return exception
                case .unknown: continue
                case .refused: break
                }
                break
            }
        }
        return nil
    }
}

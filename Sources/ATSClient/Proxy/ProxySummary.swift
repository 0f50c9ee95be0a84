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
        var needsArbitraryLoads = false
        var impossible: Set<String> = []
        await withTaskGroup(of: (ProxyRecord.Place, Need?).self) { group in
            var rest = places[...]
            func next() {
                guard let place = rest.popFirst() else { return }
                group.addTask {
                    (place, NIODeadline.now() < deadline ? await Need.smallest(for: place, judge) : nil)
                }
            }
            for _ in 0..<16 { next() }
            for await (place, need) in group {
                switch need {
                case .exception(let need)?: needs[place.host] = needs[place.host].map { $0.joined(need) } ?? need
                case .arbitraryLoads?: needsArbitraryLoads = true
                case nil: impossible.insert("\(place.host):\(place.port)")
                }
                next()
            }
        }
        let entries = needs.compactMapValues(\.value)
        var dictionary: [String: PropertyListValue] = [:]
        if !entries.isEmpty { dictionary[ATSKey.exceptionDomains] = .dictionary(entries) }
        if needsArbitraryLoads { dictionary[ATSKey.arbitraryLoads] = .boolean(true) }
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
            dictionary: .dictionary(dictionary),
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
        if allowsInsecure { members[ATSKey.insecureHTTPLoads] = .boolean(true) }
        if let minimum { members[ATSKey.minimumTLSVersion] = .string(minimum.description) }
        if dropsForwardSecrecy { members[ATSKey.forwardSecrecy] = .boolean(false) }
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

    /// A dictionary with nothing but this entry.
    func policy(_ host: String, _ profile: OSProfile) -> ATSPolicy {
        let value = value.map { PropertyListValue.dictionary([ATSKey.exceptionDomains: .dictionary([host: $0])]) }
        return ATSPolicy(dictionary: ATSDictionary(value), profile: profile)
    }
}

/// What one place needs.
enum Need: Equatable {
    case exception(Exception)
    /// The key for the whole app, where no exception reaches: before iOS 17 the entries of NSExceptionDomains are names, not addresses.
    case arbitraryLoads

    /// The first of the lists under which the place complies; nil where none does.
    static func smallest(for place: ProxyRecord.Place, _ judge: ProxyJudge) async -> Need? {
        let host = place.host.contains(":") ? "[\(place.host)]" : place.host
        guard let url = try? LoadURL("\(place.isSecure ? "https" : "http")://\(host):\(place.port)/") else {
            return nil
        }
        let profile = judge.policy.profile
        let exceptions = place.isSecure ? Exception.bySize : [Exception(), Exception(allowsInsecure: true)]
        let needs = exceptions.map(Need.exception) + [.arbitraryLoads]
        let addresses = place.isSecure ? await judge.addresses(of: place.host, port: place.port) : []
        for need in needs {
            let decision = need.policy(place.host, profile).decide(url)
            if decision.verdict == .blocked { continue }
            if !place.isSecure { return need }
            for address in addresses {
                switch await judge.probe(decision.requirements, place.host, address) {
                case .complies: return need
                case .unknown: continue
                case .refused: break
                }
                break
            }
        }
        return nil
    }

    private func policy(_ host: String, _ profile: OSProfile) -> ATSPolicy {
        switch self {
        case .exception(let exception): exception.policy(host, profile)
        case .arbitraryLoads:
            ATSPolicy(
                dictionary: ATSDictionary(.dictionary([ATSKey.arbitraryLoads: .boolean(true)])),
                profile: profile
            )
        }
    }
}

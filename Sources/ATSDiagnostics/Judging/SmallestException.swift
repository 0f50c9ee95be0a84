// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity

/// The least that an app's dictionary must say for a target to load.
public enum SmallestException: Sendable, Equatable {
    /// The target loads under the defaults.
    case none
    /// A value of NSAppTransportSecurity.
    case dictionary(PropertyListValue)
    /// No key helps, or it could not be determined.
    case noneHelps

    /// `{}`, the dictionary, or nil.
    public var value: PropertyListValue? {
        switch self {
        case .none: .dictionary([:])
        case .dictionary(let value): value
        case .noneHelps: nil
        }
    }
}

/// The entries of NSExceptionDomains that are tried for one host, least exposure first.
///
/// The order never puts a set of keys before one of its parts, so the first that works has no smaller one that works: forward secrecy
/// before versions, because it needs no justification in App Review; insecure HTTP last, because it gives up most.
package enum ExceptionCandidates {
    package static let entries: [[String: PropertyListValue]] = {
        let secrecy: [String: PropertyListValue] = [ATSKey.forwardSecrecy: .boolean(false)]
        let insecure: [String: PropertyListValue] = [ATSKey.insecureHTTPLoads: .boolean(true)]
        func version(_ name: String) -> [String: PropertyListValue] { [ATSKey.minimumTLSVersion: .string(name)] }
        let tls: [[String: PropertyListValue]] = [
            [:], secrecy, version("TLSv1.1"), version("TLSv1.0"), secrecy + version("TLSv1.1"),
            secrecy + version("TLSv1.0"),
        ]
        return tls + tls.map { $0 + insecure }
    }()

    package static func dictionary(_ entries: [String: [String: PropertyListValue]]) -> PropertyListValue {
        let kept = entries.filter { !$0.value.isEmpty }.mapValues { PropertyListValue.dictionary($0) }
        return .dictionary(kept.isEmpty ? [:] : [ATSKey.exceptionDomains: .dictionary(kept)])
    }

    /// Every dictionary that the search for one host may judge: their offers must be known before.
    package static func dictionaries(host: String) -> [PropertyListValue] {
        entries.map { dictionary([host: $0]) }
    }
}

extension ConfigurationJudge {
    /// Searches minimum version, forward secrecy and insecure HTTP for each host that the load came to.
    ///
    /// Hosts are searched one by one: an entry for one host never changes the decision for another, as none includes subdomains.
    package func smallestException() -> SmallestException {
        if judge(dictionary: .dictionary([:])).result == .pass { return .none }
        switch trace?.end {
        case nil, .loaded, .handshakeRefused: break
        case .refused, .noAnswer: return .noneHelps
        }
        let places = trace?.places ?? [target]
        var chosen: [String: [String: PropertyListValue]] = [:]
        for host in Set(places.map(\.host)).sorted() {
            let own = places.filter { $0.host == host }
            let fitting = ExceptionCandidates.entries.first { entry in
                let dictionary = ExceptionCandidates.dictionary([host: entry])
                return own.allSatisfy { judge(place: $0, dictionary: dictionary, isRedirect: false).result == .pass }
            }
            guard let fitting else { return arbitraryLoads(places) }
            chosen[host] = fitting
        }
        let dictionary = ExceptionCandidates.dictionary(chosen)
        return judge(dictionary: dictionary).result == .pass ? .dictionary(dictionary) : .noneHelps
    }

    /// On systems whose exceptions cannot name addresses, only the global key frees an address.
    private func arbitraryLoads(_ places: [LoadURL]) -> SmallestException {
        guard !profile.readsAddressKeys.value, places.contains(where: { $0.literalAddress != nil }) else {
            return .noneHelps
        }
        let all = PropertyListValue.dictionary([ATSKey.arbitraryLoads: .boolean(true)])
        return judge(dictionary: all).result == .pass ? .dictionary(all) : .noneHelps
    }
}

private func + (
    left: [String: PropertyListValue],
    right: [String: PropertyListValue]
) -> [String: PropertyListValue] {
    left.merging(right) { $1 }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
package import Findings

/// The least that an app's dictionary must say for a target to load.
public enum SmallestException: Sendable, Equatable {
    /// The target loads under the defaults.
    case none
    /// The target loads under this dictionary.
    case dictionary(ATSDictionary)
    /// No key helps, or it could not be determined.
    case noneHelps

    /// The empty dictionary, the dictionary, or nil.
    package var dictionary: ATSDictionary? {
        switch self {
        case .none: ATSDictionary()
        case .dictionary(let dictionary): dictionary
        case .noneHelps: nil
        }
    }
}

extension ConfigurationJudge {
    /// Searches minimum version, forward secrecy and insecure HTTP for each host that the load came to.
    ///
    /// Hosts are searched one by one: an entry for one host never changes the decision for another, as none includes subdomains.
    package func smallestException() -> SmallestException {
        if judge(dictionary: ATSDictionary()).result == .pass { return .none }
        switch trace?.end {
        case nil, .loaded, .handshakeRefused: break
        case .refused, .noAnswer: return .noneHelps
        }
        let places = trace?.places ?? [target]
        var chosen: [String: ExceptionEntry] = [:]
        for host in Set(places.map(\.host)).sorted() {
            let own = places.filter { $0.host == host }
            let fitting = ExceptionLadder.entries.first { entry in
                let dictionary = ExceptionLadder.dictionary(host: host, entry)
                return own.allSatisfy { judge(place: $0, dictionary: dictionary, isRedirect: false).result == .pass }
            }
            guard let fitting else { return arbitraryLoads(places) }
            chosen[host] = fitting
        }
        let dictionary = ExceptionLadder.dictionary(chosen)
        return judge(dictionary: dictionary).result == .pass ? .dictionary(dictionary) : .noneHelps
    }

    /// What the verdict under a dictionary rests on that was inferred and not measured.
    package func inferences(under dictionary: ATSDictionary) -> [Cause] {
        judge(dictionary: dictionary).notes.filter { $0.code == .noteSDKInferred }
    }

    /// On systems whose exceptions cannot name addresses, only the global key frees an address.
    private func arbitraryLoads(_ places: [LoadURL]) -> SmallestException {
        guard !profile.readsAddressKeys.value, places.contains(where: { $0.literalAddress != nil }) else {
            return .noneHelps
        }
        let all = ATSDictionary.allowingEverything
        return judge(dictionary: all).result == .pass ? .dictionary(all) : .noneHelps
    }
}

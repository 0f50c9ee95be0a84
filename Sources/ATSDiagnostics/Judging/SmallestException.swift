// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
package import Vocabulary

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
        return leastDictionary { $0.result == .pass }.map(SmallestException.dictionary) ?? .noneHelps
    }

    /// The app's own dictionary with the least more that lets the target load; nil if nothing more does.
    ///
    /// Hosts are searched one after the other: an entry for one changes no other.
    package func smallestEdit(of app: ATSDictionary) -> ATSDictionary? {
        var edited = app
        for place in trace?.places ?? [target] {
            func loads(_ dictionary: ATSDictionary) -> Bool {
                judge(place: place, dictionary: dictionary, isRedirect: false, on: appProfile).result == .pass
            }
            if loads(edited) { continue }
            guard let fitting = ExceptionLadder.edits(of: edited, for: place, on: appProfile).first(where: loads) else {
                return nil
            }
            edited = fitting
        }
        return judge(dictionary: edited, on: appProfile).result == .pass ? edited : nil
    }

    /// The least that a dictionary must say for the app's own code to be asked about the certificate; nil if it would not be, or need not.
    package func exceptionWithDelegate() -> ATSDictionary? {
        leastDictionary { $0.result == .pass || $0.because.contains { $0.code == .trustNeedsDelegate } }
    }

    /// The first dictionary of the ladder, host by host, under which each place of the load is as it should be.
    private func leastDictionary(_ isEnough: (Judgement) -> Bool) -> ATSDictionary? {
        switch trace?.end {
        case nil, .loaded, .handshakeRefused: break
        case .refused, .noAnswer: return nil
        }
        let places = trace?.places ?? [target]
        var chosen = ATSDictionary()
        for host in Set(places.map(\.host)).sorted() {
            let own = places.filter { $0.host == host }
            let key = ExceptionLadder.key(for: host, on: profile)
            let fitting = ExceptionLadder.candidates(key: key).first { dictionary in
                own.allSatisfy { isEnough(judge(place: $0, dictionary: dictionary, isRedirect: false)) }
            }
            guard let fitting else { return arbitraryLoads(places, isEnough) }
            for (key, entry) in fitting.exceptions {
                chosen.exceptions[key] = chosen.exceptions[key]?.union(entry) ?? entry
            }
        }
        return isEnough(judge(dictionary: chosen)) ? chosen : nil
    }

    /// What the verdict under a dictionary rests on that was inferred and not measured.
    package func inferences(under dictionary: ATSDictionary) -> [Cause] {
        judge(dictionary: dictionary).notes.filter { $0.code == .noteSDKInferred }
    }

    /// On systems whose exceptions cannot name addresses, only the global key frees an address.
    private func arbitraryLoads(_ places: [LoadURL], _ isEnough: (Judgement) -> Bool) -> ATSDictionary? {
        guard !profile.readsAddressKeys.value, places.contains(where: { $0.literalAddress != nil }) else { return nil }
        let all = ATSDictionary.allowingEverything
        return isEnough(judge(dictionary: all)) ? all : nil
    }
}

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
        return leastDictionary(on: profile).map(SmallestException.dictionary) ?? .noneHelps
    }

    /// The app's own dictionary with the least more that lifts what the policy blocks, where it is not known how the load ends then, with what
    /// leaves that open; nil if nothing more does that.
    package func openEdit(of app: ATSDictionary) -> (dictionary: ATSDictionary, doubt: Cause)? {
        for edited in ExceptionLadder.edits(of: app, for: target, on: appProfile) {
            let judgement = judge(dictionary: edited, on: appProfile)
            if judgement.result == .undetermined, let doubt = judgement.because.first { return (edited, doubt) }
        }
        return nil
    }

    /// The app's own dictionary with the least more that lets the target load; nil if nothing more does.
    ///
    /// Hosts are searched one after the other: an entry for one changes no other.
    ///
    /// - Parameter withDelegate: whether the app's own code accepts certificates.
    package func smallestEdit(of app: ATSDictionary, withDelegate: Bool = false) -> ATSDictionary? {
        var edited = app
        for place in places {
            func loads(_ dictionary: ATSDictionary) -> Bool {
                let judgement = judge(place: place, dictionary: dictionary, isRedirect: false, on: appProfile)
                return judgement.isEnough(withDelegate: withDelegate)
            }
            if loads(edited) { continue }
            guard let fitting = ExceptionLadder.edits(of: edited, for: place, on: appProfile).first(where: loads) else {
                return nil
            }
            edited = fitting
        }
        return isEnough(edited, on: appProfile, withDelegate: withDelegate) ? edited : nil
    }

    /// The least that a dictionary must say for the app's own code to be asked about every certificate; nil if it would not be, or if the load fails
    /// all the same.
    package func exceptionWithDelegate() -> ATSDictionary? { leastDictionary(on: profile, withDelegate: true) }

    /// What stays in the way if the app's own code accepts the certificate of the target, or leaves it open how the load ends then; nil if nothing
    /// does, or if its certificate is not what is wrong.
    ///
    /// - Parameter dictionary: what permits that code.
    package func causeBehindCertificate(_ dictionary: ATSDictionary) -> Cause? {
        let first = judge(place: target, dictionary: dictionary, isRedirect: false, on: appProfile)
        guard let trace, first.result != .pass, first.passesWithDelegate else { return nil }
        for place in trace.places.dropFirst() {
            let judgement = judge(place: place, dictionary: dictionary, isRedirect: true, on: appProfile)
            if !judgement.passesWithDelegate { return judgement.because.first }
        }
        return judge(endOf: trace, dictionary: dictionary, on: appProfile).because.first
    }

    private var places: [LoadURL] { trace?.places ?? [target] }

    /// Whether the load comes to its end under a dictionary. Behind a certificate that only the app's code accepts the end may be unknown.
    private func isEnough(_ dictionary: ATSDictionary, on profile: OSProfile, withDelegate: Bool) -> Bool {
        if judge(dictionary: dictionary, on: profile).result == .pass { return true }
        // Where no certificate is refused there is nothing that the app's code could accept.
        guard withDelegate else { return false }
        let judged = places.map { judge(place: $0, dictionary: dictionary, isRedirect: false, on: profile) }
        return judged.allSatisfy(\.passesWithDelegate) && judged.contains { $0.result != .pass }
            && trace.map { judge(endOf: $0, dictionary: dictionary, on: profile).result } != .fail
    }

    /// The first dictionary of the ladder, host by host, under which each place of the load is as it should be.
    private func leastDictionary(on profile: OSProfile, withDelegate: Bool = false) -> ATSDictionary? {
        var chosen = ATSDictionary()
        for host in Set(places.map(\.host)).sorted() {
            let own = places.filter { $0.host == host }
            let key = ExceptionLadder.key(for: host, on: profile)
            let fitting = ExceptionLadder.candidates(key: key).first { dictionary in
                own.allSatisfy {
                    judge(place: $0, dictionary: dictionary, isRedirect: false, on: profile)
                        .isEnough(withDelegate: withDelegate)
                }
            }
            guard let fitting else {
                // On systems whose exceptions cannot name addresses, only the global key frees an address.
                guard !profile.readsAddressKeys.value, places.contains(where: { $0.literalAddress != nil }) else {
                    return nil
                }
                let all = ATSDictionary.allowingEverything
                return isEnough(all, on: profile, withDelegate: withDelegate) ? all : nil
            }
            for (key, entry) in fitting.exceptions {
                chosen.exceptions[key] = chosen.exceptions[key]?.union(entry) ?? entry
            }
        }
        return isEnough(chosen, on: profile, withDelegate: withDelegate) ? chosen : nil
    }

    /// What the verdict under a dictionary rests on that was inferred and not measured.
    package func inferences(under dictionary: ATSDictionary) -> [Cause] {
        judge(dictionary: dictionary).notes.filter { $0.code == .noteSDKInferred }
    }
}

extension ConfigurationJudge.Judgement {
    fileprivate func isEnough(withDelegate: Bool) -> Bool { withDelegate ? passesWithDelegate : result == .pass }
}

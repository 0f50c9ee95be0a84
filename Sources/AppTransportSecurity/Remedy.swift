// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
import PropertyLists
package import TLSModel
package import Vocabulary

/// A change of the app's Info.plist that would change how a load ended.
public struct Remedy: Sendable, Equatable, CustomStringConvertible {
    /// The key below NSAppTransportSecurity, components joined by `.` as the linter prints them.
    public let keyPath: String
    /// The value to give it, as property-list text: `true`, `false`, `TLSv1.1`.
    public let value: String
    /// Whether App Review asks for a justification of the key with this value.
    public let requiresJustification: Bool
    /// Whether the app must also accept the certificate in code: the keys together only permit that.
    public let needsDelegate: Bool
    /// What is known of the load with the key.
    let effect: Effect

    public var description: String { Remedy.sentence([self]) }
}

extension Remedy {
    /// How far the load was tried.
    package enum Effect: Sendable {
        /// To its end: a server of cleartext is not judged.
        case allowsLoad
        /// What the policy says before any connection is lifted, and the server is judged then.
        case liftsBlock
        /// The handshake with this server passes, and what it answers is not known.
        case allowsConnection
        /// The same of a server that asks for a client certificate: whether it goes on without one is not known.
        case allowsUncertified
    }

    /// What a load would come to under another dictionary.
    package enum Trial {
        case loads
        /// The certificate is refused, and code of the app may accept it.
        case loadsWithDelegate
        case fails
    }

    /// One sentence for keys that help together; empty for none.
    ///
    /// - Parameter causes: why the load failed, for what else would help.
    package static func sentence(_ remedies: [Remedy], after causes: [Cause] = []) -> String {
        guard let first = remedies.first else { return "" }
        let keys = remedies.map { "\($0.keyPath) = \($0.value)" }.joined(separator: " and ")
        let review =
            remedies.contains(where: \.requiresJustification)
            ? "App Review asks for a justification" : "no App Review justification required"
        let asked =
            (remedies.contains { $0.keyPath.contains("..") }
                ? " The key needs the final dot, and covers only URLs whose host ends with it." : "")
            + (first.effect == .allowsUncertified
                ? " The server asks for a client certificate too, and may refuse to go on without one." : "")
        if remedies.contains(where: \.needsDelegate) {
            return "\(AppTrust.sentence(keys: keys, after: causes, isTried: false)) (\(review))\(asked)"
        }
        let effect =
            switch first.effect {
            case .allowsLoad: "would allow this load"
            case .liftsBlock: "lifts this block, and the server is judged then"
            case .allowsConnection, .allowsUncertified: "would allow this connection"
            }
        return "\(keys) \(remedies.count > 1 ? "together " : "")\(effect) (\(review)).\(asked)"
    }

    /// The keys in one line as people write them: `NSExceptionDomains.host.NSIncludesSubdomains = YES`.
    package static func keys(_ remedies: [Remedy]) -> String {
        remedies.map { "\($0.keyPath) = \(["true": "YES", "false": "NO"][$0.value] ?? $0.value)" }
            .joined(separator: ", ")
    }

    /// The keys that would let a URL through which the policy itself blocks, together; empty if none does.
    package static func forBlocked(_ decision: URLDecision) -> [Remedy] {
        search(decision, decision.url.isSecure ? .liftsBlock : .allowsLoad) { $0.verdict == .blocked ? .fails : .loads }
    }

    /// The keys that would let a load through which the server failed, together; empty if none does.
    ///
    /// - Parameter facts: what the server negotiates, with the policy or if everything is offered.
    package static func forRefused(
        _ decision: URLDecision, _ facts: ConnectionFacts, at instant: Date, logs: CTLogList?
    ) -> [Remedy] {
        // Where sources contradict each other about what is broken, no more is known of what would help.
        let own = evaluate(decision.requirements, facts, host: decision.url.host, at: instant, logs: logs)
        guard !own.isDisputed else { return [] }
        let effect: Effect = facts.handshake.requestsClientCertificate ? .allowsUncertified : .allowsConnection
        return search(decision, effect) { decision in
            guard decision.verdict != .blocked else { return .fails }
            let requirements = decision.requirements
            guard
                HandshakeEvaluation.unofferedCause(requirements, facts.handshake, facts.chain.presented.first) == nil
            else { return .fails }
            let verdict = evaluate(requirements, facts, host: decision.url.host, at: instant, logs: logs)
            if verdict.passed { return .loads }
            return verdict.onlyTrustFailed && requirements.delegateMayAccept && AppTrust.isAdvised(verdict.causes)
                ? .loadsWithDelegate : .fails
        }
    }

    /// Tries one edit of the dictionary after the other; the first that lets the load through counts.
    private static func search(
        _ decision: URLDecision, _ effect: Effect, _ trial: (URLDecision) -> Trial
    ) -> [Remedy] {
        let policy = decision.policy
        // Where the facts that are known would let the load through as it is, its reason is another one.
        guard decision.applies, trial(decision) == .fails else { return [] }
        for dictionary in ExceptionLadder.edits(of: policy.dictionary, for: decision.url, on: policy.profile) {
            let edited = ATSPolicy(dictionary: dictionary, profile: policy.profile)
            let changed = edited.decide(decision.url, loader: decision.loader)
            let end = trial(changed)
            guard end != .fails, changed.legacyDoubts.isEmpty else { continue }
            return changes(
                from: policy.dictionary, to: dictionary, needsDelegate: end == .loadsWithDelegate, effect: effect)
        }
        return []
    }

    /// The keys that differ between two dictionaries of which the second allows more.
    package static func changes(
        from old: ATSDictionary, to new: ATSDictionary, needsDelegate: Bool = false, effect: Effect = .allowsLoad
    ) -> [Remedy] {
        func remedy(_ path: [String], _ value: String, justified: Bool = false) -> Remedy {
            Remedy(
                keyPath: path.joined(separator: "."), value: value, requiresJustification: justified,
                needsDelegate: needsDelegate, effect: effect)
        }
        var remedies: [Remedy] = []
        for (key, path) in ATSDictionary.flags where new[keyPath: path] != old[keyPath: path] {
            let isAll = key.hasSameBytes(as: ATSKey.arbitraryLoads)
            remedies.append(remedy([key], "\(new[keyPath: path] == true)", justified: isAll))
        }
        for (key, entry) in new.exceptions.sorted(by: { $0.key < $1.key }) where old.exceptions[key] != entry {
            let path = [ATSKey.exceptionDomains, key]
            let before = old.exceptions[key]?.propertyListValue.members ?? [:]
            let after = entry.propertyListValue.members ?? [:]
            if after.isEmpty { remedies.append(remedy(path, "{}")) }
            for name in after.keys.sorted() where after[name] != before[name] {
                guard let value = after[name] else { continue }
                let isInsecure = name.hasSameBytes(as: ATSKey.insecureHTTPLoads)
                let isOld =
                    name.hasSameBytes(as: ATSKey.minimumTLSVersion)
                    && entry.minimumTLSVersion.map { $0 < .tls12 } == true
                remedies.append(remedy(path + [name], value.words, justified: isInsecure || isOld))
            }
        }
        return remedies
    }
}

extension PropertyListValue {
    /// A value as the linter prints it: `true`, `TLSv1.1`.
    fileprivate var words: String {
        switch self {
        case .boolean(let flag): "\(flag)"
        case .string(let text): text
        default: kind
        }
    }
}

/// What an app can do about a certificate that trust evaluation refuses.
package enum AppTrust {
    /// How a root of one's own comes to be trusted: installed alone is not trusted (HT204477).
    package static let installing =
        "install the root on the devices and switch it on (Settings > General > About > Certificate Trust Settings); in the Simulator drag it onto "
        + "the window, or run `xcrun simctl keychain booted add-root-cert FILE`"
    /// A root that the devices do not trust.
    static let missingRoots: [Code] = [.trustSelfSigned, .trustUnknownRoot]

    /// - Parameters:
    ///   - keys: what the dictionary must say; nil where it, or ATS itself at addresses and local hosts, permits the app's code already.
    ///   - causes: why the certificate is refused.
    ///   - isTried: whether the load was tried to its end; otherwise no more is known than the connection.
    package static func sentence(keys: String?, after causes: [Cause], isTried: Bool = true) -> String {
        let delegate = "your delegate, which accepts the certificate in the app's own code"
        let first =
            keys.map {
                "An exception alone does not help; \($0) and \(delegate), \(isTried ? "do" : "let this connection through")"
            }
            ?? "ATS permits it here: \(delegate), is enough"
        // Installing it is advised where nothing else is wrong with the certificate.
        let others = causes.filter { $0.code != .trustNeedsDelegate }
        let isRootMissing =
            !others.isEmpty
            && others.allSatisfy {
                missingRoots.contains($0.code)
                    && ($0.situation == nil || $0.situation == Remediation.Situation.privateHost.rawValue)
            }
        return first
            + (isRootMissing ? "; or \(installing)." : ".")
    }

    /// Whether code of an app should accept a certificate that is refused for all of these causes: never one that is revoked.
    package static func isAdvised(_ causes: [Cause]) -> Bool {
        causes.allSatisfy { Remediation(for: $0)?.exceptionKey == .insecureHTTPLoadsWithDelegate }
    }

    /// The same about a cause in general; nil for causes that no code of an app lifts.
    package static func sentence(about code: Code) -> String? { sentence(about: [Cause(code, "")]) }

    /// The same about all causes of a load whose dictionary is not known.
    package static func sentence(about causes: [Cause]) -> String? {
        let causes = causes.filter { $0.code != .trustNeedsDelegate }
        guard !causes.isEmpty, isAdvised(causes) else { return nil }
        return sentence(keys: "\(ATSKey.insecureHTTPLoads) = true in the host's entry", after: causes)
            + " At an address or a local host, where ATS asks nothing of certificates, the delegate alone is enough."
    }
}

extension Remedy {
    /// The key that may help against a cause of which no more is known; nil if no key alone does.
    package static func sentence(about code: Code) -> String? {
        let key: String? =
            switch Remediation(for: Cause(code, ""))?.exceptionKey {
            case .minimumTLSVersion: "\(ATSKey.minimumTLSVersion) = the version that the server speaks"
            case .forwardSecrecy: "\(ATSKey.forwardSecrecy) = false"
            case .insecureHTTPLoads: "\(ATSKey.insecureHTTPLoads) = true"
            case .insecureHTTPLoadsWithDelegate, nil: nil
            }
        return key.map { "\($0) in the host's entry may help; 'sealward ats check URL' says whether it does." }
    }
}

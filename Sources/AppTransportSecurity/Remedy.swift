// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
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
    /// Whether the app must also accept the certificate in code, because the key alone only permits that.
    public let needsDelegate: Bool
    /// Whether the key lifts what the policy says before any connection, and the server is judged then.
    let isConditional: Bool

    public var description: String { Remedy.sentence([self]) }
}

extension Remedy {
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
        if remedies.contains(where: \.needsDelegate) {
            return "\(AppTrust.sentence(keys: keys, after: causes)) (\(review))"
        }
        let effect =
            first.isConditional ? "lifts this block, and the server is judged then" : "would allow this load"
        return "\(keys) \(remedies.count > 1 ? "together " : "")\(effect) (\(review))."
    }

    /// The keys that would let a URL through which the policy itself blocks, together; empty if none does.
    package static func forBlocked(_ decision: URLDecision) -> [Remedy] {
        search(decision) { $0.verdict == .blocked ? .fails : .loads }
    }

    /// The keys that would let a load through which the server failed, together; empty if none does.
    ///
    /// - Parameter facts: what the server negotiates, with the policy or if everything is offered.
    package static func forRefused(
        _ decision: URLDecision, _ facts: ConnectionFacts, at instant: Date, logs: CTLogList?
    ) -> [Remedy] {
        search(decision) { decision in
            guard decision.verdict != .blocked else { return .fails }
            let requirements = decision.requirements
            guard
                HandshakeEvaluation.unofferedCause(requirements, facts.handshake, facts.chain.presented.first) == nil
            else { return .fails }
            let verdict = evaluate(requirements, facts, host: decision.url.host, at: instant, logs: logs)
            if verdict.passed { return .loads }
            return verdict.onlyTrustFailed && requirements.delegateMayAccept ? .loadsWithDelegate : .fails
        }
    }

    /// Tries one edit of the dictionary after the other; the first that lets the load through counts.
    private static func search(_ decision: URLDecision, _ trial: (URLDecision) -> Trial) -> [Remedy] {
        let policy = decision.policy
        // Where the facts that are known would let the load through as it is, its reason is another one.
        guard decision.applies, trial(decision) == .fails else { return [] }
        for dictionary in ExceptionLadder.edits(of: policy.dictionary, for: decision.url, on: policy.profile) {
            let edited = ATSPolicy(dictionary: dictionary, profile: policy.profile)
            let end = trial(edited.decide(decision.url, loader: decision.loader))
            guard end != .fails else { continue }
            return changes(
                from: policy.dictionary, to: dictionary, needsDelegate: end == .loadsWithDelegate,
                isConditional: decision.verdict == .blocked && decision.url.isSecure)
        }
        return []
    }

    /// The keys that differ between two dictionaries of which the second allows more.
    package static func changes(
        from old: ATSDictionary, to new: ATSDictionary, needsDelegate: Bool = false, isConditional: Bool = false
    ) -> [Remedy] {
        var remedies: [Remedy] = []
        func add(_ path: [String], _ value: String, justified: Bool, delegate: Bool = false) {
            remedies.append(
                Remedy(
                    keyPath: path.joined(separator: "."), value: value, requiresJustification: justified,
                    needsDelegate: delegate, isConditional: isConditional))
        }
        if new.arbitraryLoads == true, old.arbitraryLoads != true {
            add([ATSKey.arbitraryLoads], "true", justified: true, delegate: needsDelegate)
        }
        for (key, entry) in new.exceptions.sorted(by: { $0.key < $1.key }) {
            let path = [ATSKey.exceptionDomains, key]
            let before = old.exceptions[key] ?? ExceptionEntry()
            if old.exceptions[key] == nil, entry == before { add(path, "{}", justified: false) }
            if let version = entry.minimumTLSVersion, version != before.minimumTLSVersion {
                add(path + [ATSKey.minimumTLSVersion], version.rawValue, justified: version < .tls12)
            }
            if entry.requiresForwardSecrecy != before.requiresForwardSecrecy {
                add(path + [ATSKey.forwardSecrecy], "\(entry.requiresForwardSecrecy)", justified: false)
            }
            if entry.allowsInsecureHTTPLoads != before.allowsInsecureHTTPLoads {
                add(
                    path + [ATSKey.insecureHTTPLoads], "\(entry.allowsInsecureHTTPLoads)", justified: true,
                    delegate: needsDelegate)
            }
        }
        return remedies
    }
}

/// What an app can do about a certificate that trust evaluation refuses.
package enum AppTrust {
    /// - Parameter keys: what the dictionary must say; nil where it, or ATS itself at addresses and local hosts, permits the app's code already.
    package static func sentence(keys: String?, after causes: [Cause]) -> String {
        let delegate = "your delegate, which accepts the certificate in the app's own code"
        let first =
            keys.map { "An exception alone does not help; \($0) and \(delegate), do" }
            ?? "ATS permits it here: \(delegate), is enough"
        let isRootMissing = causes.contains { [.trustSelfSigned, .trustUnknownRoot].contains($0.code) }
        return first
            + (isRootMissing
                ? "; or install the root on the devices and switch it on (Settings > General > About > Certificate Trust Settings)."
                : ".")
    }

    /// The same about a cause in general; nil for causes that no code of an app lifts.
    package static func sentence(about code: Code) -> String? {
        let cause = Cause(code, "")
        guard Remediation(for: cause)?.exceptionKey == .insecureHTTPLoadsWithDelegate else { return nil }
        return sentence(keys: "\(ATSKey.insecureHTTPLoads) = true in the host's entry", after: [cause])
            + " At an address or a local host, where ATS asks nothing of certificates, the delegate alone is enough."
    }
}

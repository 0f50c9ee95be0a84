// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import TLSModel
public import Vocabulary

/// Judges the facts of one connection against what the policy asks: the one judge of diagnosis, client and proxy.
///
/// - Parameters:
///   - requirements: what ``ATSPolicy`` decided for the host.
///   - facts: the handshake and the chain, as seen.
///   - host: the host of the URL, lower case, without brackets.
///   - instant: the time of judgement.
///   - logs: the known Certificate Transparency logs; without them timestamps are counted, and where they are required only a connection
///     without any fails.
public func evaluate(
    _ requirements: TransportRequirements, _ facts: ConnectionFacts, host: String, at instant: Date,
    logs: CTLogList? = nil
) -> TransportVerdict {
    evaluate(
        requirements, facts.handshake,
        trust: TrustFindings(requirements, facts.trust, host: host, at: instant, logs: logs))
}

/// Judges a chain alone, before a server has it, by the same rules of trust: nothing is said of suites and key possession, and of versions only
/// that the key signs in none newer than TLS 1.2 (`dependsOnVersion`).
///
/// - Parameters:
///   - host: as above; nil judges no name.
package func evaluate(
    _ requirements: TransportRequirements, _ facts: PresentedTrust, host: String?, at instant: Date,
    logs: CTLogList? = nil
) -> TransportVerdict {
    let trust = TrustFindings(requirements, facts, isConnection: false, host: host, at: instant, logs: logs)
    let key = facts.chain.judged.first.flatMap { HandshakeEvaluation.keyCause(requirements, $0) }
    let causes = (trust.causes + trust.pinCauses).agreedFirst + (key.map { [$0] } ?? [])
    return TransportVerdict(
        passed: causes.isEmpty, causes: causes, notes: trust.transparencyNotes + trust.notes,
        error: causes.isEmpty ? nil : trust.error, onlyTrustFailed: trust.pinCauses.isEmpty && !causes.isEmpty)
}

/// The same from what was found about trust before.
package func evaluate(
    _ requirements: TransportRequirements, _ handshake: HandshakeObservation, trust: TrustFindings
) -> TransportVerdict {
    let protocolCauses = HandshakeEvaluation.causes(requirements, handshake, leaf: trust.leafSignature)
    var trustCauses = trust.causes
    // A pin is part of trust evaluation, but no delegate can accept what pinning refused.
    let onlyTrustFailed = protocolCauses.isEmpty && trust.pinCauses.isEmpty && !trustCauses.isEmpty
    let error = HandshakeEvaluation.error(requirements, protocolCauses) ?? trust.error
    if onlyTrustFailed, requirements.delegateMayAccept, trustCauses.first?.isDisputed != true {
        trustCauses.append(
            Cause(
                .trustNeedsDelegate,
                "The dictionary permits the app's own code to accept this certificate; without such code the load fails.",
                citation: .apple(ATSKey.insecureHTTPLoads, read: "2026-11-21")))
    }
    let causes = (protocolCauses + trustCauses + trust.pinCauses).agreedFirst
    return TransportVerdict(
        passed: causes.isEmpty, causes: causes,
        notes: trust.transparencyNotes + HandshakeEvaluation.notes(handshake) + trust.notes,
        error: causes.isEmpty ? nil : error, onlyTrustFailed: onlyTrustFailed)
}

/// What requirements on trust find in one connection, whatever they say of version and suite.
package struct TrustFindings: Sendable {
    /// What the findings depend on apart from the connection; requirements without pins that agree on it find the same.
    package struct Aspect: Hashable, Sendable {
        private let serverTrust: TransportRequirements.ServerTrust
        private let judgesKeySize: Bool
        private let entryRequiresTransparency: Bool

        /// Nil if there are pins.
        package init?(_ requirements: TransportRequirements) {
            guard requirements.pins == nil else { return nil }
            serverTrust = requirements.serverTrust
            judgesKeySize = requirements.judgesKeySize
            entryRequiresTransparency = requirements.entryRequiresTransparency
        }
    }

    let causes: [Cause]
    let pinCauses: [Cause]
    let transparencyNotes: [Cause]
    let notes: [Cause]
    let error: URLLoadError?
    /// How the server's certificate is signed.
    let leafSignature: SignatureFacts?

    /// - Parameter isConnection: whether the facts are those of a connection; a chain alone is looked at before a server has it.
    package init(
        _ requirements: TransportRequirements, _ facts: PresentedTrust, isConnection: Bool = true, host: String?,
        at instant: Date, logs: CTLogList?
    ) {
        let trust = TrustEvaluation(requirements: requirements, facts: facts, host: host, instant: instant)
        let transparency = TransparencyEvaluation.judge(
            requirements, facts, isConnection: isConnection, at: instant, logs: logs)
        causes = (trust.causes() + transparency.causes).agreedFirst
        pinCauses = trust.pinCauses()
        transparencyNotes = transparency.notes
        notes = trust.notes()
        error = trust.error(for: (causes + pinCauses).agreedFirst.first)
        leafSignature = facts.chain.presented.first?.signature
    }
}

/// The judgement about one connection.
public struct TransportVerdict: Sendable {
    /// Whether an app could load.
    public let passed: Bool
    /// Every failed requirement, first cause first; empty if all are met.
    public let causes: [Cause]
    /// What is worth knowing and fails nothing.
    public let notes: [Cause]
    /// What an app would get; nil if all is met.
    public let error: URLLoadError?
    /// Whether sources contradict each other about the rule that is broken, so that nobody knows how a load ends.
    package var isDisputed: Bool { causes.first?.isDisputed == true }
    /// Whether only trust evaluation failed, so that app code may accept the certificate where the dictionary permits it.
    package let onlyTrustFailed: Bool
}

extension Cause {
    /// Whether sources contradict each other about the rule.
    package var isDisputed: Bool {
        [Remediation.Situation.disputed, .disputedRoot].contains { $0.rawValue == situation }
    }
}

extension Cause {
    /// Whether it is one only of servers that speak TLS 1.3, of which a chain alone says nothing.
    package var dependsOnVersion: Bool { situation == Remediation.Situation.modernKey.rawValue }
}

extension [Cause] {
    /// The same, those first about which sources agree: one of them decides, whatever is not known of the others.
    package var agreedFirst: [Cause] { filter { !$0.isDisputed } + filter(\.isDisputed) }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import FoundationEssentials
import TLSModel
import TLSProbe
import Vocabulary

/// Who decides inside the handshake whether it goes on: one for each connection.
struct HandshakeJudge: Sendable {
    let host: String
    let port: Int
    let requirements: TransportRequirements
    let chains: RememberingChains
    let configuration: ATSClient.Configuration
    /// Monitor mode, second attempt: everything passes, and what would not have is reported.
    let onlyReports: Bool
    /// What the server showed to a hello that asks for timestamps, where that was sent.
    var shown: ShownTimestamps?

    struct Judgement: Sendable {
        var facts: ConnectionFacts
        var verdict: TransportVerdict
        /// Accepted by the app's own code in spite of the verdict.
        var acceptedByDelegate = false
        /// The sentence with which the app's own code refused.
        var refusedByDelegate: String?
        var passes: Bool

        /// Whether timestamps beside the certificate could make a difference.
        var lacksTimestamps: Bool { verdict.causes.contains { $0.code == .ctMissing } }
    }

    /// - Parameter peer: what kind of address the server has; intermediates are fetched from public ones and from its own kind.
    func judge(_ handshake: HandshakeObservation, peer: AddressKind) async -> Judgement {
        let instant = configuration.now()
        let chain = await chains.facts(of: handshake.certificates, at: instant, fetchingWithin: FetchScope(of: peer))
        var judgement = evaluate(handshake, chain, at: instant)
        let challenge = ServerChallenge(
            host: host, port: port, facts: judgement.facts, causes: judgement.verdict.causes)
        if !judgement.passes, requirements.delegateMayAccept, judgement.verdict.onlyTrustFailed,
            await configuration.acceptsUntrusted?(challenge) == true
        {
            judgement.acceptedByDelegate = true
            judgement.passes = true
        }
        if judgement.passes, let reason = await configuration.refuses?(challenge) {
            judgement.refusedByDelegate = reason
            judgement.passes = false
        }
        return judgement
    }

    private func evaluate(_ handshake: HandshakeObservation, _ chain: ChainFacts, at instant: Date) -> Judgement {
        let facts = ConnectionFacts(handshake: shown?.added(to: handshake) ?? handshake, chain: chain, at: instant)
        let verdict = AppTransportSecurity.evaluate(
            configuration.judgesTransparency ? requirements : requirements.withoutTransparency, facts, host: host,
            at: instant, logs: configuration.judgesTransparency ? configuration.transparencyLogs : nil)
        return Judgement(facts: facts, verdict: verdict, passes: verdict.passed || onlyReports)
    }
}

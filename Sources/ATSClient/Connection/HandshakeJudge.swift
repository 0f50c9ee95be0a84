// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import TLSModel
import TLSProbe
import Vocabulary

/// Who decides inside the handshake whether it goes on: one for each connection.
struct HandshakeJudge: Sendable {
    let key: PoolKey
    let requirements: TransportRequirements
    let connector: Connector
    /// Monitor mode, second attempt: everything passes, and what would not have is reported.
    var onlyReports = false
    /// What the server showed to the hello of the system, where that was sent.
    var shown: ShownFlight?

    private var configuration: ATSClient.Configuration { connector.configuration }

    struct Judgement: Sendable {
        let facts: ConnectionFacts
        let verdict: TransportVerdict
        /// Accepted by the app's own code in spite of the verdict.
        let acceptedByDelegate: Bool
        let passes: Bool
    }

    /// - Parameter peer: what kind of address the server has; intermediates are fetched from public ones and from its own kind.
    func judge(_ handshake: HandshakeObservation, peer: AddressKind) async -> Judgement {
        let instant = configuration.now()
        let chain = await connector.material.chains.facts(
            of: handshake.certificates, at: instant, fetchingWithin: FetchScope(of: peer))
        let facts = ConnectionFacts(handshake: shown?.added(to: handshake) ?? handshake, chain: chain, at: instant)
        let verdict = evaluate(
            configuration.judgesTransparency ? requirements : requirements.withoutTransparency, facts, host: key.host,
            at: instant, logs: configuration.judgesTransparency ? configuration.transparencyLogs : nil)
        let passes = verdict.passed || onlyReports
        let accepts =
            !passes && requirements.delegateMayAccept && verdict.onlyTrustFailed && configuration.acceptsUntrusted
        return Judgement(facts: facts, verdict: verdict, acceptedByDelegate: accepts, passes: passes || accepts)
    }
}

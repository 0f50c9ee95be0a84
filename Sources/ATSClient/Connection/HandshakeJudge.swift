// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import FoundationEssentials
import TLSModel
import TLSProbe
import Vocabulary

/// Who decides inside the handshake whether it goes on: one for each connection.
struct HandshakeJudge: Sendable {
    private let host: String
    private let port: Int
    private let requirements: TransportRequirements
    private let chains: RememberingChains
    private let configuration: ATSClient.Configuration
    /// Monitor mode, second attempt: everything passes, and what would not have is reported.
    var onlyReports = false
    /// What the server showed to a hello that asks for timestamps, where that was sent.
    var shown: ShownTimestamps?

    init(_ key: PoolKey, _ requirements: TransportRequirements, _ connector: Connector) {
        host = key.host
        port = key.port
        self.requirements = requirements
        chains = connector.chains
        configuration = connector.configuration
    }

    struct Judgement: Sendable {
        var facts: ConnectionFacts
        var verdict: TransportVerdict
        /// Accepted by the app's own code in spite of the verdict.
        var acceptedByDelegate = false
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

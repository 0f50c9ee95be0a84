// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import FoundationEssentials
import Synchronization
import TLSModel

/// Remembers what was found about trust in the connections of one target: sixteen configurations ask two or three times for the same.
final class TrustMemory: Sendable {
    private struct Question: Equatable {
        let endpoint: Endpoint
        let aspect: TrustFindings.Aspect
        let handshake: HandshakeObservation
    }

    private let known = Mutex<[(question: Question, findings: TrustFindings)]>([])

    func findings(
        _ requirements: TransportRequirements, _ facts: ConnectionFacts, at endpoint: Endpoint, _ instant: Date,
        _ logs: CTLogList?
    ) -> TrustFindings {
        func find() -> TrustFindings {
            TrustFindings(requirements, facts.trust, host: endpoint.host, at: instant, logs: logs)
        }
        guard let aspect = TrustFindings.Aspect(requirements) else { return find() }
        let question = Question(endpoint: endpoint, aspect: aspect, handshake: facts.handshake)
        if let answer = known.withLock({ $0.first { $0.question == question } }) { return answer.findings }
        let findings = find()
        // A server answers ten hellos; hosts that redirects lead to make a few more.
        known.withLock { if $0.count < 64 { $0.append((question, findings)) } }
        return findings
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import FoundationEssentials
import Synchronization
import TLSModel

/// Remembers what was found about trust in the connections of one target: sixteen configurations ask two or three times for the same.
final class TrustMemory: Sendable {
    private struct Entry {
        let endpoint: Endpoint
        let aspect: TrustFindings.Aspect
        let handshake: HandshakeObservation
        let findings: TrustFindings
    }

    private let entries = Mutex<[Entry]>([])

    func findings(
        _ requirements: TransportRequirements, _ facts: ConnectionFacts, at endpoint: Endpoint, _ instant: Date,
        _ logs: CTLogList?
    ) -> TrustFindings {
        func find() -> TrustFindings {
            TrustFindings(requirements, facts.trust, host: endpoint.host, at: instant, logs: logs)
        }
        guard let aspect = TrustFindings.Aspect(requirements) else { return find() }
        let known = entries.withLock { entries in
            entries.first { $0.aspect == aspect && $0.endpoint == endpoint && $0.handshake == facts.handshake }
        }
        if let known { return known.findings }
        let findings = find()
        let entry = Entry(endpoint: endpoint, aspect: aspect, handshake: facts.handshake, findings: findings)
        entries.withLock { entries in
            // A server answers ten hellos; hosts that redirects lead to make a few more.
            if entries.count < TrustMemory.capacity { entries.append(entry) }
        }
        return findings
    }

    private static let capacity = 64
}

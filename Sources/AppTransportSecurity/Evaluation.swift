// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
public import Foundation
public import TLSFacts

/// Judges the facts of one connection against what the policy asks: the one judge of diagnosis, client and proxy.
///
/// - Parameters:
///   - requirements: what ``ATSPolicy`` decided for the host.
///   - facts: the handshake and the chain, as seen.
///   - host: the host of the URL, lower case, without brackets.
///   - instant: the time of judgement.
///   - logs: the known Certificate Transparency logs; without them timestamps are counted and nothing fails for their lack.
public func evaluate(
    _ requirements: TransportRequirements,
    _ facts: ConnectionFacts,
    host: String,
    at instant: Date,
    logs: CTLogList? = nil
) -> TransportVerdict {
    var protocolCauses = HandshakeEvaluation.causes(requirements, facts.handshake)
    let trust = TrustEvaluation(requirements: requirements, facts: facts, host: host, instant: instant)
    var trustCauses = trust.causes()
    let transparency = TransparencyEvaluation.judge(requirements, facts, at: instant, logs: logs)
    trustCauses += transparency.causes
    // A pin is part of trust evaluation, but no delegate can accept what pinning refused.
    let pinCauses = trust.pinCauses()
    let onlyTrustFailed = protocolCauses.isEmpty && pinCauses.isEmpty && !trustCauses.isEmpty
    let error =
        HandshakeEvaluation.error(requirements, protocolCauses)
        ?? trust.error(for: (trustCauses + pinCauses).first)
    if onlyTrustFailed, requirements.delegateMayAccept {
        trustCauses.append(
            Cause(
                "ats.trust.needs-delegate",
                "The dictionary permits the app's own code to accept this certificate; without such code the load fails.",
                citation: .apple("NSExceptionAllowsInsecureHTTPLoads", read: "2026-11-21")
            )
        )
    }
    protocolCauses += trustCauses + pinCauses
    return TransportVerdict(
        passed: protocolCauses.isEmpty,
        causes: protocolCauses,
        notes: transparency.notes + HandshakeEvaluation.notes(requirements, facts.handshake) + trust.notes(),
        error: protocolCauses.isEmpty ? nil : error,
        onlyTrustFailed: onlyTrustFailed
    )
}

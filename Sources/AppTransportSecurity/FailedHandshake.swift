// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSModel
package import Vocabulary

/// What a hello that brought no handshake back means for a load.
package struct FailedHandshakeVerdict: Sendable {
    /// False if nothing of TLS was learned: the result is then undetermined, not a failure.
    package let isDetermined: Bool
    package let causes: [Cause]
    package let error: URLLoadError
}

/// Judges a failed hello.
///
/// - Parameters:
///   - requirements: what was asked of the server.
///   - outcome: how the attempt ended; a negotiated outcome is not judged here and counts as a failed handshake.
///   - host: the host of the URL.
///   - widest: what the same server negotiates when everything is offered: it tells which requirement stood in the way.
///   - leaf: the first certificate that the server presents then.
///   - smaller: how the same hello without post-quantum groups ended, where it was sent.
package func evaluate(
    _ requirements: TransportRequirements, failed outcome: HandshakeOutcome, host: String,
    widest: HandshakeObservation? = nil, leaf: CertificateFacts? = nil, smaller: HandshakeOutcome? = nil
) -> FailedHandshakeVerdict {
    let inferred = inferred(requirements, outcome, widest, leaf)
    switch outcome {
    case .connection(let failure):
        if let smaller, let cause = LargeHello.cause(requirements, failure, smaller, host: host) {
            return FailedHandshakeVerdict(isDetermined: true, causes: [cause], error: .connection(.closed))
        }
        return FailedHandshakeVerdict(
            isDetermined: false, causes: [ConnectionCauses.cause(failure, host: host)], error: .connection(failure))
    case .alert(_, let description):
        let streamCode =
            description == 70 ? HandshakeEvaluation.tooLow(requirements) : URLLoadError.streamCode(ofAlert: description)
        if description == 116 || description == 42 && widest?.requestsClientCertificate == true {
            return FailedHandshakeVerdict(
                isDetermined: true,
                causes: [Cause(.tlsClientCertificateRequired, "The server demands a client certificate.")],
                error: .clientCertificateRequired(host: host))
        }
        return FailedHandshakeVerdict(
            isDetermined: true,
            causes: inferred ?? [
                LargeHello.cause(requirements, alert: description, smaller, host)
                    ?? refusal(requirements, description, host)
            ],
            error: .secureConnectionFailed(streamCode)
        )
    case .protocolError(let reason):
        // Who answers a hello with a group that it did not offer breaks the protocol, whatever the wider hello learns of that group.
        let causes = (widest?.endsAtGroup == true ? nil : inferred) ?? [Cause(.tlsHandshakeFailed, reason)]
        let code =
            causes.first?.code == .tlsVersionTooLow && requirements.effectiveMinimum == .tls13
            ? HandshakeEvaluation.tooLow(requirements) : RefusalNumbers.negotiation
        return FailedHandshakeVerdict(isDetermined: true, causes: causes, error: .secureConnectionFailed(code))
    case .negotiated:
        return FailedHandshakeVerdict(
            isDetermined: true, causes: [Cause(.tlsHandshakeFailed, "The handshake did not complete.")],
            error: .secureConnectionFailed(RefusalNumbers.negotiation))
    }
}

/// A server, or something on the way to it, that fails for a hello with a share of ML-KEM.
private enum LargeHello {
    /// Nil if the smaller hello got no answer either, or the failure is none of the hello.
    static func cause(
        _ requirements: TransportRequirements, _ failure: ConnectionFailure, _ smaller: HandshakeOutcome, host: String
    ) -> Cause? {
        if case .connection = smaller { return nil }
        switch failure {
        case .reset: return cause(requirements, "\(host) resets the connection after")
        case .closed: return cause(requirements, "\(host) closes the connection after")
        case .timeout: return cause(requirements, "\(host) stays silent after")
        case .refused, .notTLS, .unreachable, .nameNotFound: return nil
        }
    }

    /// Nil unless the smaller hello leads to a handshake.
    static func cause(
        _ requirements: TransportRequirements, alert description: UInt8, _ smaller: HandshakeOutcome?, _ host: String
    ) -> Cause? {
        guard case .negotiated? = smaller else { return nil }
        let name = ConnectionCauses.alertName(description)
        return cause(requirements, "\(host) answers with alert \(description) (\(name)) to")
    }

    private static func cause(_ requirements: TransportRequirements, _ what: String) -> Cause {
        Cause(
            .tlsLargeHello,
            "\(what) the ClientHello of \(requirements.profile.name), which the key share of X25519MLKEM768 makes larger than one TCP segment, "
                + "and answers the same ClientHello without it.",
            citation: Citation(source: "support.apple.com/122756; tldr.fail", read: "2026-11-22"))
    }
}

/// An alert whose reason is not known from anything else.
private func refusal(_ requirements: TransportRequirements, _ description: UInt8, _ host: String) -> Cause {
    let alert =
        "The server refuses the handshake with alert \(description) (\(ConnectionCauses.alertName(description)))"
    return switch description {
    case 40:
        Cause(.tlsNoCommonSuite, "\(alert): it accepts none of the offered suites, groups or signature schemes.")
    case 70: Cause(.tlsVersionTooLow, "\(alert).", situation: requirements.tooLowSituation)
    case 112 where IPAddress(host) != nil && !requirements.helloLayout.sendsAddresses:
        Cause(
            .tlsHandshakeFailed,
            "\(alert): it knows no certificate for a ClientHello without a name, and \(host) is none.",
            situation: Remediation.Situation.namelessHello.rawValue)
    default:
        Cause(
            .tlsHandshakeFailed, alert + (AlertMeaning(description).map { ": it \($0.words)." } ?? "."),
            situation: AlertMeaning(description)?.situation.rawValue)
    }
}

/// The requirement that stood in the way, known from what the server negotiates when more is offered.
private func inferred(
    _ requirements: TransportRequirements, _ outcome: HandshakeOutcome, _ widest: HandshakeObservation?,
    _ leaf: CertificateFacts?
) -> [Cause]? {
    guard let widest else { return nil }
    // A server that refuses the versions of an old system says so (70); one that knows them and finds no group or suite says that (40).
    // A group that later systems offer may be one of several that the server has, and tells nothing.
    if case .alert(_, 40) = outcome, widest.version > requirements.maximum,
        !OSProfile.standard.groups.contains(where: { $0 == widest.group }),
        let cause = HandshakeEvaluation.groupCause(requirements, widest)
    {
        return [cause]
    }
    let causes =
        [
            HandshakeEvaluation.minimumCause(requirements),
            HandshakeEvaluation.versionCause(requirements, widest.version),
        ].compactMap(\.self) + HandshakeEvaluation.suiteCauses(requirements, widest.suite)
    if !causes.isEmpty { return causes }
    let unoffered = HandshakeEvaluation.unofferedCause(requirements, widest, leaf)
    // The widest hello names no address. A server that lacks what it was offered says 40.
    if case .alert(_, let description) = outcome, requirements.helloLayout.sendsAddresses,
        description != 40 || unoffered == nil
    {
        let sends = requirements.profile.facts.sendsAddressNames
        return [
            Cause(
                .tlsHandshakeFailed,
                "The server refuses the ClientHello of \(requirements.profile.name), which names the address as the server, with alert "
                    + "\(description) (\(ConnectionCauses.alertName(description))), and answers one without a name.",
                citation: sends.citation, situation: Remediation.Situation.addressAsName.rawValue)
        ]
    }
    return unoffered.map { [$0] }
}

/// What a server says of itself with an alert.
package struct AlertMeaning: Sendable {
    /// The rest of a sentence about the server.
    package let words: String
    package let situation: Remediation.Situation

    /// What to do about it.
    package var action: String? {
        Remediation(for: Cause(.tlsHandshakeFailed, "", situation: situation.rawValue))?.server
    }

    /// Nil for alerts that may be about either side.
    package init?(_ description: UInt8) {
        switch description {
        case 80: (words, situation) = ("failed itself, and its log says why", .serverFault)
        case 112:
            (words, situation) = (
                "has no site of that name: it knows no certificate for the name in the ClientHello (SNI)", .unknownName
            )
        default: return nil
        }
    }
}

/// Codes and sentences for connections that ended before TLS.
package enum ConnectionCauses {
    static func cause(_ failure: ConnectionFailure, host: String) -> Cause {
        switch failure {
        case .refused: Cause(.netRefused, "\(host) refuses the connection: nothing is listening on this port.")
        case .unreachable(let reason): Cause(.netRefused, "\(host) cannot be reached: \(reason).")
        case .timeout:
            Cause(.netTimeout, "\(host) did not answer in time; that says nothing about what it supports.")
        case .reset: Cause(.netReset, "\(host) reset the connection before it answered the ClientHello.")
        case .closed: Cause(.netClosed, "\(host) closed the connection without an answer to the ClientHello.")
        case .notTLS(let prefix):
            Cause(
                .netNotTLS,
                "\(host) answers with something that is not TLS"
                    + (prefix.starts(with: Array("HTTP/".utf8)) ? ": plain HTTP on this port." : "."))
        case .nameNotFound(let reason): Cause(.netDNS, "The name \(host) cannot be resolved: \(reason).")
        }
    }

    /// The name of a TLS alert, as in the registry of IANA.
    package static func alertName(_ description: UInt8) -> String {
        alerts[description]?.name ?? "number \(description)"
    }

    /// What an alert of a server may mean where nothing else is known; empty for those of an end in order.
    package static func codes(ofAlert description: UInt8) -> [Code] {
        if description == 116 { return [.tlsClientCertificateRequired] }
        let number = URLLoadError.streamCode(ofAlert: description)
        // The number of those that have none of their own is also that of what is no TLS.
        if AlertMeaning(description) != nil || number == -9800 { return [.tlsHandshakeFailed] }
        return ErrorNumber.stream(number)?.codes ?? []
    }

    /// The alerts of the registry by their number: the name, and the stream code that a client gets. Source: Security, base/SecBase.h, which has
    /// none for no_application_protocol.
    static let alerts: [UInt8: (name: String, streamCode: Int)] = [
        0: ("close_notify", -9805), 10: ("unexpected_message", -9819), 20: ("bad_record_mac", -9820),
        21: ("decryption_failed", -9821), 22: ("record_overflow", -9822), 30: ("decompression_failure", -9823),
        40: ("handshake_failure", -9824), 42: ("bad_certificate", -9825), 43: ("unsupported_certificate", -9826),
        44: ("certificate_revoked", -9827), 45: ("certificate_expired", -9828), 46: ("certificate_unknown", -9829),
        47: ("illegal_parameter", -9830), 48: ("unknown_ca", -9831), 49: ("access_denied", -9832),
        50: ("decode_error", -9833), 51: ("decrypt_error", -9834), 60: ("export_restriction", -9835),
        70: ("protocol_version", -9836), 71: ("insufficient_security", -9837), 80: ("internal_error", -9838),
        86: ("inappropriate_fallback", -9860), 90: ("user_canceled", -9839), 100: ("no_renegotiation", -9840),
        109: ("missing_extension", -9861), 110: ("unsupported_extension", -9855), 112: ("unrecognized_name", -9865),
        113: ("bad_certificate_status_response", -9862), 115: ("unknown_psk_identity", -9864),
        116: ("certificate_required", -9863), 120: ("no_application_protocol", -9800),
    ]
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSModel

/// Tells whether a server fails for the size of a hello, which the share of a post-quantum group makes larger than one TCP segment.
package enum SmallerHello {
    /// How the same hello without post-quantum groups ended, which ``AppTransportSecurity`` judges.
    ///
    /// A server may have been busy once: only one that fails for the large hello again, after it answered the smaller one, is proven.
    ///
    /// - Parameter smaller: sends the smaller hello; nil when the time is over.
    /// - Returns: nil if the large hello was answered this time, or could not be sent.
    package static func outcome(
        of smaller: () async -> HandshakeOutcome?, again: () async -> HandshakeOutcome?
    ) async -> HandshakeOutcome? {
        guard let outcome = await smaller() else { return nil }
        if outcome.isSilence { return outcome }
        guard let again = await again(), again.isSilence || outcome.isNegotiated && !again.isNegotiated else {
            return nil
        }
        return outcome
    }
}

extension HandshakeOutcome {
    /// No word of TLS from a server that may have read the hello.
    package var isSilence: Bool {
        switch self {
        case .connection(.reset), .connection(.closed), .connection(.timeout): true
        case .connection, .alert, .protocolError, .negotiated: false
        }
    }
}

extension HelloOffer {
    /// The same without post-quantum groups, so that the hello fits into one TCP segment; nil if it has none.
    package var smaller: HelloOffer? {
        guard keyShareGroups.contains(where: \.isHybrid) else { return nil }
        var offer = self
        offer.groups = NamedGroup.classical(groups)
        offer.keyShareGroups = NamedGroup.classical(keyShareGroups)
        return offer
    }

    /// Whether all that a handshake agreed on is in the hello.
    package func offers(_ handshake: HandshakeObservation) -> Bool {
        HelloQuestion(minimumVersion: minimumVersion, suites: suites).accepts(handshake.version, handshake.suite)
            && handshake.group.map(groups.contains) != false
            && handshake.signatureScheme.map(signatureSchemes.contains) != false
    }
}

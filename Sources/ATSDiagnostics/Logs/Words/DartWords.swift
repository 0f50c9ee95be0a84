// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// Exceptions of Dart and Flutter, which bring a TLS library of their own: ATS has no part in their loads.
enum DartWords {
    static let all: [LogPhrase] = [
        row("Insecure HTTP is not allowed by platform", [.cleartextOwnRule]),
        row("Insecure socket connections are disallowed by platform", [.cleartextOwnRule]),
        row("CERTIFICATE_VERIFY_FAILED: self signed certificate in", [.trustUnknownRoot]),
        row("CERTIFICATE_VERIFY_FAILED: self-signed certificate in", [.trustUnknownRoot]),
        row("CERTIFICATE_VERIFY_FAILED: self signed", [.trustSelfSigned]),
        row("CERTIFICATE_VERIFY_FAILED: self-signed", [.trustSelfSigned]),
        row("CERTIFICATE_VERIFY_FAILED: certificate has expired", [.trustExpired]),
        row("CERTIFICATE_VERIFY_FAILED: certificate is not yet valid", [.trustNotYetValid]),
        row("CERTIFICATE_VERIFY_FAILED: Hostname mismatch", [.trustWrongHost]),
        row("CERTIFICATE_VERIFY_FAILED: IP address mismatch", [.trustWrongHost]),
        row("CERTIFICATE_VERIFY_FAILED: certificate revoked", [.trustRevoked]),
        row("CERTIFICATE_VERIFY_FAILED: unable to get", [.trustMissingIntermediate, .trustUnknownRoot]),
        row("CERTIFICATE_VERIFY_FAILED: ", [.trustUnknownRoot, .trustMissingIntermediate, .trustWrongHost]),
        row("Connection closed before full header was received", [.netClosed]),
        row("Connection terminated during handshake", [.netClosed]), row("Failed host lookup", [.netDNS]),
        row("HandshakeException", [.tlsHandshakeFailed]),
    ]

    private static func row(_ words: String, _ codes: [Code]) -> LogPhrase { LogPhrase(words, .dart, codes) }
}

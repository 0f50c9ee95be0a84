// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// Exceptions of Android, which people paste beside those of their app for iOS: ATS is not there.
enum AndroidWords {
    static let all: [LogPhrase] = [
        row("Cleartext HTTP traffic to", [.cleartextOwnRule]), row("CLEARTEXT communication to", [.cleartextOwnRule]),
        row("ERR_CLEARTEXT_NOT_PERMITTED", [.cleartextOwnRule]),
        row("Trust anchor for certification path not found", [.trustUnknownRoot, .trustMissingIntermediate]),
        row("AndroidCrypto", [.trustUnknownRoot, .trustMissingIntermediate, .trustWrongHost]),
        row("SSLPeerUnverifiedException", [.trustWrongHost]),
        row("CertPathValidatorException: validity check failed", [.trustExpired]),
        row("CertPathValidatorException: timestamp check failed", [.trustExpired]),
        row("CertificateExpiredException", [.trustExpired]),
        row("CertPathValidatorException", [.trustUnknownRoot, .trustExpired]),
        row("SSLHandshakeException", [.tlsHandshakeFailed]),
    ]

    private static func row(_ words: String, _ codes: [Code]) -> LogPhrase { LogPhrase(words, .android, codes) }
}

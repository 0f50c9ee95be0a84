// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// What rustls writes, in reqwest, Tauri and other programs in Rust: ATS has no part in their loads.
enum RustWords {
    static let all: [LogPhrase] = [
        row("UnknownIssuer", [.trustUnknownRoot, .trustMissingIntermediate]),
        row("InvalidCertificate(Expired", [.trustExpired]), row("peer certificate: Expired", [.trustExpired]),
        row("certificate expired: verification time", [.trustExpired]),
        row("InvalidCertificate(NotValidYet", [.trustNotYetValid]),
        row("peer certificate: NotValidYet", [.trustNotYetValid]),
        row("certificate not valid yet: verification time", [.trustNotYetValid]),
        row("certificate not valid for name", [.trustWrongHost]), row("NotValidForName", [.trustWrongHost]),
        // A self-signed certificate of `openssl req -x509` is one of a CA.
        row("CaUsedAsEndEntity", [.trustSelfSigned, .trustWrongKeyUsage]),
        row("invalid peer certificate: Revoked", [.trustRevoked]),
        row("invalid peer certificate", [.trustUnknownRoot, .trustWrongHost, .trustExpired]),
        row("ServerDoesNotSupportTls12Or13", [.tlsVersionTooLow]),
        row("received fatal alert: ProtocolVersion", [.tlsVersionTooLow]),
        row("received fatal alert: HandshakeFailure", [.tlsNoCommonSuite, .tlsNoCommonGroup, .tlsVersionTooLow]),
        row("corrupt message of type InvalidContentType", [.netNotTLS]),
        row("peer is incompatible", [.tlsHandshakeFailed]),
    ]

    private static func row(_ words: String, _ codes: [Code]) -> LogPhrase { LogPhrase(words, .rust, codes) }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// What OpenSSL says about a chain, in `openssl s_client`, curl, Python, Ruby and others: ATS has no part in their loads.
enum OpenSSLWords {
    static let all: [LogPhrase] = [
        LogPhrase(
            "SSL_connect: SSL_ERROR_SYSCALL", .openSSL, [.netReset, .netClosed],
            "The connection to <host> was cut during the TLS handshake, without an alert: by the server or by what is in between.",
            fix: "look in the server's log whether the ClientHello arrived, and try from another network"),
        row("self signed certificate in certificate chain", [.trustUnknownRoot]),
        row("self-signed certificate in certificate chain", [.trustUnknownRoot]),
        row("unable to verify the first certificate", [.trustMissingIntermediate]),
        row("unable to get local issuer certificate", [.trustMissingIntermediate, .trustUnknownRoot]),
        row("num=10:certificate has expired", [.trustExpired]), row("certificate has expired", [.trustExpired]),
        row("certificate is not yet valid", [.trustNotYetValid]),
        row("num=18:self", [.trustSelfSigned]), row("return code: 18", [.trustSelfSigned]),
        row("problem: self", [.trustSelfSigned]), row("verify failed: self", [.trustSelfSigned]),
        row("certificate verify failed: Hostname mismatch", [.trustWrongHost]),
        row("certificate subject name", [.trustWrongHost]), row("failedToValidateHostname", [.trustWrongHost]),
        row("certificate verify failed", [.trustUnknownRoot, .trustMissingIntermediate, .trustWrongHost]),
        row("CERTIFICATE_VERIFY_FAILED", [.trustUnknownRoot, .trustMissingIntermediate, .trustWrongHost]),
        row("SSLCertVerificationError", [.trustUnknownRoot, .trustMissingIntermediate, .trustWrongHost]),
    ]

    private static func row(_ words: String, _ codes: [Code]) -> LogPhrase { LogPhrase(words, .openSSL, codes) }
}

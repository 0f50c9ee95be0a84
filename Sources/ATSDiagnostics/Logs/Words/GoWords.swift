// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// What programs in Go write about a chain (crypto/x509) and a connection: ATS has no part in their loads.
enum GoWords {
    static let all: [LogPhrase] = [
        row("x509: certificate signed by unknown authority", [.trustUnknownRoot, .trustMissingIntermediate]),
        row("contain any IP SANs", [.trustWrongHost]),
        row("relies on legacy Common Name field", [.trustNoSubjectAlternativeName]),
        row("x509: certificate is valid for", [.trustWrongHost], namesOther: true),
        row("x509: certificate is not valid for any names", [.trustNoSubjectAlternativeName]),
        row("x509: certificate has expired", [.trustExpired]),
        LogPhrase(
            "first record does not look like a TLS handshake", .go, [.netNotTLS],
            "One side does not speak TLS: the app loads http from a port of TLS, or the server answers https with plain HTTP.",
            fix: "compare the scheme and the port of the URL with what the server listens on"),
        row("server gave HTTP response to HTTPS client", [.netNotTLS]),
    ]

    private static func row(_ words: String, _ codes: [Code], namesOther: Bool = false) -> LogPhrase {
        LogPhrase(words, .go, codes, namesOther: namesOther)
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// What the other side writes when a handshake fails: proxies that read TLS, and servers.
enum InterceptionWords {
    static let all: [LogPhrase] =
        [
            "trust the proxy's certificate", "trust the Charles Root", "SSL handshake with client failed",
            "Client SSL handshake failed", "Received fatal alert: unknown_ca",
            "Received fatal alert: certificate_unknown", "alert number 48) while SSL handshaking",
            "alert number 46) while SSL handshaking", "alert number 42) while SSL handshaking",
            "remote error: tls: unknown certificate", "remote error: tls: bad certificate",
            // NIOSSL, in Proxyman and in servers of Swift, prints lists.
            "SSLV3_ALERT_CERTIFICATE_UNKNOWN]", "TLSV1_ALERT_UNKNOWN_CA]",
        ].map {
            LogPhrase(
                $0, .system, [.trustUnknownRoot, .trustMissingIntermediate, .trustRefusedByDelegate], refused, fix: root
            )
        } + [
            LogPhrase("no shared cipher", .system, [.tlsNoCommonSuite]),
            LogPhrase("no cipher suite supported by both client and server", .system, [.tlsNoCommonSuite]),
            LogPhrase("client offered only unsupported versions", .system, [.tlsVersionTooLow]),
            LogPhrase("unsupported protocol) while SSL handshaking", .system, [.tlsVersionTooLow]),
        ]

    private static let refused =
        "The app refuses the certificate that it was shown for <host>: a proxy that reads TLS, or the server, wrote this line."
    private static let root =
        "a proxy's root: install it, and switch it on in Settings > General > About > Certificate Trust Settings; an app that pins refuses it all the same. A server: check the chain that it sends"
}

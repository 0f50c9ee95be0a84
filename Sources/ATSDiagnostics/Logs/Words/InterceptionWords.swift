// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// What the other side writes when a handshake fails: proxies that read TLS, and servers.
enum InterceptionWords {
    static let all: [LogPhrase] =
        [LogPhrase("no cipher suites in common", .system, [.tlsNoCommonSuite])]
        + [
            "trust the proxy's certificate", "trust the Charles Root", "SSL handshake with client failed",
            "Client SSL handshake failed", "Cannot establish TLS with client", "client failed to negotiate a TLS",
            "client failed to negotiate an SSL", "Received fatal alert: unknown_ca",
            "Received fatal alert: certificate_unknown", "alert number 48) while SSL handshaking",
            "alert number 46) while SSL handshaking", "alert number 42) while SSL handshaking",
            "remote error: tls: unknown certificate", "remote error: tls: bad certificate",
            // NIOSSL, in Proxyman and in servers of Swift, prints lists.
            "SSLV3_ALERT_CERTIFICATE_UNKNOWN]", "TLSV1_ALERT_UNKNOWN_CA]", "EOF during handshake",
            "OPENSSL_internal:INAPPROPRIATE_FALLBACK", "It could be SSL Certificate Pinning",
        ].map {
            LogPhrase(
                $0, .system, [.trustUnknownRoot, .trustMissingIntermediate, .trustRefusedByDelegate], refused, fix: root
            )
        }
        + [
            // With the path of a file of OpenSSL, as Node prints them: of a server as of a client.
            "alert unknown ca:../", "alert certificate unknown:../", "alert bad certificate:../",
            "Received fatal alert: bad_certificate",
        ].map {
            LogPhrase(
                $0, .system, [.trustUnknownRoot, .trustMissingIntermediate, .tlsClientCertificateRejected], either,
                fix: root)
        } + [
            LogPhrase(
                "peer did not return a certificate", .system, [.tlsClientCertificateRequired],
                "A server wrote this line: it demands a client certificate, and the app sent none."),
            LogPhrase("400 No required SSL certificate was sent", .system, [.tlsClientCertificateRequired]),
            LogPhrase("400 The SSL certificate error", .system, [.tlsClientCertificateRejected]),
            LogPhrase("no shared cipher", .system, [.tlsNoCommonSuite]),
            LogPhrase("no cipher suite supported by both client and server", .system, [.tlsNoCommonSuite]),
            LogPhrase("client offered only unsupported versions", .system, [.tlsVersionTooLow]),
            LogPhrase("unsupported protocol) while SSL handshaking", .system, [.tlsVersionTooLow]),
        ]

    private static let refused =
        "The app refuses the certificate that it was shown for <host>: a proxy that reads TLS, or the server, wrote this line."
    private static let either =
        "The other side refuses the certificate that it was shown. In the log of a proxy or a server that is the app, which does not trust the certificate for <host>; in that of a client it is the server, which refuses the certificate of the client."
    private static let root =
        "a proxy's root: install it, and switch it on in Settings > General > About > Certificate Trust Settings; an app that pins refuses it all the same. A server: check the chain that it sends"
}

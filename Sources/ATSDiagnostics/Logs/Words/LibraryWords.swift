// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// What is written by libraries that do TLS themselves: App Transport Security has no part in their loads.
enum LibraryWords {
    static let all: [LogPhrase] =
        rows(.android, android) + rows(.dart, dart) + rows(.dotNet, dotNet) + rows(.rust, rust) + goRows
        + openSSLRows + schannelRows + rows(.nss, nss) + qtRows + mbedTLSRows
        + rows(.unity, unity) + curlRows
        + rows(.curl, libcurl) + chromiumRows + rows(.node, node)
        + [
            LogPhrase(
                "TLS sessions are not supported on Native", .ktor, [.tlsHandshakeFailed],
                "Ktor's CIO engine cannot do TLS on Apple's systems: nothing was sent to <host>. It does not use ATS.",
                fix: "use Ktor's Darwin engine: it loads with the system's stack, then ATS counts")
        ]

    /// Words that only say who wrote a line, before those of the system: what a library says of a chain, others say too.
    static let marks: [LogPhrase] =
        rows(.dart, ["Handshake error in client", "(handshake.cc:", "(tls_record.cc:"].map { ($0, []) })
        + rows(.grpc, ["NIOSSL", "ssl_transport_security"].map { ($0, []) })
        + rows(.unity, [("UnityTls error code", [])])

    private static func rows(_ speaker: LogPhrase.Speaker, _ rows: [(String, [Code])]) -> [LogPhrase] {
        rows.map { LogPhrase($0, speaker, $1) }
    }

    private static let curlRows: [LogPhrase] =
        curl.flatMap { number, codes in
            [
                LogPhrase("Curl error \(number):", .unity, codes), LogPhrase("curl: (\(number))", .curl, codes),
                LogPhrase("libcurl error: \(number) (", .curl, codes),
                LogPhrase("libcurl error: \(number)(", .curl, codes),
            ]
        }
        + ["curl: (77)", "error setting certificate verify locations"].map {
            LogPhrase(
                $0, .curl, [.trustUnknownRoot],
                "curl cannot read its own file of roots, and judged no certificate of <host>. It does not use ATS.",
                fix:
                    "give it a file that exists (--cacert FILE, CURL_CA_BUNDLE), or install the system's ca-certificates"
            )
        }

    /// What libcurl calls its numbers.
    private static let libcurl: [(String, [Code])] = [
        (
            "SSL peer certificate or SSH remote key was not OK",
            [.trustUnknownRoot, .trustMissingIntermediate, .trustSelfSigned, .trustExpired]
        ),
        ("Peer certificate cannot be authenticated with", [.trustUnknownRoot, .trustMissingIntermediate]),
        ("SSL connect error", [.tlsHandshakeFailed]),
    ]

    private static let chromiumRows: [LogPhrase] =
        chromium.flatMap { name, number, codes in
            [LogPhrase("ERR_" + name, .chromium, codes)]
                + (number.map { [LogPhrase("net_error -\($0)", .chromium, codes)] } ?? [])
        }
        + ["ERR_CERT_INVALID", "net_error -207"].map {
            LogPhrase(
                $0, .chromium, [.trustValidityTooLong, .trustWrongKeyUsage, .trustNameConstraints, .trustUnknownRoot],
                "Chromium (Electron) refused the certificate of <host> and does not say why: it stands for whatever the system refuses beside the name, the dates and the root, or cannot judge. It does not use ATS.",
                fix: "`sealward ats check https://HOST/` names what Apple's systems refuse")
        }

    /// Exceptions of Android, which people paste beside those of their app for iOS.
    private static let android: [(String, [Code])] = [
        ("Cleartext HTTP traffic to", [.cleartextOwnRule]), ("CLEARTEXT communication to", [.cleartextOwnRule]),
        ("ERR_CLEARTEXT_NOT_PERMITTED", [.cleartextOwnRule]),
        ("Trust anchor for certification path not found", [.trustUnknownRoot, .trustMissingIntermediate]),
        ("AndroidCrypto", [.trustUnknownRoot, .trustMissingIntermediate, .trustWrongHost]),
        ("SSLPeerUnverifiedException", [.trustWrongHost]),
        ("CertPathValidatorException: validity check failed", [.trustExpired]),
        ("CertPathValidatorException: timestamp check failed", [.trustExpired]),
        ("CertificateExpiredException", [.trustExpired]),
        ("CertPathValidatorException", [.trustUnknownRoot, .trustExpired]),
        ("unable to find valid certification path", [.trustUnknownRoot, .trustMissingIntermediate]),
        ("SSLHandshakeException", [.tlsHandshakeFailed]),
    ]

    /// Exceptions of Dart and Flutter.
    private static let dart: [(String, [Code])] = [
        ("Insecure HTTP is not allowed by platform", [.cleartextOwnRule]),
        ("Insecure socket connections are disallowed by platform", [.cleartextOwnRule]),
        ("CERTIFICATE_VERIFY_FAILED: self signed certificate in", [.trustUnknownRoot]),
        ("CERTIFICATE_VERIFY_FAILED: self-signed certificate in", [.trustUnknownRoot]),
        ("CERTIFICATE_VERIFY_FAILED: self signed", [.trustSelfSigned]),
        ("CERTIFICATE_VERIFY_FAILED: self-signed", [.trustSelfSigned]),
        ("CERTIFICATE_VERIFY_FAILED: certificate has expired", [.trustExpired]),
        ("CERTIFICATE_VERIFY_FAILED: certificate is not yet valid", [.trustNotYetValid]),
        ("CERTIFICATE_VERIFY_FAILED: Hostname mismatch", [.trustWrongHost]),
        ("CERTIFICATE_VERIFY_FAILED: IP address mismatch", [.trustWrongHost]),
        ("CERTIFICATE_VERIFY_FAILED: certificate revoked", [.trustRevoked]),
        ("CERTIFICATE_VERIFY_FAILED: unable to get", [.trustMissingIntermediate, .trustUnknownRoot]),
        ("CERTIFICATE_VERIFY_FAILED: ", [.trustUnknownRoot, .trustMissingIntermediate, .trustWrongHost]),
        ("Connection closed before full header was received", [.netClosed]),
        ("Connection terminated during handshake", [.netClosed]), ("Failed host lookup", [.netDNS]),
        ("HandshakeException", [.tlsHandshakeFailed]),
    ]

    /// Exceptions of .NET's managed handler, which judges certificates itself. Those of NSUrlSessionHandler carry the system's own error.
    private static let dotNet: [(String, [Code])] = [
        ("RemoteCertificateNameMismatch", [.trustWrongHost]), ("UntrustedRoot", [.trustUnknownRoot]),
        ("NotTimeValid", [.trustExpired]), ("PartialChain", [.trustMissingIntermediate, .trustUnknownRoot]),
        ("RemoteCertificateChainErrors", [.trustUnknownRoot, .trustMissingIntermediate, .trustExpired]),
        ("by the provided RemoteCertificateValidationCallback", [.trustRefusedByDelegate]),
        ("The remote certificate is invalid", [.trustUnknownRoot, .trustWrongHost, .trustExpired]),
        ("nodename nor servname provided", [.netDNS]), ("Name or service not known", [.netDNS]),
        // WebException of Mono and Xamarin.
        ("Error: NameResolutionFailure", [.netDNS]), ("Error: ConnectFailure", [.netRefused]),
        ("Error: TrustFailure", [.trustUnknownRoot, .trustMissingIntermediate, .trustWrongHost]),
        ("Error: SecureChannelFailure", [.tlsHandshakeFailed, .tlsVersionTooLow]),
        ("AuthenticationException", [.tlsHandshakeFailed]),
        ("The SSL connection could not be established", [.tlsHandshakeFailed]),
    ]

    /// What rustls writes, in reqwest, Tauri and other programs in Rust.
    private static let rust: [(String, [Code])] = [
        ("UnknownIssuer", [.trustUnknownRoot, .trustMissingIntermediate]),
        ("InvalidCertificate(Expired", [.trustExpired]), ("peer certificate: Expired", [.trustExpired]),
        ("certificate expired: verification time", [.trustExpired]),
        ("InvalidCertificate(NotValidYet", [.trustNotYetValid]),
        ("peer certificate: NotValidYet", [.trustNotYetValid]),
        ("certificate not valid yet: verification time", [.trustNotYetValid]),
        ("certificate not valid for name", [.trustWrongHost]), ("NotValidForName", [.trustWrongHost]),
        // A self-signed certificate of `openssl req -x509` is one of a CA.
        ("CaUsedAsEndEntity", [.trustSelfSigned, .trustWrongKeyUsage]),
        ("invalid peer certificate: Revoked", [.trustRevoked]),
        ("invalid peer certificate", [.trustUnknownRoot, .trustWrongHost, .trustExpired]),
        ("ServerDoesNotSupportTls12Or13", [.tlsVersionTooLow]),
        ("received fatal alert: ProtocolVersion", [.tlsVersionTooLow]),
        ("received fatal alert: HandshakeFailure", [.tlsNoCommonSuite, .tlsNoCommonGroup, .tlsVersionTooLow]),
        ("corrupt message of type InvalidContentType", [.netNotTLS]),
        ("peer is incompatible", [.tlsHandshakeFailed]),
    ]

    /// What programs in Go write about a chain (crypto/x509) and a connection.
    private static let goRows: [LogPhrase] = [
        go("x509: certificate signed by unknown authority", [.trustUnknownRoot, .trustMissingIntermediate]),
        go("contain any IP SANs", [.trustWrongHost]),
        go("relies on legacy Common Name field", [.trustNoSubjectAlternativeName]),
        go("x509: certificate is valid for", [.trustWrongHost], namesOther: true),
        go("x509: certificate is not valid for any names", [.trustNoSubjectAlternativeName]),
        go("x509: certificate has expired", [.trustExpired]),
        LogPhrase(
            "first record does not look like a TLS handshake", .go, [.netNotTLS],
            "One side does not speak TLS: the app loads http from a port of TLS, or the server answers https with plain HTTP.",
            fix: "compare the scheme and the port of the URL with what the server listens on"),
        go("server gave HTTP response to HTTPS client", [.netNotTLS]),
    ]

    private static func go(_ words: String, _ codes: [Code], namesOther: Bool = false) -> LogPhrase {
        LogPhrase(words, .go, codes, namesOther: namesOther)
    }

    private static let openSSLRows: [LogPhrase] =
        // Ruby has words of its own for it.
        ["SSL_connect: SSL_ERROR_SYSCALL", "SSL_connect SYSCALL returned=5"].map {
            LogPhrase(
                $0, .openSSL, [.netReset, .netClosed],
                "The connection to <host> was cut during the TLS handshake, without an alert: by the server or by what is in between.",
                fix: "look in the server's log whether the ClientHello arrived, and try from another network")
        }
        + [
            LogPhrase(
                "unable to get certificate CRL", .openSSL, [.tlsHandshakeFailed],
                "OpenSSL was told to look into lists of revoked certificates and has none for <host>: the certificate itself may be right. It does not use ATS.",
                fix: "update the program (the gem openssl of Ruby), or switch the check of revocation lists off in it"),
            LogPhrase(
                "unsafe legacy renegotiation", .openSSL, [.tlsHandshakeFailed],
                "OpenSSL 3 refuses <host>, which cannot renegotiate safely (RFC 5746): an old server, or a proxy that reads TLS. It does not use ATS.",
                fix: "update the TLS library of the server or of the proxy"),
            LogPhrase(
                "dh key too small", .openSSL, [.tlsHandshakeFailed],
                "OpenSSL refuses <host>, whose Diffie-Hellman key is too small. It does not use ATS, which asks for ECDHE.",
                fix: "enable ECDHE suites on the server, and give its DHE suites parameters of 2048 bits"),
        ] + rows(.openSSL, openSSL)

    /// What OpenSSL says about a chain, in `openssl s_client`, curl, Python, Ruby and others.
    private static let openSSL: [(String, [Code])] = [
        ("wrong version number", [.netNotTLS]), ("packet length too long", [.netNotTLS]),
        ("EOF occurred in violation of protocol", [.netClosed]), ("unexpected eof while reading", [.netClosed]),
        ("SSL23_GET_SERVER_HELLO:unknown protocol", [.netNotTLS, .tlsVersionTooLow]),
        (":unsupported protocol", [.tlsVersionTooLow]), (":no protocols available", [.tlsVersionTooLow]),
        ("ee key too small", [.trustWeakKey]), ("EE certificate key too weak", [.trustWeakKey]),
        ("ca md too weak", [.trustWeakSignature]), ("CA signature digest algorithm too weak", [.trustWeakSignature]),
        ("self signed certificate in certificate chain", [.trustUnknownRoot]),
        ("self-signed certificate in certificate chain", [.trustUnknownRoot]),
        ("unable to verify the first certificate", [.trustMissingIntermediate]),
        ("unable to get local issuer certificate", [.trustMissingIntermediate, .trustUnknownRoot]),
        ("num=10:certificate has expired", [.trustExpired]), ("certificate has expired", [.trustExpired]),
        ("certificate is not yet valid", [.trustNotYetValid]),
        ("num=18:self", [.trustSelfSigned]), ("return code: 18", [.trustSelfSigned]),
        ("problem: self", [.trustSelfSigned]), ("verify failed: self", [.trustSelfSigned]),
        ("certificate verify failed: Hostname mismatch", [.trustWrongHost]),
        ("certificate subject name", [.trustWrongHost]), ("failedToValidateHostname", [.trustWrongHost]),
        // What wget says.
        ("Unable to locally verify the issuer's authority", [.trustMissingIntermediate, .trustUnknownRoot]),
        ("Self-signed certificate encountered", [.trustSelfSigned, .trustUnknownRoot]),
        ("Issued certificate has expired", [.trustExpired]),
        ("no certificate subject alternative name matches", [.trustWrongHost]),
        ("t have a known issuer", [.trustUnknownRoot, .trustMissingIntermediate]),
        ("failed: Connection refused.", [.netRefused]), ("failed: Connection timed out.", [.netTimeout]),
        ("unable to resolve host address", [.netDNS]),
        ("s certificate, issued by \u{2018}", [.trustUnknownRoot, .trustSelfSigned, .trustWrongHost, .trustExpired]),
        ("s certificate, issued by `", [.trustUnknownRoot, .trustSelfSigned, .trustWrongHost, .trustExpired]),
        ("s certificate, issued by '", [.trustUnknownRoot, .trustSelfSigned, .trustWrongHost, .trustExpired]),
        ("The certificate of \u{2018}", [.trustUnknownRoot, .trustSelfSigned, .trustWrongHost, .trustExpired]),
        ("certificate verify failed", [.trustUnknownRoot, .trustMissingIntermediate, .trustWrongHost]),
        ("CERTIFICATE_VERIFY_FAILED", [.trustUnknownRoot, .trustMissingIntermediate, .trustWrongHost]),
        ("SSLCertVerificationError", [.trustUnknownRoot, .trustMissingIntermediate, .trustWrongHost]),
    ]

    /// What NSS calls what it refuses.
    private static let nss: [(String, [Code])] = [
        ("SEC_ERROR_UNKNOWN_ISSUER", [.trustUnknownRoot, .trustMissingIntermediate]),
        ("SEC_ERROR_EXPIRED_CERTIFICATE", [.trustExpired]), ("SEC_ERROR_EXPIRED_ISSUER_CERTIFICATE", [.trustExpired]),
        ("SEC_ERROR_REVOKED_CERTIFICATE", [.trustRevoked]), ("SSL_ERROR_BAD_CERT_DOMAIN", [.trustWrongHost]),
        ("MOZILLA_PKIX_ERROR_SELF_SIGNED_CERT", [.trustSelfSigned]),
        ("SSL_ERROR_RX_RECORD_TOO_LONG", [.netNotTLS]), ("SSL_ERROR_UNSUPPORTED_VERSION", [.tlsVersionTooLow]),
        ("SSL_ERROR_NO_CYPHER_OVERLAP", [.tlsNoCommonSuite]),
    ]

    private static let qtRows: [LogPhrase] =
        ["TLS initialization failed", "No functional TLS backend was found", "No TLS backend is available"].map {
            LogPhrase(
                $0, .qt, [.tlsHandshakeFailed],
                "Qt has no library for TLS that it can use: nothing was sent to <host>. It does not use ATS.",
                fix:
                    "ship Qt's plugin for TLS with the app (plugins/tls, which macdeployqt copies), and the OpenSSL that sslLibraryBuildVersionString() names where it is built for that"
            )
        } + rows(.qt, qt)

    /// Qt's own checks (QSslError).
    private static let qt: [(String, [Code])] = [
        ("The certificate is self-signed, and untrusted", [.trustSelfSigned]),
        ("certificate chain is self-signed, and untrusted", [.trustUnknownRoot]),
        (
            "certificate of a locally looked up certificate could not be found",
            [.trustMissingIntermediate, .trustUnknownRoot]
        ),
        ("The root CA certificate is not trusted for this purpose", [.trustUnknownRoot]),
        ("No certificates could be verified", [.trustMissingIntermediate, .trustUnknownRoot]),
        ("The host name did not match any of the valid hosts", [.trustWrongHost]),
        ("SSL handshake failed: The certificate has expired", [.trustExpired]),
    ]

    /// The errors of Mbed TLS, which Godot and others print in hexadecimal, in decimal, or as words.
    private static let mbedTLSRows: [LogPhrase] = mbedTLS.flatMap { number, words, codes -> [LogPhrase] in
        let numbers: [String] = [
            "-0x\(String(number, radix: 16))", "error: -\(number)", "error (-\(number))", "failed (-\(number))",
            "returned -\(number)",
        ]
        // A short number is no word, and a number alone may be any.
        let texts: [String] = number < 1000 ? [words] : numbers + [words]
        return texts.map { LogPhrase($0, .mbedTLS, codes) }
    }

    private static let mbedTLS: [(Int, String, [Code])] = [
        (
            9984, "X509 - Certificate verification failed",
            [.trustUnknownRoot, .trustMissingIntermediate, .trustWrongHost]
        ),
        (30336, "SSL - No CA Chain is set", [.trustUnknownRoot]),
        (
            30592, "SSL - A fatal alert message was received",
            [.tlsHandshakeFailed, .tlsVersionTooLow, .tlsNoCommonSuite]
        ),
        (31232, "SSL - Processing of the Certificate handshake message failed", [.tlsHandshakeFailed]),
        (30848, "SSL - The peer notified us that the connection is going to be closed", [.netClosed]),
        (29184, "SSL - An invalid SSL record was received", [.netNotTLS]),
        (29312, "SSL - The connection indicated an EOF", [.netClosed]),
        (28288, "SSL - Handshake protocol not within min/max boundaries", [.tlsVersionTooLow]),
        (29568, "SSL - The server has no ciphersuites in common", [.tlsNoCommonSuite]),
        (26624, "SSL - The operation timed out", [.netTimeout]),
        (0x52, "NET - Failed to get an IP address for the given hostname", [.netDNS]),
        (0x44, "NET - The connection to the given server / port failed", [.netRefused]),
        (0x50, "NET - Connection was reset by peer", [.netReset]),
    ]

    /// The errors of Windows: by their names, and by the numbers that .NET and Git print alone.
    private static let windows: [(String, String, [Code])] = [
        ("SEC_E_UNTRUSTED_ROOT", "80090325", [.trustUnknownRoot, .trustSelfSigned]),
        ("CERT_E_UNTRUSTEDROOT", "800B0109", [.trustUnknownRoot, .trustSelfSigned]),
        ("CERT_E_CHAINING", "800B010A", [.trustMissingIntermediate, .trustUnknownRoot]),
        ("SEC_E_WRONG_PRINCIPAL", "80090322", [.trustWrongHost]), ("CERT_E_CN_NO_MATCH", "800B010F", [.trustWrongHost]),
        ("SEC_E_CERT_EXPIRED", "80090328", [.trustExpired]), ("CERT_E_EXPIRED", "800B0101", [.trustExpired]),
        ("SEC_E_CERT_UNKNOWN", "80090327", [.trustUnknownRoot, .trustWrongHost, .trustExpired]),
        ("CRYPT_E_REVOKED", "80092010", [.trustRevoked]),
        ("SEC_E_ALGORITHM_MISMATCH", "80090331", [.tlsNoCommonSuite, .tlsVersionTooLow]),
        ("SEC_E_UNSUPPORTED_FUNCTION", "80090302", [.tlsVersionTooLow]),
        ("SEC_E_ILLEGAL_MESSAGE", "80090326", [.tlsHandshakeFailed, .tlsVersionTooLow, .tlsNoCommonSuite]),
        ("SEC_E_INVALID_TOKEN", "80090308", [.netNotTLS, .tlsVersionTooLow]),
        ("SEC_E_INCOMPLETE_CREDENTIALS", "80090320", [.tlsClientCertificateRequired]),
    ]

    private static let schannelRows: [LogPhrase] =
        windows.flatMap { name, number, codes in
            [LogPhrase(name, .schannel, codes), LogPhrase("0x" + number, .schannel, codes)]
        }
        + [LogPhrase("do not possess a common algorithm", .schannel, [.tlsNoCommonSuite, .tlsVersionTooLow])]
        + ["CRYPT_E_NO_REVOCATION_CHECK", "CRYPT_E_REVOCATION_OFFLINE"].map {
            LogPhrase(
                $0, .schannel, [.tlsHandshakeFailed],
                "Windows could not ask whether the certificate of <host> is revoked, and refuses it for that. Apple's systems do not.",
                fix:
                    "let the computer reach the addresses of the authority (CRL, OCSP), often through a proxy; with curl --ssl-revoke-best-effort"
            )
        }

    /// What Unity writes.
    private static let unity: [(String, [Code])] = [
        ("Insecure connection not allowed", [.cleartextOwnRule]),
        ("Non-secure network connections disabled", [.cleartextOwnRule]),
        ("X509VERIFY_FLAG_EXPIRED", [.trustExpired]),
        ("X509VERIFY_FLAG_REVOKED", [.trustRevoked]),
        ("X509VERIFY_FLAG_CN_MISMATCH", [.trustWrongHost]),
        ("X509VERIFY_FLAG_NOT_TRUSTED", [.trustUnknownRoot, .trustMissingIntermediate]),
        ("Cannot resolve destination host", [.netDNS]),
        ("Cannot connect to destination host", [.netRefused]),
        ("Unable to complete SSL connection", [.tlsHandshakeFailed]),
        ("SSL CA certificate error", [.trustUnknownRoot, .trustMissingIntermediate]),
    ]

    /// The numbers of curl, with which Unity and other programs load.
    private static let curl: [(Int, [Code])] = [
        (60, [.trustUnknownRoot, .trustMissingIntermediate, .trustSelfSigned, .trustExpired]),
        (51, [.trustWrongHost]), (35, [.tlsHandshakeFailed]), (6, [.netDNS]), (7, [.netRefused]), (28, [.netTimeout]),
        (52, [.netClosed]), (56, [.netReset]), (58, [.tlsClientCertificateRequired]), (5, [.netDNS]),
        (16, [.httpNoAnswer]), (18, [.netClosed]), (47, [.httpRedirectLoop]), (55, [.netReset]),
        (59, [.tlsNoCommonSuite]), (83, [.trustUnknownRoot]), (90, [.trustPinMismatch]), (91, [.tlsHandshakeFailed]),
        (92, [.httpNoAnswer]), (97, [.netRefused]),
    ]

    /// What Chromium's network stack writes, in Electron and elsewhere.
    private static let chromium: [(String, Int?, [Code])] = [
        ("CERT_AUTHORITY_INVALID", 202, [.trustUnknownRoot, .trustSelfSigned, .trustMissingIntermediate]),
        ("CERT_COMMON_NAME_INVALID", 200, [.trustWrongHost]), ("CERT_DATE_INVALID", 201, [.trustExpired]),
        ("CERT_REVOKED", 206, [.trustRevoked]), ("CERT_WEAK_SIGNATURE_ALGORITHM", 208, [.trustWeakSignature]),
        ("CERT_WEAK_KEY", 211, [.trustWeakKey]), ("CERT_VALIDITY_TOO_LONG", 213, [.trustValidityTooLong]),
        ("CERTIFICATE_TRANSPARENCY_REQUIRED", 214, [.ctMissing]),
        ("SSL_VERSION_OR_CIPHER_MISMATCH", 113, [.tlsVersionTooLow, .tlsNoCommonSuite]),
        ("BAD_SSL_CLIENT_AUTH_CERT", 117, [.tlsClientCertificateRejected]),
        ("SSL_CLIENT_AUTH_CERT_NEEDED", 110, [.tlsClientCertificateRequired]),
        ("SSL_PINNED_KEY_NOT_IN_CERT_CHAIN", 150, [.trustPinMismatch]),
        ("SSL_PROTOCOL_ERROR", 107, [.tlsHandshakeFailed]), ("NAME_NOT_RESOLVED", 105, [.netDNS]),
        ("INTERNET_DISCONNECTED", 106, [.netOffline]), ("NETWORK_ACCESS_DENIED", 138, [.netSandbox]),
        ("CONNECTION_REFUSED", 102, [.netRefused]), ("CONNECTION_RESET", 101, [.netReset]),
        ("CONNECTION_CLOSED", 100, [.netClosed]), ("CONNECTION_TIMED_OUT", 118, [.netTimeout]),
        ("ADDRESS_UNREACHABLE", 109, [.netRefused]), ("PROXY_CONNECTION_FAILED", 130, [.netRefused]),
        ("TUNNEL_CONNECTION_FAILED", 111, [.netRefused]), ("TLS_CERT_ALTNAME_INVALID", nil, [.trustWrongHost]),
    ]

    /// What Node writes.
    private static let node: [(String, [Code])] = [
        ("DEPTH_ZERO_SELF_SIGNED_CERT", [.trustSelfSigned]), ("SELF_SIGNED_CERT_IN_CHAIN", [.trustUnknownRoot]),
        ("UNABLE_TO_VERIFY_LEAF_SIGNATURE", [.trustMissingIntermediate]),
        ("UNABLE_TO_GET_ISSUER_CERT", [.trustMissingIntermediate, .trustUnknownRoot]),
        ("does not match certificate's altnames", [.trustWrongHost]),
        ("disconnected before secure TLS connection", [.netClosed]), ("CERT_HAS_EXPIRED", [.trustExpired]),
        ("CERT_NOT_YET_VALID", [.trustNotYetValid]), ("ENOTFOUND", [.netDNS]),
        ("EAI_AGAIN", [.netDNS]), ("ECONNREFUSED", [.netRefused]), ("ECONNRESET", [.netReset]),
        ("ETIMEDOUT", [.netTimeout]), ("EHOSTUNREACH", [.netRefused]),
    ]
}

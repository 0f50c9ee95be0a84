// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// What Chromium's network stack and Node write, in Electron and elsewhere: ATS has no part in their loads.
enum ElectronWords {
    static let all: [LogPhrase] =
        chromium.flatMap { name, number, codes in
            [LogPhrase("ERR_" + name, .chromium, codes)]
                + (number.map { [LogPhrase("net_error -\($0)", .chromium, codes)] } ?? [])
        } + node.map { LogPhrase($0, .node, $1) }

    private static let chromium: [(String, Int?, [Code])] = [
        ("CERT_AUTHORITY_INVALID", 202, [.trustUnknownRoot, .trustSelfSigned, .trustMissingIntermediate]),
        ("CERT_COMMON_NAME_INVALID", 200, [.trustWrongHost]), ("CERT_DATE_INVALID", 201, [.trustExpired]),
        ("CERT_REVOKED", 206, [.trustRevoked]), ("CERT_WEAK_SIGNATURE_ALGORITHM", 208, [.trustWeakSignature]),
        ("CERT_WEAK_KEY", 211, [.trustWeakKey]), ("CERT_VALIDITY_TOO_LONG", 213, [.trustValidityTooLong]),
        ("CERTIFICATE_TRANSPARENCY_REQUIRED", 214, [.ctMissing]),
        ("CERT_INVALID", 207, [.trustWrongKeyUsage]),
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

    private static let node: [(String, [Code])] = [
        ("DEPTH_ZERO_SELF_SIGNED_CERT", [.trustSelfSigned]), ("SELF_SIGNED_CERT_IN_CHAIN", [.trustUnknownRoot]),
        ("UNABLE_TO_VERIFY_LEAF_SIGNATURE", [.trustMissingIntermediate]),
        ("UNABLE_TO_GET_ISSUER_CERT", [.trustMissingIntermediate, .trustUnknownRoot]),
        ("disconnected before secure TLS connection", [.netClosed]), ("CERT_HAS_EXPIRED", [.trustExpired]),
        ("CERT_NOT_YET_VALID", [.trustNotYetValid]), ("ENOTFOUND", [.netDNS]),
        ("EAI_AGAIN", [.netDNS]), ("ECONNREFUSED", [.netRefused]), ("ECONNRESET", [.netReset]),
        ("ETIMEDOUT", [.netTimeout]), ("EHOSTUNREACH", [.netRefused]),
    ]
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// What Unity and other programs write that load with curl.
enum UnityWords {
    static let all: [LogPhrase] =
        [
            LogPhrase("Insecure connection not allowed", .unity, [.cleartextOwnRule]),
            LogPhrase("Non-secure network connections disabled", .unity, [.cleartextOwnRule]),
            LogPhrase("X509VERIFY_FLAG_EXPIRED", .unity, [.trustExpired]),
            LogPhrase("X509VERIFY_FLAG_REVOKED", .unity, [.trustRevoked]),
            LogPhrase("X509VERIFY_FLAG_CN_MISMATCH", .unity, [.trustWrongHost]),
            LogPhrase("X509VERIFY_FLAG_NOT_TRUSTED", .unity, [.trustUnknownRoot, .trustMissingIntermediate]),
            LogPhrase("Cannot resolve destination host", .unity, [.netDNS]),
            LogPhrase("Cannot connect to destination host", .unity, [.netRefused]),
            LogPhrase("Unable to complete SSL connection", .unity, [.tlsHandshakeFailed]),
            LogPhrase("SSL CA certificate error", .unity, [.trustUnknownRoot, .trustMissingIntermediate]),
        ]
        + curl.flatMap { number, codes in
            [
                LogPhrase("Curl error \(number):", .unity, codes), LogPhrase("curl: (\(number))", .curl, codes),
            ]
        }

    private static let curl: [(Int, [Code])] = [
        (60, [.trustUnknownRoot, .trustMissingIntermediate, .trustSelfSigned, .trustExpired]),
        (51, [.trustWrongHost]), (35, [.tlsHandshakeFailed]), (6, [.netDNS]), (7, [.netRefused]), (28, [.netTimeout]),
        (52, [.netClosed]), (56, [.netReset]), (58, [.tlsClientCertificateRequired]),
    ]
}

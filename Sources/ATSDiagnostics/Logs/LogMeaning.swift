// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings

/// What error numbers mean. Where one number has several causes all of them are named: the log does not say which.
enum LogMeaning {
    private static let trust = RefusalNumbers.trust
    private static let anchors: [Code] = [
        .trustUnknownRoot, .trustSelfSigned, .trustMissingIntermediate,
    ]
    private static let suites: [Code] = [
        .tlsNoForwardSecrecy, .tlsNoCommonSuite, .tlsNoCommonGroup, .tlsNoCommonSignature,
    ]

    /// By the number of the CFStream error, what the other side and the network bring about and what a number says by itself; what the client
    /// refuses itself is added by ``RefusalNumbers``. Source: Security, base/SecBase.h, and measured loads.
    private static let streams: [Int: [Code]] = [
        -9800: [.netNotTLS],
        -9805: [.netClosed], -9806: [.netClosed], -9807: anchors, -9808: [.tlsHandshakeFailed],
        -9809: [.tlsHandshakeFailed], -9810: [.tlsHandshakeFailed], -9813: anchors,
        -9816: [.netClosed, .netReset, .tlsLargeHello],
        -9818: suites, -9819: [.tlsHandshakeFailed], -9820: [.tlsHandshakeFailed],
        -9821: [.tlsHandshakeFailed], -9822: [.tlsHandshakeFailed], -9823: [.tlsHandshakeFailed],
        -9824: suites + [.tlsVersionTooLow], -9825: [.tlsClientCertificateRequired],
        -9826: [.tlsClientCertificateRequired], -9827: [.tlsClientCertificateRequired],
        -9828: [.tlsClientCertificateRequired], -9829: [.tlsClientCertificateRequired],
        -9830: [.tlsHandshakeFailed], -9831: [.tlsClientCertificateRequired],
        -9832: [.tlsClientCertificateRequired], -9833: [.tlsHandshakeFailed],
        -9834: [.tlsHandshakeFailed], -9835: [.tlsHandshakeFailed], -9837: suites,
        -9838: [.tlsHandshakeFailed], -9839: [.tlsHandshakeFailed],
        -9840: [.tlsHandshakeFailed], -9841: trust, -9842: [.tlsClientCertificateRequired],
        -9844: [.netClosed], -9845: [.tlsHandshakeFailed],
        -9846: [.tlsHandshakeFailed], -9847: [.tlsHandshakeFailed], -9849: [.tlsHandshakeFailed],
        -9850: [.tlsNoCommonSuite], -9852: [.netReset, .netClosed], -9853: [.netTimeout],
        -9855: [.tlsHandshakeFailed], -9856: [.tlsHandshakeFailed], -9857: [.tlsHandshakeFailed],
        -9858: suites + [.tlsHandshakeFailed], -9859: [.tlsHandshakeFailed], -9860: [.tlsHandshakeFailed],
        -9861: [.tlsHandshakeFailed], -9862: [.tlsHandshakeFailed], -9863: [.tlsClientCertificateRequired],
        -9865: [.tlsHandshakeFailed], -9880: trust, -9881: [.tlsVersionTooLow], -9882: suites,
        -9883: [.trustWeakKey], -9884: [.trustWeakSignature], -9885: [.trustWeakSignature],
        -9886: trust,
    ]

    /// By the number of the NSURLError, where no number of TLS says more.
    private static let errors: [Int: [Code]] = [
        -1001: [.netTimeout, .tlsLargeHello], -1003: [.netDNS], -1004: [.netRefused],
        -1005: [.netReset, .netClosed, .tlsLargeHello],
        -1007: [.httpRedirectLoop], -1022: [.cleartextBlocked],
        -1202: anchors,
        -1205: [.tlsClientCertificateRequired], -1206: [.tlsClientCertificateRequired],
    ]

    /// The causes of what a line said; nil for numbers that have nothing to do with ATS or TLS.
    static func codes(urlError: Int?, streamError: Int?, sentence: LogSentence?) -> [Code]? {
        if let sentence { return sentence.codes }
        // -1005 and the like come with numbers of the socket layer; a number of TLS is in its own range.
        if let streamError, let codes = union(RefusalNumbers.causes(stream: streamError), streams[streamError]) {
            return codes
        }
        return urlError.flatMap { union(RefusalNumbers.causes(urlError: $0), errors[$0]) }
    }

    /// Each cause once; nil if there is none.
    private static func union(_ own: [Code], _ others: [Code]?) -> [Code]? {
        let all = own + (others ?? []).filter { !own.contains($0) }
        return all.isEmpty ? nil : all
    }
}

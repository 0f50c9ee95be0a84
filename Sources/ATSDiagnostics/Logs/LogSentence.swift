// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings

/// A sentence that App Transport Security or the TLS library writes, and what it means.
struct LogSentence: Sendable, Equatable {
    /// The words that identify it.
    let words: StaticString
    /// Our causes; more than one where the sentence leaves it open.
    let codes: [Code]
    /// Where the sentence is documented.
    let source: String

    var isCleartext: Bool { codes.first == "ats.cleartext.blocked" }

    static func == (left: LogSentence, right: LogSentence) -> Bool { left.text == right.text }

    /// The words as text.
    var text: String { "\(words)" }

    private static let boringssl = "libboringssl of 26.4, its strings"
    private static let guide = "Apple, Preventing Insecure Network Connections; reports of developers"

    /// The most telling first: a line is taken for the first whose words it contains.
    static let all: [LogSentence] = [
        .init(
            words: "[ATS FCPv2.1 violation]: Server certificate signed using signature algorithm",
            codes: ["ats.trust.weak-signature"],
            source: boringssl
        ),
        .init(
            words: "[ATS FCPv2.1 violation]: TLS 1.2 negotiated without extended master secret",
            codes: ["ats.tls.handshake-failed"],
            source: boringssl
        ),
        .init(
            words: "not offered in ATS FCP_v2.1 mode negotiated",
            codes: ["ats.tls.no-common-suite"],
            source: boringssl
        ),
        .init(
            words: "ATS certificate trust requirement not satisfied",
            codes: LogMeaning.trust,
            source: boringssl
        ),
        .init(words: "[ATS violation]: ECDSA key size", codes: ["ats.trust.weak-key"], source: boringssl),
        .init(words: "[ATS violation]: RSA key size", codes: ["ats.trust.weak-key"], source: boringssl),
        .init(
            words: "[ATS violation]: Leaf certificate hash algorithm",
            codes: ["ats.trust.weak-signature"],
            source: boringssl
        ),
        .init(
            words: "[ATS violation]: Leaf certificate is absent",
            codes: ["ats.tls.handshake-failed"],
            source: boringssl
        ),
        .init(
            words: "[ATS violation]: Peer public key not set",
            codes: ["ats.tls.handshake-failed"],
            source: boringssl
        ),
        .init(words: "Skipping local ATS trust evaluation (ats_trust_policy=skip)", codes: [], source: boringssl),
        .init(
            words: "App Transport Security has blocked a cleartext HTTP",
            codes: ["ats.cleartext.blocked"],
            source: guide
        ),
        .init(words: "does not conform to ATS policy", codes: ["ats.cleartext.blocked"], source: guide),
        .init(
            words: "App Transport Security policy requires the use of a secure connection",
            codes: ["ats.cleartext.blocked"],
            source: guide
        ),
    ]
}

/// What error numbers mean. Where one number has several causes all of them are named: the log does not say which.
enum LogMeaning {
    /// What ATS refuses in certificates: the client ends the handshake with one number for all of it.
    static let trust: [Code] = [
        "ats.trust.unknown-root", "ats.trust.self-signed", "ats.trust.missing-intermediate", "ats.trust.wrong-host",
        "ats.trust.expired", "ats.trust.weak-key", "ats.trust.weak-signature", "ats.trust.validity-too-long",
        "ats.ct.missing",
    ]
    private static let anchors: [Code] = [
        "ats.trust.unknown-root", "ats.trust.self-signed", "ats.trust.missing-intermediate",
    ]
    private static let suites: [Code] = [
        "ats.tls.no-forward-secrecy", "ats.tls.no-common-suite", "ats.tls.no-common-group",
    ]

    /// By the number of the CFStream error. Source: Security, base/SecBase.h, and measured loads.
    private static let streams: [Int: [Code]] = [
        -9800: ["ats.tls.handshake-failed", "ats.tls.version-too-low", "ats.net.not-tls"], -9801: suites, -9802: trust,
        -9805: ["ats.net.closed"], -9806: ["ats.net.closed"], -9807: anchors, -9808: ["ats.tls.handshake-failed"],
        -9810: ["ats.tls.handshake-failed"], -9812: ["ats.trust.unknown-root"], -9813: anchors,
        -9814: ["ats.trust.expired"], -9815: ["ats.trust.not-yet-valid"], -9816: ["ats.net.closed"],
        -9819: ["ats.tls.handshake-failed"], -9820: ["ats.tls.handshake-failed"],
        -9824: suites + ["ats.tls.version-too-low"], -9825: ["ats.tls.client-certificate-required"],
        -9826: ["ats.tls.client-certificate-required"], -9827: ["ats.tls.client-certificate-required"],
        -9828: ["ats.tls.client-certificate-required"], -9829: ["ats.tls.client-certificate-required"],
        -9830: ["ats.tls.handshake-failed"], -9831: ["ats.tls.client-certificate-required"],
        -9832: ["ats.tls.client-certificate-required"], -9833: ["ats.tls.handshake-failed"],
        -9834: ["ats.tls.handshake-failed"], -9836: ["ats.tls.version-too-low"], -9837: suites,
        -9838: ["ats.tls.handshake-failed"], -9839: ["ats.tls.handshake-failed"], -9841: trust,
        -9843: ["ats.trust.wrong-host"],
        -9850: ["ats.tls.no-common-suite"], -9880: trust, -9881: ["ats.tls.version-too-low"], -9882: suites,
        -9883: ["ats.trust.weak-key"], -9884: ["ats.trust.weak-signature"], -9885: ["ats.trust.weak-signature"],
        -9886: trust,
    ]

    /// By the number of the NSURLError, where no number of TLS says more.
    private static let errors: [Int: [Code]] = [
        -1001: ["ats.net.timeout"], -1003: ["ats.net.dns"], -1004: ["ats.net.refused"],
        -1005: ["ats.net.reset", "ats.net.closed"],
        -1007: ["ats.http.redirect-loop"], -1022: ["ats.cleartext.blocked"],
        -1200: ["ats.tls.version-too-low"] + suites + ["ats.tls.handshake-failed"] + trust,
        -1201: ["ats.trust.expired"],
        -1202: anchors + ["ats.trust.wrong-host"], -1203: ["ats.trust.unknown-root"],
        -1204: ["ats.trust.not-yet-valid"],
        -1205: ["ats.tls.client-certificate-required"], -1206: ["ats.tls.client-certificate-required"],
    ]

    /// The causes of what a line said; nil for numbers that have nothing to do with ATS or TLS.
    static func codes(urlError: Int?, streamError: Int?, sentence: LogSentence?) -> [Code]? {
        if let sentence { return sentence.codes }
        // -1005 and the like come with numbers of the socket layer; a number of TLS is in its own range.
        if let streamError, let codes = streams[streamError] { return codes }
        return urlError.flatMap { errors[$0] }
    }
}

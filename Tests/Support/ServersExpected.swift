// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What a kind of server must yield, written down from the fact sheet before the code was tuned to it.
package struct ServerExpectation: Sendable, CustomStringConvertible {
    package let kind: String
    /// P, F or U for the 16 configurations in nscurl's order: default, allow all, four versions, FS off, FS off with HTTP,
    /// four versions with FS off, four versions with both. Groups are separated by spaces for people.
    package let macos26: String
    /// The same for an app that is linked on SDK 18: the only difference is that its network stack still speaks TLS 1.0 and 1.1.
    package let macos26LinkedOn18: String
    package let published: String
    /// The 13 configurations of systems before TLS 1.3. Nil where the sources leave it open.
    package let macos1011: String?
    /// The first cause of `ATS Default Connection` under `macos26`; nil where it passes.
    package let cause: String?
    package let reason: String

    package var description: String { kind }

    init(
        _ kind: String, _ macos26: String, _ published: String?, _ macos1011: String?, _ cause: String?,
        _ reason: String, linkedOn18: String? = nil
    ) {
        self.kind = kind
        self.macos26 = macos26
        macos26LinkedOn18 = linkedOn18 ?? macos26
        self.published = published ?? macos26
        self.macos1011 = macos1011
        self.cause = cause
        self.reason = reason
    }

    /// The letters without the spaces.
    package static func letters(_ text: String) -> String { text.filter { $0 != " " } }
}

/// Rows that many kinds share. Sixteen letters, and the thirteen of the older systems.
private enum Row {
    static let pass = "P P PPPP P P PPPP PPPP"
    static let fail = "F F FFFF F F FFFF FFFF"
    static let unknown = "U U UUUU U U UUUU UUUU"
    /// TLS 1.2 with forward secrecy at most.
    static let upTo12 = "P P FPPP P P FPPP FPPP"
    static let upTo11 = "F P FFPP F F FFPP FFPP"
    static let only10 = "F P FFFP F F FFFP FFFP"
    /// TLS 1.2 with a suite that needs FS off.
    static let static12 = "F P FFFF P P FPPP FPPP"
    /// A suite that is in the system's own list and in no list of ATS.
    static let systemOnly12 = "F P FFFF F P FFFF FPPP"

    static let pass13 = "P P PPP P P PPP PPP"
    static let fail13 = "F F FFF F F FFF FFF"
    static let unknown13 = "U U UUU U U UUU UUU"
    static let upTo11of13 = "F P FPP F F FPP FPP"
    static let only10of13 = "F P FFP F F FFP FFP"
    static let static12of13 = "F P FFF P P PPP PPP"
    static let systemOnly12of13 = "F P FFF F P FFF PPP"
    /// A flaw that plain trust of the old systems let through, and ATS did not.
    static let plainTrustOnly13 = "F P FFF F P FFF PPP"
    /// A key under 2048 bits: FS off lifted the check of the length too (HTTPLOADS, golden G10).
    static let smallKey13 = "F P FFF P P PPP PPP"
}

package enum ServerExpectations {
    package static let all: [ServerExpectation] =
        versions + suites + keys + trust + clients + sockets + answers

    static let versions: [ServerExpectation] = [
        .init(
            "modern", Row.pass, nil, Row.pass13, nil, "TLS 1.2 and 1.3, ECDHE, RSA-2048, SHA-256, an installed root."),
        .init("modern-ecdsa", Row.pass, nil, Row.pass13, nil, "The same with P-256."),
        .init("all-versions", Row.pass, nil, Row.pass13, nil, "1.3 is negotiated; the older ones do not matter."),
        .init(
            "tls13-only", Row.pass, nil, Row.fail13, nil,
            "Every hello of a system with TLS 1.3 offers 1.3; macOS 10.11 has none."),
        .init("tls12-only", Row.upTo12, nil, Row.pass13, nil, "Only a floor of 1.3 fails."),
        .init(
            "tls11-only", Row.fail, Row.upTo11, Row.upTo11of13, "ats.tls.version-too-low",
            "Floors of 1.1 and 1.0 pass, and so does Allow All, where the network stack's own floor is 1.0: linked before 26.",
            linkedOn18: Row.upTo11),
        .init(
            "tls10-only", Row.fail, Row.only10, Row.only10of13, "ats.tls.version-too-low",
            "Only a floor of 1.0 passes, and linked on 26 nothing does.", linkedOn18: Row.only10),
        .init(
            "tls12-no-extended-master-secret", Row.upTo12, nil, Row.pass13, nil,
            "Only FCP_v2.1 asks for the extended master secret."),
        .init("tls10-to-12", Row.upTo12, nil, Row.pass13, nil, "1.2 is negotiated."),
        .init(
            "tls10-to-11", Row.fail, Row.upTo11, Row.upTo11of13, "ats.tls.version-too-low", "1.1 is the highest.",
            linkedOn18: Row.upTo11),
        .init(
            "tls10-static", Row.fail, "F P FFFF F F FFFP FFFP", "F P FFF F F FFP FFP", "ats.tls.version-too-low",
            "Needs the floor of 1.0 and FS off.", linkedOn18: "F P FFFF F F FFFP FFFP"),
        .init(
            "tls11-static", Row.fail, "F P FFFF F F FFPP FFPP", "F P FFF F F FPP FPP", "ats.tls.version-too-low",
            "Needs a floor of 1.1 and FS off.", linkedOn18: "F P FFFF F F FFPP FFPP"),
        .init(
            "tls10-to-12-static", Row.static12, nil, Row.static12of13, "ats.tls.no-forward-secrecy",
            "TLS 1.2 with RSA key exchange: FS off is enough."),
        .init(
            "tls13-and-static-12", Row.pass, nil, Row.static12of13, nil,
            "1.3 always has forward secrecy; without 1.3 the server is one without it."),
        .init(
            "tls13-and-10", Row.pass, nil, Row.only10of13, nil, "1.3 first; a system without 1.3 meets a 1.0 server."),
        .init(
            "static-preferred", Row.upTo12, nil, Row.pass13, nil,
            "The server prefers RSA key exchange but takes ECDHE when only that is offered."),
        .init("tls13-aes128", Row.pass, nil, Row.fail13, nil, "A suite of TLS 1.3 alone."),
        .init("tls13-aes256", Row.pass, nil, Row.fail13, nil, "A suite of TLS 1.3 alone."),
        .init(
            "tls13-chacha20", Row.pass, nil, Row.fail13, nil,
            "A suite of TLS 1.3 alone; the restriction to AES stands in the list for 1.2 only."),
        .init("split-records", Row.upTo12, nil, Row.pass13, nil, "Handshake messages in pieces of 7 bytes are legal."),
        .init("split-records-13", Row.pass, nil, Row.fail13, nil, "A ServerHello in pieces of 11 bytes is legal."),
        .init("s-server", Row.pass, nil, Row.pass13, nil, "openssl s_server as it comes."),
        .init("s-server-tls12", Row.upTo12, nil, Row.pass13, nil, "openssl s_server with TLS 1.2 alone."),
        .init("sni-required", Row.pass, nil, Row.pass13, nil, "The hello names the server."),
        .init("group-p256", Row.pass, nil, Row.pass13, nil, "P-256 is offered."),
        .init(
            "group-p384", Row.pass, nil, Row.pass13, nil, "P-384 is offered; TLS 1.3 asks for it by HelloRetryRequest."),
        .init("group-p521", Row.pass, nil, Row.pass13, nil, "P-521 is offered."),
        .init("group-x25519", Row.pass, nil, nil, nil, "X25519 is offered; when macOS began to is not in the sources."),
        .init(
            "group-brainpool", Row.static12, nil, nil, "ats.tls.no-forward-secrecy",
            "No common group, so ECDHE cannot be; the server then has RSA key exchange alone."),
        .init(
            "group-brainpool-only", Row.fail, nil, Row.fail13, "ats.tls.no-common-group",
            "No common group, and nothing but ECDHE: told by a hello that offers rare groups too."),
    ]

    static let suites: [ServerExpectation] = [
        .init("suite-ecdsa-aes256-gcm-sha384", Row.upTo12, nil, Row.pass13, nil, "In every list."),
        .init("suite-ecdsa-aes128-gcm-sha256", Row.upTo12, nil, Row.pass13, nil, "In every list."),
        .init(
            "suite-ecdsa-aes256-cbc-sha384", Row.fail, Row.upTo12, Row.pass13, "ats.tls.no-common-suite",
            "Documented, and dropped from Apple's published evaluator."),
        .init(
            "suite-ecdsa-aes128-cbc-sha256", Row.fail, Row.upTo12, Row.pass13, "ats.tls.no-common-suite",
            "Documented, and dropped from Apple's published evaluator."),
        .init("suite-ecdsa-aes256-cbc-sha", Row.upTo12, nil, Row.pass13, nil, "In every list."),
        .init("suite-ecdsa-aes128-cbc-sha", Row.upTo12, nil, Row.pass13, nil, "In every list."),
        .init(
            "suite-ecdsa-chacha20", Row.upTo12, Row.systemOnly12, nil, nil,
            "In Apple's evaluator, not in the documents' list."),
        .init("suite-rsa-aes256-gcm-sha384", Row.upTo12, nil, Row.pass13, nil, "In every list."),
        .init("suite-rsa-aes128-gcm-sha256", Row.upTo12, nil, Row.pass13, nil, "In every list."),
        .init(
            "suite-rsa-aes256-cbc-sha384", Row.fail, Row.upTo12, Row.pass13, "ats.tls.no-common-suite",
            "Documented, and dropped from Apple's published evaluator."),
        .init(
            "suite-rsa-aes128-cbc-sha256", Row.fail, Row.upTo12, Row.pass13, "ats.tls.no-common-suite",
            "Documented, and dropped from Apple's published evaluator."),
        .init(
            "suite-rsa-aes256-cbc-sha", Row.upTo12, Row.systemOnly12, Row.pass13, nil,
            "Missing in the documents' list of eleven; in the evaluator's list of every era."),
        .init("suite-rsa-aes128-cbc-sha", Row.upTo12, nil, Row.pass13, nil, "In every list."),
        .init(
            "suite-rsa-chacha20", Row.upTo12, Row.systemOnly12, nil, nil,
            "In Apple's evaluator, not in the documents' list."),
        .init(
            "suite-static-aes256-gcm-sha384", Row.static12, nil, Row.static12of13, "ats.tls.no-forward-secrecy",
            "FS off adds it."),
        .init(
            "suite-static-aes128-gcm-sha256", Row.static12, nil, Row.static12of13, "ats.tls.no-forward-secrecy",
            "FS off adds it."),
        .init(
            "suite-static-aes256-cbc-sha256", Row.fail, Row.static12, Row.static12of13, "ats.tls.no-forward-secrecy",
            "Documented; four RSA suites are left in Apple's evaluator, without it, so FS off does not help."),
        .init(
            "suite-static-aes128-cbc-sha256", Row.fail, Row.static12, Row.static12of13, "ats.tls.no-forward-secrecy",
            "Documented; four RSA suites are left in Apple's evaluator, without it, so FS off does not help."),
        .init(
            "suite-static-aes256-cbc-sha", Row.static12, nil, Row.static12of13, "ats.tls.no-forward-secrecy",
            "FS off adds it."),
        .init(
            "suite-static-aes128-cbc-sha", Row.static12, nil, Row.static12of13, "ats.tls.no-forward-secrecy",
            "FS off adds it."),
        .init(
            "suite-dhe-aes128-gcm-sha256", Row.fail, nil, nil, "ats.tls.no-common-suite",
            "DHE is in no list; whether old systems had it outside ATS is open (fact sheet, section 12)."),
    ]

    static let keys: [ServerExpectation] = [
        .init(
            "key-rsa1024", Row.fail, nil, Row.smallKey13, "ats.trust.weak-key",
            "Plain trust wants 2048 bits since iOS 13 too."),
        .init("key-rsa3072", Row.pass, nil, Row.pass13, nil, "More than 2048 bits."),
        .init("key-p384", Row.pass, nil, Row.pass13, nil, "More than 256 bits."),
        .init(
            "key-p521", Row.fail, nil, Row.pass13, "ats.tls.no-common-signature",
            "In TLS 1.3 such a key signs only with ecdsa_secp521r1_sha512, which no capture since macOS 10.13 offers; in TLS 1.2 it may sign with SHA-256."
        ),
        .init(
            "intermediate-rsa1024", Row.fail, nil, Row.smallKey13, "ats.trust.weak-key",
            "Every certificate below the anchor is judged."),
        .init(
            "root-rsa1024", Row.unknown, nil, "U P UUU P P PPP PPP", "ats.trust.weak-key",
            "Sources contradict each other about the key of an installed root."),
        .init(
            "signature-sha1", Row.fail, nil, Row.plainTrustOnly13, "ats.trust.weak-signature",
            "Plain trust refuses SHA-1 since iOS 13 too."),
        .init(
            "signature-sha1-intermediate", Row.fail, nil, Row.plainTrustOnly13, "ats.trust.weak-signature",
            "Every certificate below the anchor is judged."),
        .init(
            "signature-md5", Row.fail, nil, nil, "ats.trust.weak-signature",
            "MD5 is refused; what plain trust of 2015 did is not in the sources."),
        .init("signature-sha384", Row.pass, nil, Row.pass13, nil, "More than 256 bits."),
    ]

    static let trust: [ServerExpectation] = [
        .init(
            "expired", Row.fail, nil, Row.fail13, "ats.trust.expired",
            "Dates count outside ATS too; no key admits it without code of the app."),
        .init("not-yet-valid", Row.fail, nil, Row.fail13, "ats.trust.not-yet-valid", "As above."),
        .init("self-signed", Row.fail, nil, Row.fail13, "ats.trust.self-signed", "As above (requirement A22)."),
        .init("unknown-root", Row.fail, nil, Row.fail13, "ats.trust.unknown-root", "As above."),
        .init("wrong-host", Row.fail, nil, Row.fail13, "ats.trust.wrong-host", "As above; golden G8."),
        .init(
            "common-name-only", Row.fail, nil, Row.pass13, "ats.trust.no-subject-alternative-name",
            "The common name counts no more since iOS 13."),
        .init(
            "ip-address", Row.pass, nil, "F P FFF F F FFF FFF", nil,
            "127.0.0.1 with an address in the SAN. OS X 10.11 blocks addresses, and only NSAllowsArbitraryLoads frees them (LOCAL; A12)."
        ),
        .init("timestamps-embedded", Row.pass, nil, Row.pass13, nil, "Certificate timestamps in the certificate."),
        .init(
            "timestamps-extension", Row.upTo12, nil, Row.pass13, nil,
            "Certificate timestamps in the handshake of TLS 1.2."),
        .init(
            "timestamps-empty", Row.fail, nil, Row.fail13, "ats.tls.handshake-failed",
            "A list without an entry in the handshake: CFNetwork ends it (F12)."),
        .init(
            "timestamps-malformed", Row.fail, nil, Row.fail13, "ats.tls.handshake-failed",
            "A list that cannot be read in the handshake: CFNetwork ends it (F12)."),
        .init(
            "timestamps-embedded-empty", Row.pass, nil, Row.pass13, nil,
            "A list without an entry in the certificate; below an installed root nothing asks for one."),
        .init(
            "timestamps-embedded-malformed", Row.pass, nil, Row.pass13, nil,
            "A list that cannot be read in the certificate; below an installed root nothing asks for one."),
        .init("staple-good", Row.pass, nil, Row.pass13, nil, "A stapled OCSP response that says good."),
        .init("staple-timestamps", Row.pass, nil, Row.pass13, nil, "The same with certificate timestamps in it."),
        .init(
            "staple-revoked", Row.fail, nil, Row.fail13, "ats.trust.revoked",
            "Signed by the issuer: no key of the dictionary makes a revoked certificate a good one."),
        .init("staple-revoked-12", Row.fail, nil, Row.fail13, "ats.trust.revoked", "The same in TLS 1.2."),
        .init(
            "staple-revoked-delegated", Row.fail, nil, Row.fail13, "ats.trust.revoked",
            "Signed by a responder that the issuer appointed for OCSPSigning."),
        .init(
            "staple-revoked-usurped", Row.pass, nil, Row.pass13, nil,
            "Signed by a server's certificate of the same issuer, which was not appointed: it says nothing."),
        .init(
            "staple-revoked-forged", Row.pass, nil, Row.pass13, nil,
            "Signed by a stranger under the name of the issuer: it says nothing."),
        .init("wildcard", Row.pass, nil, Row.pass13, nil, "*.example.com covers api.example.com."),
        .init(
            "wildcard-top-level", Row.fail, nil, Row.fail13, "ats.trust.wrong-host", "*.com does not cover two labels."),
        .init(
            "wildcard-top-level-beside", Row.pass, nil, Row.pass13, nil,
            "*.localhost beside the right name: a note, for one report says that such a certificate was refused (F11)."),
        .init(
            "sni-address-refused", Row.pass, nil, Row.fail13, nil,
            "An address as the name of the server is refused; systems before iOS 13 send it (F10)."),
        .init(
            "missing-intermediate", Row.fail, nil, Row.fail13, "ats.trust.missing-intermediate",
            "A leaf alone: an unknown root and a missing intermediate cannot be told apart; both are named, the likelier first."
        ),
        .init(
            "missing-intermediate-aia", Row.pass, nil, Row.pass13, nil,
            "Apple fetches it from the caIssuers address (fact sheet, section 12)."),
        .init("chain-with-root", Row.pass, nil, Row.pass13, nil, "A root that is sent along does no harm."),
        .init("chain-reordered", Row.pass, nil, Row.pass13, nil, "Order and strangers in the list do no harm."),
        .init(
            "expired-intermediate", Row.fail, nil, Row.fail13, "ats.trust.expired", "Dates of every certificate count."),
        .init(
            "intermediate-not-authority", Row.fail, nil, Row.fail13, "ats.trust.wrong-key-usage",
            "An issuer must be an authority (RFC 5280, 6.1.4 k)."),
        .init(
            "no-extended-key-usage", Row.pass, Row.fail, Row.pass13, nil,
            "An installed root needs no EKU below it under macos26; documents ask for one (fact sheet, section 12)."),
        .init(
            "client-key-usage", Row.fail, nil, Row.fail13, "ats.trust.wrong-key-usage",
            "An EKU that is there must name serverAuth."),
        .init(
            "any-key-usage", Row.pass, Row.fail, Row.pass13, nil,
            "Any purpose is enough below an installed root (SSLPolicyTests); documents ask for serverAuth itself."),
        .init("days-800", Row.pass, nil, Row.pass13, nil, "825 days for an installed root; 398 hold for the system's."),
        .init(
            "days-1000", Row.fail, nil, Row.pass13, "ats.trust.validity-too-long",
            "825 days, outside ATS too (fact sheet, section 10)."),
    ]

    static let clients: [ServerExpectation] = [
        .init("client-certificate-wanted", Row.pass, nil, Row.pass13, nil, "The server asks and does not insist."),
        .init(
            "client-certificate-wanted-403", Row.fail, nil, Row.fail13, "ats.tls.client-certificate-required",
            "The server asks, goes on without one and answers 403: CFNetwork makes -1206 of it (F3)."),
        .init(
            "client-certificate-demanded", Row.fail, nil, Row.fail13, "ats.tls.client-certificate-required",
            "TLS 1.2: the alert comes after an empty Certificate. A floor of 1.3 fails before."),
        .init(
            "client-certificate-demanded-13", Row.fail, nil, Row.fail13, "ats.tls.client-certificate-required",
            "TLS 1.3: the alert comes after the client's Finished."),
    ]

    static let sockets: [ServerExpectation] = [
        .init("plain-http", Row.unknown, nil, Row.unknown13, "ats.net.not-tls", "HTTP answers where TLS was asked."),
        .init("silent", Row.unknown, nil, Row.unknown13, "ats.net.timeout", "A timeout is never a no."),
        .init(
            "large-hello-reset", Row.fail, nil, Row.pass13, "ats.tls.large-hello",
            "Only a hello without X25519MLKEM768 is answered; no key of a dictionary makes the system's hello smaller."),
        .init(
            "large-hello-silent", Row.fail, nil, Row.pass13, "ats.tls.large-hello", "The same with silence for a reset."
        ),
        .init("half-record", Row.unknown, nil, Row.unknown13, "ats.net.timeout", "A ServerHello that never ends."),
        .init("closing", Row.unknown, nil, Row.unknown13, "ats.net.closed", "Closed at once."),
        .init("closing-after-hello", Row.unknown, nil, Row.unknown13, "ats.net.closed", "Closed without an alert."),
        .init("resetting", Row.unknown, nil, Row.unknown13, "ats.net.reset", "RST after the hello."),
        .init("refused", Row.unknown, nil, Row.unknown13, "ats.net.refused", "Nobody listens."),
        .init("garbage", Row.unknown, nil, Row.unknown13, "ats.net.not-tls", "Bytes that are no record."),
        .init("ssh-banner", Row.unknown, nil, Row.unknown13, "ats.net.not-tls", "Another protocol."),
        .init("smtp-banner", Row.unknown, nil, Row.unknown13, "ats.net.not-tls", "Another protocol."),
        .init(
            "alert-handshake-failure", Row.fail, nil, Row.fail13, "ats.tls.no-common-suite", "An alert is an answer."),
        .init(
            "alert-bad-certificate", Row.fail, nil, Row.fail13, "ats.tls.handshake-failed",
            "The server refuses a certificate that it never asked for."),
        .init("alert-internal-error", Row.fail, nil, Row.fail13, "ats.tls.handshake-failed", "An alert is an answer."),
        .init(
            "alert-unrecognized-name", Row.fail, nil, Row.fail13, "ats.tls.handshake-failed", "An alert is an answer."),
    ]

    static let answers: [ServerExpectation] = [
        .init("status-404", Row.pass, nil, Row.pass13, nil, "A status is never a failure."),
        .init("status-500", Row.pass, nil, Row.pass13, nil, "A status is never a failure."),
        .init("http2", Row.pass, nil, Row.pass13, nil, "HTTP/2 by ALPN."),
        .init("http2-only", Row.pass, nil, Row.pass13, nil, "HTTP/1.1 would get no answer."),
        .init("no-answer", Row.unknown, nil, Row.unknown13, "ats.http.no-answer", "TLS is fine and no HTTP comes."),
        .init("redirect-relative", Row.pass, nil, Row.pass13, nil, "The same host."),
        .init(
            "redirect-http-same-host", "F P FFFF F P FFFF PPPP", nil, "F P FFF F P FFF PPP",
            "ats.http.redirect-blocked", "Cleartext needs insecure HTTP for the host."),
        .init(
            "redirect-http-other-host", "F P FFFF F F FFFF FFFF", nil, "F P FFF F F FFF FFF",
            "ats.http.redirect-blocked", "An exception for one host is none for another: golden G2."),
        .init("redirect-https", Row.pass, nil, Row.pass13, nil, "The other host complies too."),
        .init(
            "redirect-https-old", Row.fail, "F P FFFF F F FFFF FFFF", "F P FFF F F FFF FFF", "ats.tls.version-too-low",
            "The other host has TLS 1.0 alone, and no exception.", linkedOn18: "F P FFFF F F FFFF FFFF"),
        .init(
            "redirect-https-expired", Row.fail, nil, Row.fail13, "ats.trust.expired",
            "The other host's certificate is expired."),
        .init("redirect-loop", Row.fail, nil, Row.fail13, "ats.http.redirect-loop", "A loop is a failure of the load."),
        .init(
            "redirect-loop-of-two", Row.fail, nil, Row.fail13, "ats.http.redirect-loop",
            "A loop is a failure of the load."),
        .init(
            "redirect-loop-cookie", Row.unknown, nil, Row.unknown13, "ats.http.redirect-needs-cookie",
            "A client that sends the cookie back may get through."),
        .init(
            "redirect-endless", Row.fail, nil, Row.fail13, "ats.http.redirect-loop",
            "More redirects than a loader follows."),
        .init(
            "redirect-refused", Row.unknown, nil, Row.unknown13, "ats.net.refused",
            "Nobody listens where the redirect leads."),
    ]
}

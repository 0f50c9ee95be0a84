// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// Why a load is blocked, refused or unanswered: what each cause means, who acts, and what they do.
///
/// A new cause is one row here and its name in `Codes.swift`: text, HTML, JSON, the proxy, lint's draft, `ats log` and `sealward explain` read this table.
package struct CauseTable: Sendable {
    /// The part of a load that a cause ends.
    package enum Stage: Sendable {
        /// The policy, before anything is sent.
        case policy
        /// Resolving and connecting, until the first byte of TLS comes back.
        case network
        /// The TLS handshake: versions, suites, groups, signatures.
        case handshake
        /// The certificate chain and its timestamps.
        case trust
        /// HTTP, after TLS was completed.
        case http
        /// The proxy in between refuses.
        case proxy
    }

    /// A cause and what to do about it, whatever the situation.
    package struct Row: Sendable {
        package let stage: Stage
        /// What the code means, who acts, and what they do.
        package let explanation: CodeExplanation
        /// The same for whoever runs the server or writes the dictionary.
        package let remediation: Remediation

        package init(
            _ code: Code, at stage: Stage, _ meaning: String, _ actor: CodeExplanation.Actor, _ action: String,
            setting: ServerSetting? = nil, exception: Remediation.ExceptionKey? = nil
        ) {
            self.stage = stage
            explanation = CodeExplanation(code, meaning, actor, action)
            remediation = Remediation(action, setting: setting, exception: exception)
        }
    }

    package let rows: [Row]
    private let byCode: [Code: Row]

    /// - Parameter rows: at most one for each code; the first counts.
    package init(_ rows: [Row]) {
        self.rows = rows
        byCode = Dictionary(rows.map { ($0.explanation.code, $0) }, uniquingKeysWith: { first, _ in first })
    }

    package subscript(code: Code) -> Row? { byCode[code] }

    /// The table in use. Tests put one with more causes in its place.
    @TaskLocal package static var current = CauseTable(known)

    /// Two public consoles and more threads: a connection that is cut in the handshake is rarely cut by the server.
    private static let between = "check what is in between first (VPN, proxy, firewall), then the server's log"

    private static let known: [Row] = [
        Row(
            .cleartextBlocked, at: .policy, "a cleartext URL, and the policy requires TLS for its host", .server,
            "serve https", exception: .insecureHTTPLoads),
        Row(
            .localBlocked, at: .policy, "the system blocks loads to addresses and local names", .developer,
            "load https by a full host name; or name a local name in NSExceptionDomains, or set NSAllowsArbitraryLoads for an address, "
                + "as iOS 9 does not support NSAllowsLocalNetworking"
        ),
        Row(
            .tlsVersionTooLow, at: .handshake,
            "no common version: the server negotiates one older than allowed, or supports only versions newer than the system does",
            .server, "enable TLS 1.2 or 1.3 on the server", setting: .versions, exception: .minimumTLSVersion),
        Row(
            .tlsNoCommonSuite, at: .handshake, "the server negotiates or requires a suite that is not offered", .server,
            "enable ECDHE suites with AES-GCM on the server", setting: .suites),
        Row(
            .tlsNoForwardSecrecy, at: .handshake, "the server uses RSA key exchange, but forward secrecy is required",
            .server, "enable ECDHE suites on the server, for example ECDHE-RSA-AES128-GCM-SHA256", setting: .suites,
            exception: .forwardSecrecy),
        Row(
            .tlsNoCommonSignature, at: .handshake,
            "the server signs the handshake only with algorithms that are not offered, because of its key or a setting",
            .server,
            "get a certificate with a plain RSA key of at least 2048 bits or a P-256 key: the algorithm that the current key signs with is not offered",
            setting: .certificate),
        Row(
            .tlsNoCommonGroup, at: .handshake, "no common key-exchange group", .server,
            "enable X25519 or P-256 on the server", setting: .groups),
        Row(
            .tlsHandshakeFailed, at: .handshake,
            "the handshake failed for another reason: an alert, a broken message, a signature that does not match",
            .server, "check the server's TLS log"),
        Row(
            .tlsLargeHello, at: .handshake,
            "only a smaller ClientHello is answered: the server, or something in between, fails if the ClientHello arrives in two TCP segments",
            .server,
            "update what reads the ClientHello first, often a load balancer or firewall: it may arrive in several TCP segments; the "
                + "server itself does not need to support X25519MLKEM768 (tldr.fail)"),
        Row(
            .tlsNoExtendedMasterSecret, at: .handshake,
            "FCP_v2.1 is required, but TLS 1.2 was negotiated without the extended master secret", .server,
            "run the server with a TLS library that supports the extended master secret (OpenSSL 1.1.0 or later), or enable TLS 1.3",
            setting: .extendedMasterSecret),
        Row(
            .tlsClientCertificateRequired, at: .handshake, "the server demands a client certificate", .developer,
            "give the app a client certificate, or make it optional on the server", setting: .clientCertificate),
        Row(
            .trustUnknownRoot, at: .trust, "the chain ends in a root that is not in any trust store", .server,
            "use a certificate from a public CA, or install the root on the devices", setting: .certificate,
            exception: .insecureHTTPLoadsWithDelegate),
        Row(
            .trustSelfSigned, at: .trust, "the leaf is self-signed", .server, "use a certificate from a public CA",
            setting: .certificate, exception: .insecureHTTPLoadsWithDelegate),
        Row(
            .trustMissingIntermediate, at: .trust, "the server did not send the certificate that issued its leaf",
            .server, "send the intermediate certificate after the leaf", setting: .certificate,
            exception: .insecureHTTPLoadsWithDelegate),
        Row(
            .trustExpired, at: .trust, "a certificate has expired", .server, "renew the certificate",
            setting: .certificate, exception: .insecureHTTPLoadsWithDelegate),
        Row(
            .trustNotYetValid, at: .trust, "a certificate is not valid yet", .server,
            "check the clocks, or wait until the certificate is valid", setting: .certificate,
            exception: .insecureHTTPLoadsWithDelegate),
        Row(
            .trustWrongHost, at: .trust, "the certificate names other hosts", .server,
            "get a certificate that names this host", setting: .certificate, exception: .insecureHTTPLoadsWithDelegate),
        Row(
            .trustNoSubjectAlternativeName, at: .trust,
            "the certificate names the host only as its common name, or not at all", .server,
            "get a certificate with the host as subject alternative name", setting: .certificate,
            exception: .insecureHTTPLoadsWithDelegate),
        Row(
            .trustWeakKey, at: .trust,
            "an RSA key under 2048 bits, a curve under 256 bits or one that TLS does not support; the root's key counts too",
            .server, "get a certificate with an RSA key of at least 2048 bits or a P-256 key", setting: .certificate,
            exception: .insecureHTTPLoadsWithDelegate),
        Row(
            .trustWeakSignature, at: .trust,
            "a certificate signed with a hash weaker than SHA-256 or, under FCP_v2.1, with an algorithm that the ClientHello does not offer",
            .server, "get a certificate that is signed with SHA-256 or stronger", setting: .certificate,
            exception: .insecureHTTPLoadsWithDelegate),
        Row(
            .trustValidityTooLong, at: .trust, "the leaf is valid for more days than allowed", .server,
            "get a certificate that is valid for a shorter time", setting: .certificate,
            exception: .insecureHTTPLoadsWithDelegate),
        Row(
            .trustWrongKeyUsage, at: .trust, "the certificate's purpose or its place in the path is wrong", .server,
            "get a certificate for server authentication", setting: .certificate,
            exception: .insecureHTTPLoadsWithDelegate),
        Row(
            .trustNameConstraints, at: .trust, "a name in the path is outside what a CA above it may issue for",
            .server, "get a certificate from a CA that may issue for all names in it", setting: .certificate,
            exception: .insecureHTTPLoadsWithDelegate),
        Row(
            .trustIssuance, at: .trust,
            "`ats certificate` only: no CA may issue such a certificate, although trust evaluation accepts it", .server,
            "have the CA reissue the certificate without the fault", setting: .certificate),
        Row(
            .trustRevoked, at: .trust, "the certificate is revoked", .server, "replace the certificate",
            setting: .certificate),
        Row(
            .trustNeedsDelegate, at: .trust,
            "the dictionary permits app code to accept this certificate; without it the load fails", .developer,
            "accept the certificate in the app's delegate (urlSession(_:didReceive:completionHandler:)), or get one that trust evaluation accepts",
            setting: .certificate,
            exception: .insecureHTTPLoadsWithDelegate),
        Row(
            .trustPinMismatch, at: .trust, "no pinned key in the chain", .developer,
            "update the app's pins, or use the pinned key"),
        Row(
            .trustRefusedByDelegate, at: .trust, "the app's own check refused the certificate", .developer,
            "check what the load's delegate compares"),
        Row(
            .ctMissing, at: .trust,
            "too few signed certificate timestamps that verify, from known logs and enough operators", .server,
            "get a certificate with signed certificate timestamps", exception: .insecureHTTPLoadsWithDelegate),
        Row(
            .httpRedirectBlocked, at: .http, "a redirect to a URL that the policy blocks", .server, "redirect to https",
            exception: .insecureHTTPLoads),
        Row(.httpRedirectLoop, at: .http, "too many redirects", .server, "fix the redirect loop on the server"),
        Row(
            .httpRedirectNeedsCookie, at: .http,
            "redirects that may end only for a client that sends back the cookie that was set on the way", .author,
            "check the URL that the redirects lead to with the cookie"),
        Row(
            .httpNoAnswer, at: .http, "the TLS handshake completed, but no HTTP response came", .server,
            "check the server's HTTP log"),
        Row(
            .httpAnswerTooLarge, at: .http, "the response is larger than the caller allows", .developer,
            "raise the limit of the load, or request less"),
        Row(
            .httpIncompleteAnswer, at: .http, "the response ended before its announced length", .server,
            "find what closes the connection early: a crash, a proxy timeout, a wrong Content-Length"),
        Row(
            .httpRequestBody, at: .http,
            "the request body could not be sent: a second time, with a length other than announced, or with a method that takes no body",
            .developer, "provide a body that can be sent again, with its exact length"),
        Row(
            .netRefused, at: .network, "nothing is listening, or the host cannot be reached", .server,
            "start the server, or check the port and the firewall"),
        Row(
            .netTimeout, at: .network, "no answer in time; this says nothing about what the server supports", .network,
            "check the network and the firewall, or raise --connect-timeout"),
        Row(
            .netReset, at: .network, "the connection was reset", .network,
            "\(between): something resets the connection"),
        Row(
            .netClosed, at: .network, "the connection was closed without an answer", .network,
            "\(between): something closes the connection after the ClientHello"),
        Row(.netNotTLS, at: .network, "the answer is not TLS", .server, "check the port: it does not speak TLS"),
        Row(
            .netDNS, at: .network, "the name cannot be resolved by the machine that asks", .server,
            "check the name, and whether the resolver of this machine knows it: sealward asks that one, never another proxy"
        ),
        Row(
            .proxyNameMismatch, at: .proxy,
            "the ClientHello in a tunnel names a different host than the tunnel was opened to", .developer,
            "open the tunnel to the host that the ClientHello names: only the host of CONNECT was judged"),
        Row(
            .proxyForbiddenAddress, at: .proxy,
            "the proxy does not connect to itself, link-local addresses or metadata services, nor from other machines to private ones",
            .nobody,
            "connect to such an address without the proxy"),
    ]
}

extension Cause {
    /// The part of the load that it ends; nil for rules and notes, which end none.
    package var stage: CauseTable.Stage? { CauseTable.current[code]?.stage }
}

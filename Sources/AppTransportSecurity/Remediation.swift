// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Findings

/// What to do about a cause: on the server first, in the app's dictionary second.
///
/// The one table from cause to remedy: text, HTML, the proxy and the load reports all read it.
package struct Remediation: Sendable {
    /// A key of the host's entry in NSExceptionDomains that lifts the requirement.
    package enum ExceptionKey: Sendable {
        /// NSExceptionMinimumTLSVersion, at the version that the server negotiates.
        case minimumTLSVersion
        /// NSExceptionRequiresForwardSecrecy = NO.
        case forwardSecrecy
        /// NSExceptionAllowsInsecureHTTPLoads = YES.
        case insecureHTTPLoads
        /// The same, and code of the app that accepts the certificate: the key alone only permits that.
        case insecureHTTPLoadsWithDelegate
    }

    /// What to do on the server, as an instruction without a full stop.
    package let server: String
    /// Lines of an nginx `server` block; a line that begins with `#` says what no setting can do.
    package let nginx: [String]
    /// The key that allows the load as it is; nil if no key helps.
    package let exceptionKey: ExceptionKey?

    private init(_ server: String, nginx: String..., exception: ExceptionKey? = nil) {
        self.server = server
        self.nginx = nginx
        exceptionKey = exception
    }

    /// What to do about a cause; nil for causes that nothing can be done about from here.
    package init?(for cause: Cause) {
        let special = cause.situation.flatMap { Situation(rawValue: $0) }.flatMap { Remediation.special[$0] }
        guard let known = special ?? Remediation.table[cause.code] else { return nil }
        self = known
    }

    /// Situations that need another fix than the others with the same code.
    package enum Situation: String, Sendable, CaseIterable {
        /// The server speaks newer versions than the system.
        case serverTooNew = "server-too-new"
        /// The key of an intermediate is weak.
        case weakIntermediate = "weak-intermediate"
        /// The key of the root is weak.
        case weakRoot = "weak-root"
        /// An intermediate or root was signed with a weak hash.
        case weaklySignedIssuer = "weakly-signed-issuer"
        /// Too many intermediates.
        case pathLength = "path-length"
        /// An issuer that is no authority.
        case notAnAuthority = "not-an-authority"
        /// A certificate that breaks the profile by itself.
        case oddCertificate = "odd-certificate"
        /// An intermediate that may not issue for servers.
        case issuerPurpose = "issuer-purpose"
        /// A signature of the chain does not verify.
        case badSignature = "bad-signature"
        /// A signature of the chain is of a kind that cannot be checked.
        case uncheckedSignature = "unchecked-signature"
        /// The leaf's key is on a curve that no system offers, so that no handshake comes about.
        case foreignCurve = "foreign-curve"
        /// The certificate is signed with an algorithm that FCP_v2.1 does not offer.
        case unofferedSignature = "unoffered-signature"
        /// An intermediate or the root is out of its dates.
        case issuerDates = "issuer-dates"
    }

    private static let modernVersions = "ssl_protocols TLSv1.2 TLSv1.3;"
    private static let modernSuites =
        "ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
        + "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305;"
    private static let renew = "# Renew the certificate; no setting helps."
    private static let nameTheHost = "# Get a certificate with the host among its subject alternative names."
    private static let strongKey =
        "# Get a certificate with an RSA key of at least 2048 bits or an EC key of at least 256 bits, signed with SHA-256 or stronger."
    private static let strongIssuers =
        "# Get a certificate from an authority with strong keys and signatures; no setting helps."
    private static let publicCA = "# Get a certificate from a publicly trusted CA."

    private static let special: [Situation: Remediation] = [
        .serverTooNew: .init("enable TLS 1.2 on the server beside TLS 1.3", nginx: modernVersions),
        .weakIntermediate: .init(
            "get a certificate from an authority whose intermediates have RSA keys of at least 2048 bits or P-256, P-384 or P-521 keys",
            nginx: strongIssuers,
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .weakRoot: .init(
            "get a certificate below a root with an RSA key of at least 2048 bits or a P-256, P-384 or P-521 key",
            nginx: strongIssuers,
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .weaklySignedIssuer: .init(
            "send an intermediate that is signed with SHA-256 or stronger; the authority has one in place of the old one",
            nginx: strongIssuers,
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .pathLength: .init(
            "send a chain with fewer intermediates: an authority above allows only so many below it (pathLenConstraint), "
                + "so let it issue the leaf itself or raise that limit",
            nginx: "# No setting helps: the authority must issue the certificate within its path length.",
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .notAnAuthority: .init(
            "let an authority issue the certificate: only one with CA:TRUE in basicConstraints and keyCertSign in its key usage may",
            nginx: "# No setting helps: a certificate that is no authority issued another one.",
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .oddCertificate: .init(
            "let the authority issue the certificate anew, without what clients do not know",
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .issuerPurpose: .init(
            "get a certificate from an intermediate that may issue for servers (extended key usage)",
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .badSignature: .init(
            "send the certificate of the authority that signed this one, or let it be issued anew: the signature does not verify",
            nginx: "ssl_certificate /etc/ssl/fullchain.pem;    # leaf first, then every intermediate",
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .uncheckedSignature: .init(
            "get a certificate that is signed with RSA or ECDSA and SHA-256 or stronger",
            nginx: strongKey,
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .foreignCurve: .init(
            "get a certificate with an RSA key of at least 2048 bits or a P-256 key",
            nginx: strongKey
        ),
        .unofferedSignature: .init(
            "get a certificate that its authority signs with RSA, or with ECDSA and SHA-256 or SHA-384",
            nginx: "# Get a certificate that is signed with RSA, or with ECDSA and SHA-256 or SHA-384."
        ),
        .issuerDates: .init(
            "send the authority's present intermediate; the leaf need not be renewed if its key is still the same",
            nginx: "ssl_certificate /etc/ssl/fullchain.pem;    # leaf first, then every intermediate",
            exception: .insecureHTTPLoadsWithDelegate
        ),
    ]

    private static let table: [Code: Remediation] = [
        .tlsVersionTooLow: .init(
            "enable TLS 1.2 or 1.3 on the server",
            nginx: modernVersions,
            exception: .minimumTLSVersion
        ),
        .tlsNoForwardSecrecy: .init(
            "enable ECDHE suites on the server, for example ECDHE-RSA-AES128-GCM-SHA256",
            nginx: modernVersions,
            modernSuites,
            exception: .forwardSecrecy
        ),
        .tlsNoCommonSuite: .init(
            "enable ECDHE suites with AES-GCM on the server",
            nginx: modernVersions,
            modernSuites
        ),
        .tlsNoCommonSignature: .init(
            "get a certificate with a plain RSA key of at least 2048 bits or a P-256 key: what the present key signs with is not offered",
            nginx: "# Get a certificate with a plain RSA key of at least 2048 bits or a P-256 key; no setting helps."
        ),
        .tlsNoCommonGroup: .init(
            "enable X25519 or P-256 on the server",
            nginx: "ssl_ecdh_curve X25519:prime256v1:secp384r1;"
        ),
        .tlsHandshakeFailed: .init("check the server's TLS log"),
        .tlsNoExtendedMasterSecret: .init(
            "run the server with a TLS library that has the extended master secret (OpenSSL 1.1.0 or later), or enable TLS 1.3",
            nginx: "# Run nginx with OpenSSL 1.1.1 or later; no setting of older ones helps."
        ),
        .tlsLargeHello: .init(
            "update what reads the hello first, often a load balancer or firewall: a ClientHello may come in several TCP segments; the "
                + "server itself need not know X25519MLKEM768 (tldr.fail)",
            nginx: "# No setting helps: nginx reads such hellos; look at what stands before it."
        ),
        .tlsClientCertificateRequired: .init(
            "give the app a client certificate, or make it optional on the server",
            nginx: "ssl_verify_client optional;"
        ),
        .trustUnknownRoot: .init(
            "use a certificate from a public CA, or install the root on the devices",
            nginx: publicCA,
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .trustSelfSigned: .init(
            "use a certificate from a public CA",
            nginx: publicCA,
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .trustMissingIntermediate: .init(
            "send the intermediate certificate after the leaf",
            nginx: "ssl_certificate /etc/ssl/fullchain.pem;    # leaf first, then every intermediate",
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .trustExpired: .init(
            "renew the certificate",
            nginx: renew,
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .trustNotYetValid: .init(
            "check the clocks, or wait until the certificate is valid",
            nginx: renew,
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .trustWrongHost: .init(
            "get a certificate that names this host",
            nginx: nameTheHost,
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .trustNoSubjectAlternativeName: .init(
            "get a certificate with the host as subject alternative name",
            nginx: nameTheHost,
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .trustWeakKey: .init(
            "get a certificate with an RSA key of at least 2048 bits or a P-256 key",
            nginx: strongKey,
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .trustWeakSignature: .init(
            "get a certificate that is signed with SHA-256 or stronger",
            nginx: strongKey,
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .trustValidityTooLong: .init(
            "get a certificate that is valid for a shorter time",
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .trustWrongKeyUsage: .init(
            "get a certificate for server authentication",
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .trustNameConstraints: .init(
            "get a certificate from an authority that may issue for all names in it",
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .trustIssuance: .init("let the authority issue the certificate anew, without the fault"),
        .trustNeedsDelegate: .init(
            "get a certificate that trust evaluation accepts",
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .trustRevoked: .init("replace the certificate"),
        .trustPinMismatch: .init("update the app's pins, or use the pinned key"),
        .ctMissing: .init(
            "get a certificate with signed certificate timestamps",
            exception: .insecureHTTPLoadsWithDelegate
        ),
        .cleartextBlocked: .init(
            "serve https",
            nginx: "# server { listen 80; return 301 https://$host$request_uri; }",
            exception: .insecureHTTPLoads
        ),
        .httpRedirectBlocked: .init(
            "redirect to https",
            nginx: "# Redirect to https:// addresses only.",
            exception: .insecureHTTPLoads
        ),
        .httpRedirectLoop: .init("fix the redirect loop on the server"),
        .httpNoAnswer: .init("check the server's HTTP log"),
        .netRefused: .init("start the server, or check the port and the firewall"),
        .netTimeout: .init("check the network and the firewall, or raise --connect-timeout"),
        .netReset: .init("check the firewall or proxy in between: it resets the connection"),
        .netClosed: .init("check the server's log: it closes the connection after the ClientHello"),
        .netNotTLS: .init("check the port: it does not speak TLS"),
        .netDNS: .init("check the name"),
    ]
}

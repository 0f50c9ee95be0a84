// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// What to do about a cause: on the server first, in the app's dictionary second.
///
/// The rows of ``CauseTable`` have them, and here stand those of situations that need another fix than the rest of their code.
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
    /// The setting of the server that this is about; nil if no setting helps.
    package let setting: ServerSetting?
    /// The key that allows the load as it is; nil if no key helps.
    package let exceptionKey: ExceptionKey?

    init(_ server: String, setting: ServerSetting? = nil, exception: ExceptionKey? = nil) {
        self.server = server
        self.setting = setting
        exceptionKey = exception
    }

    /// What to do about a cause; nil for causes that nothing can be done about from here.
    package init?(for cause: Cause) {
        let special = cause.situation.flatMap { Situation(rawValue: $0) }.flatMap { Remediation.special[$0] }
        guard let known = special ?? CauseTable.current[cause.code]?.remediation else { return nil }
        self = known
    }

    /// What to do about a code of which no more is known than the host.
    package init?(for code: Code, at host: String?) {
        let isPrivate = AppTrust.missingRoots.contains(code) && host.map(LocalHosts.hasNoPublicCA) == true
        self.init(for: Cause(code, "", situation: isPrivate ? Situation.privateHost.rawValue : nil))
    }

    /// Situations that need another fix than the others with the same code.
    package enum Situation: String, Sendable, CaseIterable {
        /// The server speaks newer versions than the system.
        case serverTooNew = "server-too-new"
        case weakIntermediate = "weak-intermediate"
        case weakRoot = "weak-root"
        /// The key of an installed root is weak, and sources contradict each other about whether that counts.
        case disputedRoot = "disputed-root"
        /// An intermediate or root was signed with a weak hash.
        case weaklySignedIssuer = "weakly-signed-issuer"
        case pathLength = "path-length"
        case notAnAuthority = "not-an-authority"
        /// A certificate that breaks the profile by itself.
        case oddCertificate = "odd-certificate"
        /// An intermediate that may not issue for servers.
        case issuerPurpose = "issuer-purpose"
        case badSignature = "bad-signature"
        /// A signature of the chain is of a kind that cannot be checked.
        case uncheckedSignature = "unchecked-signature"
        /// The leaf's key is on a curve that no system offers, so that no handshake comes about.
        case foreignCurve = "foreign-curve"
        /// The key of a certificate that no server has yet signs in TLS 1.3 only with what is not offered.
        case modernKey = "modern-key"
        /// The certificate is signed with an algorithm that FCP_v2.1 does not offer.
        case unofferedSignature = "unoffered-signature"
        /// The server's key could sign with what is offered, and a setting of the server excludes that.
        case signatureSetting = "signature-setting"
        /// Sources contradict each other about whether the rule is applied.
        case disputed
        /// The list of timestamps in the handshake is empty or malformed.
        case timestampList = "timestamp-list"
        /// The server asks for a client certificate, and answers 403 without one.
        case certificateWanted = "certificate-wanted"
        /// An intermediate or the root is out of its dates.
        case issuerDates = "issuer-dates"
        /// The first systems block an address or a local name whatever the server speaks.
        case localHost = "local-host"
        /// The server refuses a hello that names an address as the server.
        case addressAsName = "address-as-name"
        /// The server ends the handshake for a reason of its own.
        case serverFault = "server-fault"
        /// The server knows no certificate for the name in the hello.
        case unknownName = "unknown-name"
        /// The server wants a name in the hello, and the host is an address.
        case namelessHello = "nameless-hello"
        /// A host without a usable pin, which is blocked over https as well.
        case unusablePins = "unusable-pins"
        /// The same, where nothing else is wrong.
        case emptyPins = "empty-pins"
        /// The dictionary asks for TLS 1.3, and the server speaks 1.2.
        case belowTLS13 = "below-tls13"
        /// The dictionary asks for TLS 1.3 of a system on which no load with that minimum succeeds.
        case unsupportedMinimum = "unsupported-minimum"
        /// No public CA issues for the host.
        case privateHost = "private-host"
        /// A WebSocket without TLS.
        case webSocket = "web-socket"
        /// One to a host that is local.
        case localWebSocket = "local-web-socket"
        /// One to a host without a usable pin.
        case webSocketPins = "web-socket-pins"
    }

    private static let special: [Situation: Remediation] = [
        .serverTooNew: .init("enable TLS 1.2 on the server in addition to TLS 1.3", setting: .versions),
        .weakIntermediate: .init(
            "get a certificate from a CA whose intermediates have RSA keys of at least 2048 bits or P-256, P-384 or P-521 keys",
            setting: .certificate, exception: .insecureHTTPLoadsWithDelegate),
        .weakRoot: .init(
            "get a certificate that chains to a root with an RSA key of at least 2048 bits or a P-256, P-384 or P-521 key",
            setting: .certificate, exception: .insecureHTTPLoadsWithDelegate),
        .disputedRoot: .init(
            "make a new root with an RSA key of at least 2048 bits or a P-256 key, install it, and issue the certificates below it",
            setting: .certificate),
        .weaklySignedIssuer: .init(
            "send an intermediate that is signed with SHA-256 or stronger; the CA has one that replaces the old one",
            setting: .certificate, exception: .insecureHTTPLoadsWithDelegate),
        .pathLength: .init(
            "send a chain with fewer intermediates: a CA in the chain limits how many may follow it (pathLenConstraint); "
                + "have it issue the leaf itself or raise that limit", setting: .certificate,
            exception: .insecureHTTPLoadsWithDelegate),
        .notAnAuthority: .init(
            "have a CA issue the certificate: only one with CA:TRUE in basicConstraints and keyCertSign in its key usage may",
            setting: .certificate, exception: .insecureHTTPLoadsWithDelegate),
        .oddCertificate: .init(
            "have the CA reissue the certificate without what clients do not support", setting: .certificate,
            exception: .insecureHTTPLoadsWithDelegate),
        .issuerPurpose: .init(
            "get a certificate from an intermediate that may issue for servers (extended key usage)",
            setting: .certificate, exception: .insecureHTTPLoadsWithDelegate),
        .badSignature: .init(
            "send the certificate of the CA that signed this one, or have this one reissued: the signature does not verify",
            setting: .certificate, exception: .insecureHTTPLoadsWithDelegate),
        .uncheckedSignature: .init(
            "get a certificate that is signed with RSA or ECDSA and SHA-256 or stronger", setting: .certificate,
            exception: .insecureHTTPLoadsWithDelegate),
        .foreignCurve: .init(
            "get a certificate with an RSA key of at least 2048 bits or a P-256 key", setting: .certificate),
        .unofferedSignature: .init(
            "get a certificate that its CA signs with RSA, or with ECDSA and SHA-256 or SHA-384", setting: .certificate),
        .signatureSetting: .init(
            "let the server sign the handshake with SHA-256 or SHA-384, as its key can: its signature-algorithm setting excludes both",
            setting: .signatureAlgorithms),
        .timestampList: .init(
            "turn the server's list of timestamps off (nginx: ssl_ct off), or fill it with those that the CA's logs gave for this certificate"
        ),
        .certificateWanted: .init(
            "give the app a client certificate, or do not ask for one at all where the app loads: the server asks, and answers 403 without it",
            setting: .clientCertificate),
        .issuerDates: .init(
            "send the CA's current intermediate; the leaf needs no renewal if the key of the intermediate is unchanged",
            setting: .certificate, exception: .insecureHTTPLoadsWithDelegate),
        .localHost: .byFullName("https"),
        .localWebSocket: .byFullName("wss"),
        .addressAsName: .init("let the server ignore a server_name that is an address, or load by a host name"),
        .serverFault: .init("look in the server's log at that time: the app can do nothing about it"),
        .unknownName: .init(
            "configure the site and its certificate for this host on the server, or load the name that it has"),
        .namelessHello: .init("load by a host name, or give the server a certificate for hellos without one"),
        .unusablePins: .withUsablePin("https"),
        .webSocketPins: .withUsablePin("wss"),
        .emptyPins: .init(
            "write a usable pin into the host's list in NSPinnedDomains, as 'sealward ats pins HOST' does, or remove the list"
        ),
        .belowTLS13: .init(
            "enable TLS 1.3 on the server, since the dictionary asks for it", setting: .versions,
            exception: .minimumTLSVersion),
        .unsupportedMinimum: .init(
            "write TLSv1.2 as NSExceptionMinimumTLSVersion as long as the app supports this system",
            exception: .minimumTLSVersion),
        .privateHost: .init(
            "issue the certificate from a CA of your own and install its root on the devices: no public CA issues for this host",
            setting: .certificate, exception: .insecureHTTPLoadsWithDelegate),
        .webSocket: .init("serve wss", exception: .insecureHTTPLoads),
    ]

    private static func byFullName(_ scheme: String) -> Remediation {
        .init("load \(scheme) by a full host name: not an address, a name without a dot or one below .local")
    }

    private static func withUsablePin(_ scheme: String) -> Remediation {
        .init("serve \(scheme), and give the host a usable pin in NSPinnedDomains, where it has none")
    }
}

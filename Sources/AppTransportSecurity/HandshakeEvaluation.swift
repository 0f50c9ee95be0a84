// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel
package import Vocabulary

/// Version, suite, key exchange and proof of possession.
enum HandshakeEvaluation {
    /// - Parameter leaf: how the server's certificate is signed, if it is known.
    static func causes(
        _ requirements: TransportRequirements, _ handshake: HandshakeObservation, leaf: SignatureFacts?
    ) -> [Cause] {
        var causes =
            [minimumCause(requirements), versionCause(requirements, handshake.version)].compactMap(\.self)
            + suiteCauses(requirements, handshake.suite)
        if let group = handshake.group, !requirements.groups.contains(group) {
            causes.append(
                Cause(
                    .tlsNoCommonGroup,
                    "The key exchange uses \(group), which \(requirements.profile.name) does not offer."))
        }
        if case .refuted = handshake.keyPossession {
            causes.append(
                Cause(.tlsHandshakeFailed, "The server's signature over the handshake does not match its certificate."))
        }
        if let fault = SignedTimestamp.fault(ofList: handshake.timestamps) {
            causes.append(
                Cause(
                    .tlsHandshakeFailed,
                    "The list of certificate timestamps that the server sends in the handshake is \(fault): CFNetwork and Safari end such a "
                        + "handshake, and other clients go on without timestamps.", citation: .timestampList,
                    situation: Remediation.Situation.timestampList.rawValue))
        }
        if requirements.isHardened, handshake.version == .tls12 {
            causes += hardenedCauses(requirements, handshake, leaf)
        }
        return causes
    }

    /// What FCP_v2.1 asks of TLS 1.2 beside versions and suites.
    private static func hardenedCauses(
        _ requirements: TransportRequirements, _ handshake: HandshakeObservation, _ leaf: SignatureFacts?
    ) -> [Cause] {
        let citation = Citation.ownProcesses
        var causes: [Cause] = []
        if !handshake.usesExtendedMasterSecret {
            causes.append(
                Cause(
                    .tlsNoExtendedMasterSecret,
                    "FCP_v2.1 requires the extended master secret in TLS 1.2, and the server did not negotiate it.",
                    citation: citation))
        }
        if let leaf, let scheme = leaf.scheme, !requirements.signatureSchemes.contains(scheme) {
            causes.append(
                Cause(
                    .trustWeakSignature,
                    "In TLS 1.2, FCP_v2.1 requires a server certificate that is signed with an algorithm that the ClientHello offers; "
                        + "\(scheme) is not among them.", citation: citation,
                    situation: Remediation.Situation.unofferedSignature.rawValue))
        }
        return causes
    }

    static func versionCause(_ requirements: TransportRequirements, _ version: TLSVersion) -> Cause? {
        if version < requirements.effectiveMinimum {
            let stack = requirements.profile.stackMinimum
            guard version < stack.value else {
                return Cause(
                    .tlsVersionTooLow,
                    "The server negotiated \(version); \(requirements.effectiveMinimum) or later is required.",
                    citation: .apple(ATSKey.minimumTLSVersion, read: "2026-11-21"),
                    situation: requirements.tooLowSituation)
            }
            let sentence =
                version >= requirements.policyMinimum
                ? "ATS accepts that here;"
                : "\(requirements.effectiveMinimum) or later is required, and no exception changes that:"
            return Cause(
                .tlsVersionTooLow,
                "The server negotiated \(version). \(sentence) apps linked on 26 or later do not speak TLS 1.0 and 1.1 on "
                    + "\(requirements.profile.name) unless their code sets tlsMinimumSupportedProtocolVersion.",
                citation: stack.citation)
        }
        if version > requirements.maximum {
            return Cause(
                .tlsVersionTooLow,
                "The server speaks nothing older than \(version), and \(requirements.profile.name) speaks nothing newer than "
                    + "\(requirements.maximum).", citation: requirements.profile.facts.supportsTLS13.citation,
                situation: Remediation.Situation.serverTooNew.rawValue)
        }
        return nil
    }

    /// Systems on which no load with a minimum of TLS 1.3 succeeds.
    static func minimumCause(_ requirements: TransportRequirements) -> Cause? {
        let supports = requirements.profile.facts.supportsTLS13Minimum
        guard requirements.minimumTLS == .tls13, !supports.value else { return nil }
        return Cause(
            .tlsHandshakeFailed, requirements.profile.disputedMinimum, citation: supports.citation,
            situation: Remediation.Situation.unsupportedMinimum.rawValue)
    }

    static func suiteCauses(_ requirements: TransportRequirements, _ suite: CipherSuite) -> [Cause] {
        // Where the system does not speak TLS 1.3, the version says so.
        if requirements.suites.contains(suite) || suite.keyExchange == .tls13 { return [] }
        let facts = requirements.profile.facts
        let citation = facts.forwardSecretSuites.citation
        guard !suite.hasForwardSecrecy, requirements.suitePolicy == .ats else {
            return [
                Cause(
                    .tlsNoCommonSuite,
                    "The server negotiates \(suite), which \(requirements.profile.name) does not offer here.",
                    citation: citation)
            ]
        }
        let secrecy = Cause(
            .tlsNoForwardSecrecy,
            "The server negotiates \(suite), whose RSA key exchange has no forward secrecy; ECDHE is required.",
            citation: citation)
        if facts.rsaSuites.value.contains(suite) { return [secrecy] }
        // Without forward secrecy it is not offered either, so that the key that lifts the requirement does not help.
        return [
            secrecy,
            Cause(
                .tlsNoCommonSuite, "\(requirements.profile.name) does not offer \(suite) even without forward secrecy.",
                citation: facts.rsaSuites.citation),
        ]
    }

    /// The group, if the hello did not offer it.
    static func groupCause(_ requirements: TransportRequirements, _ widest: HandshakeObservation) -> Cause? {
        guard let group = widest.group, !requirements.groups.contains(group) else { return nil }
        return Cause(
            .tlsNoCommonGroup,
            "The server exchanges keys only with \(group), which \(requirements.profile.name) does not offer.")
    }

    /// Which of key, group and signature scheme the hello did not offer, if version and suite were not the reason.
    static func unofferedCause(
        _ requirements: TransportRequirements, _ widest: HandshakeObservation, _ leaf: CertificateFacts?
    ) -> Cause? {
        if case .ellipticCurve(let curve, let bits)? = leaf?.publicKey.kind, !PublicKeyFacts.curvesOfTLS.contains(curve)
        {
            return Cause(
                .trustWeakKey,
                "The server's certificate has an elliptic-curve key of \(bits) bits (\(curve)), so no handshake with it succeeds: "
                    + "\(requirements.profile.name) offers P-256, P-384 and P-521.",
                citation: requirements.certificateRules.citation,
                situation: Remediation.Situation.foreignCurve.rawValue, keyKind: .ellipticCurve)
        }
        if let cause = groupCause(requirements, widest) { return cause }
        if let scheme = widest.signatureScheme, !requirements.signatureSchemes.contains(scheme) {
            // A key that could sign with what is offered is held back by a setting.
            let isMarked = SignatureScheme.rsaPSSKeys.contains(scheme)
            let isSetting = !isMarked && leaf?.publicKey.signsWithOfferedSchemes == true
            let words = isMarked ? PublicKeyFacts.wordsOfPSS : leaf?.publicKey.words
            let key = isSetting ? nil : words.map { "The server's certificate has \($0): the server" }
            return Cause(
                .tlsNoCommonSignature,
                "\(key ?? "The server") signs only with \(scheme), which \(requirements.profile.name) does not offer.",
                situation: isSetting ? Remediation.Situation.signatureSetting.rawValue : nil)
        }
        return nil
    }

    /// Of a certificate that no server has yet: an RSA key that signs only with schemes that are not offered, or a key on a curve of TLS that does
    /// so in TLS 1.3 (RFC 8446 section 4.2.3 ties each curve to one). In TLS 1.2 that may sign with any hash.
    static func keyCause(_ requirements: TransportRequirements, _ leaf: CertificateFacts) -> Cause? {
        if leaf.publicKey.signsWithPSSAlone,
            !SignatureScheme.rsaPSSKeys.contains(where: requirements.signatureSchemes.contains)
        {
            return Cause(
                .tlsNoCommonSignature,
                "\(leaf.subject) has \(PublicKeyFacts.wordsOfPSS): it signs only with \(SignatureScheme.rsaPSSKeys[0]) and the like, which "
                    + "\(requirements.profile.name) does not offer.")
        }
        guard requirements.maximum >= .tls13, case .ellipticCurve(let curve, _) = leaf.publicKey.kind,
            let scheme = schemes[curve], !requirements.signatureSchemes.contains(scheme)
        else { return nil }
        return Cause(
            .tlsNoCommonSignature,
            "\(leaf.subject) has \(leaf.publicKey.words). In TLS 1.3 it signs only with \(scheme), which \(requirements.profile.name) does not "
                + "offer: the load fails unless the server speaks nothing newer than TLS 1.2.",
            situation: Remediation.Situation.modernKey.rawValue)
    }

    private static let schemes: [String: SignatureScheme] = [
        "P-256": .ecdsaSECP256R1SHA256, "P-384": .ecdsaSECP384R1SHA384, "P-521": .ecdsaSECP521R1SHA512,
    ]

    static func error(_ requirements: TransportRequirements, _ causes: [Cause]) -> URLLoadError? {
        guard let first = causes.first else { return nil }
        switch first.code {
        case .tlsVersionTooLow: return .secureConnectionFailed(tooLow(requirements))
        case .tlsHandshakeFailed where minimumCause(requirements) != nil:
            return .secureConnectionFailed(RefusalNumbers.noMinimum)
        default: return .secureConnectionFailed(RefusalNumbers.negotiation)
        }
    }

    /// The stream code for a version below the minimum: with a minimum of TLS 1.3 -9800 on macOS 10.14 (OWASP MASTG 0x06g) and -9836 on
    /// macOS 11 (blochberger/ats).
    static func tooLow(_ requirements: TransportRequirements) -> Int {
        requirements.effectiveMinimum == .tls13 && !requirements.profile.facts.supportsTLS13Minimum.value
            ? RefusalNumbers.noMinimum : RefusalNumbers.version
    }

    static func notes(_ handshake: HandshakeObservation) -> [Cause] {
        var notes: [Cause] = []
        if case .unproven(let reason) = handshake.keyPossession {
            notes.append(Cause(.noteKeyPossessionUnproven, reason, kind: .note))
        }
        if handshake.requestsClientCertificate {
            notes.append(
                Cause(
                    .noteClientCertificateRequested,
                    "The server asks for a client certificate. Where it goes on without one, several apps still ask their user for one or fail, and "
                        + "an answer with status 403 becomes NSURLErrorDomain -1206.",
                    citation: .certificateRequest, kind: .note))
        }
        return notes
    }
}

extension TransportRequirements {
    /// What is to be done about a version that is too low, where it is not the usual.
    var tooLowSituation: String? {
        effectiveMinimum == .tls13 ? Remediation.Situation.belowTLS13.rawValue : nil
    }
}

extension PublicKeyFacts {
    /// Whether a server with the key can sign with a scheme that every system offers: RSA and P-256 or P-384 with SHA-256 or SHA-384.
    fileprivate var signsWithOfferedSchemes: Bool {
        switch kind {
        case .rsa: true
        case .ellipticCurve(let curve, _): curve == "P-256" || curve == "P-384"
        case .other: false
        }
    }
}

extension SignatureFacts {
    /// The signature scheme that means the same (RFC 8446 section 4.2.3); nil for algorithms without one.
    fileprivate var scheme: SignatureScheme? {
        switch algorithm {
        case "1.2.840.113549.1.1.5": .rsaPKCS1SHA1
        case "1.2.840.113549.1.1.11": .rsaPKCS1SHA256
        case "1.2.840.113549.1.1.12": .rsaPKCS1SHA384
        case "1.2.840.113549.1.1.13": .rsaPKCS1SHA512
        case "1.2.840.10045.4.1": .ecdsaSHA1
        case "1.2.840.10045.4.3.2": .ecdsaSECP256R1SHA256
        case "1.2.840.10045.4.3.3": .ecdsaSECP384R1SHA384
        case "1.2.840.10045.4.3.4": .ecdsaSECP521R1SHA512
        case "1.3.101.112": .ed25519
        default: nil
        }
    }
}

extension Cause {
    /// A server that only asks for a client certificate, and answers with status 403 if there is none.
    package static let refusedWithoutCertificate = Cause(
        .tlsClientCertificateRequired,
        "The server asks for a client certificate in the handshake, goes on without one, and answers with status 403, which CFNetwork turns "
            + "into NSURLErrorDomain -1206.", citation: .certificateRequest,
        situation: Remediation.Situation.certificateWanted.rawValue)
}

extension Citation {
    static let certificateRequest = Citation.report("radar 41009229; Alamofire 2714")
    static let timestampList = Citation.report(
        "grahamedgecombe/nginx-ct 11; ssllabs/ssllabs-scan 378; RFC 6962 section 3.3")
    static let cutHandshake = Citation.report(
        "forums 762158: received ECONNRESET with incomplete TLS handshake - generating errSSLClosedNoNotify")
    static let wildcard = Citation.report("vercel-labs/portless 416")
}

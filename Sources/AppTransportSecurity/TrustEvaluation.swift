// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TLSModel
import Vocabulary

/// Judges the chain: anchor, dates, name, strength, validity, purpose, pins. Each failure has its own reason.
struct TrustEvaluation {
    let requirements: TransportRequirements
    let facts: PresentedTrust
    /// Nil if no name is judged.
    let host: String?
    let instant: Date

    private var rules: CertificateRules { requirements.certificateRules.value }
    private var citation: Citation { requirements.certificateRules.citation }
    private var judged: [CertificateFacts] { facts.chain.judged }
    /// The path with its anchor, leaf first. A self-signed leaf that is installed is its own anchor, and comes once.
    private var path: [CertificateFacts] {
        guard let anchor = facts.chain.anchor?.certificate, !judged.contains(where: { $0.der == anchor.der }) else {
            return judged
        }
        return judged + [anchor]
    }

    /// Every failed requirement in a fixed order: path, revocation, dates, name, key size, hash, validity, purpose.
    func causes() -> [Cause] {
        guard let leaf = judged.first else {
            return [trust(.trustUnknownRoot, "The server presented no readable certificate.")]
        }
        let tooLong = isTrustedItself(leaf) ? nil : tooLong(leaf)
        return pathCauses(leaf) + [revocationCause(leaf)].compactMap(\.self) + dateCauses() + nameCauses(leaf)
            + keyCauses() + hashCauses() + [tooLong].compactMap(\.self) + purposeCauses(leaf)
    }

    /// Pins hold whatever the dictionary permits.
    func pinCauses() -> [Cause] {
        guard let pins = requirements.pins, let leaf = judged.first, let host else { return [] }
        var causes = pins.unusable(for: host)
        if let leaves = pins.leaves, !leaves.isEmpty, !leaves.contains(leaf.publicKey.sha256) {
            causes.append(
                Cause(
                    .trustPinMismatch,
                    "The leaf's public key is not among the \(leaves.count) that NSPinnedLeafIdentities pins for \(host).",
                    citation: .security("SecPolicy.c, SecPolicyCheckLeafSPKISHA256")))
        }
        if let authorities = pins.authorities, !authorities.isEmpty {
            if !path.dropFirst().contains(where: { authorities.contains($0.publicKey.sha256) }) {
                causes.append(
                    Cause(
                        .trustPinMismatch,
                        "No certificate above the leaf has a public key that NSPinnedCAIdentities pins for \(host).",
                        citation: .security("SecPolicy.c, SecPolicyCheckCAspkiSHA256")))
            }
        }
        return causes
    }

    func notes() -> [Cause] {
        facts.chain.fetched.map { fetched in
            Cause(
                .noteIntermediateFetched,
                "The server omitted the intermediate \(fetched.certificate.subject); it was fetched from \(fetched.address), as Apple's "
                    + "trust evaluation does. Clients that do not fetch it fail: send it after the leaf.", kind: .note)
        } + [stapleNote, lifetimeNote, purposeNote, validityNote, wildcardNote, pinNote, anchorNote].compactMap(\.self)
    }

    /// When the keys end that the app pins for the host, each with its certificate, and what a spare key can last after that.
    private var pinNote: Cause? {
        guard let pins = requirements.pins, let host, let leaf = judged.first else { return nil }
        func dated(_ certificate: CertificateFacts) -> String {
            "\(Base64.encode(certificate.publicKey.sha256)) (\(certificate.subject.terminalSafe(limit: 100))) ends with its certificate on \(CivilDate.text(of: certificate.notAfter))"
        }
        var sentences: [String] = []
        if let leaves = pins.leaves, leaves.contains(leaf.publicKey.sha256) {
            sentences.append("The pinned leaf key \(dated(leaf)).")
            if leaves.count == 1 {
                sentences.append(
                    "No other leaf key is pinned: a renewal with a new key locks every installed app out.")
            } else if case .anchored(_, let anchor) = facts.chain.path, anchor.kind == .system {
                sentences.append(
                    "A spare key that takes over on that day can have a public certificate of at most \(LifetimeSchedule.renewals(from: leaf.notAfter))."
                )
            }
        }
        let authorities = path.dropFirst().filter { pins.authorities?.contains($0.publicKey.sha256) == true }
        sentences += authorities.map { "The pinned key of an authority \(dated($0))." }
        if pins.leaves == nil, pins.authorities?.count == 1, !authorities.isEmpty {
            sentences.append("No other key is pinned: a chain without it locks every installed app out.")
        }
        let seen = Set(path.map(\.publicKey.sha256))
        let spare = (pins.leaves ?? []).union(pins.authorities ?? []).subtracting(seen).count
        if spare > 0 {
            sentences.append("\(spare == 1 ? "One pinned key is" : "\(spare) pinned keys are") not in this chain.")
        }
        guard !sentences.isEmpty else { return nil }
        return Cause(
            .notePinnedKeys, "Pins of \(host): " + sentences.joined(separator: " "),
            citation: .apple(ATSKey.pinnedDomains, read: "2026-11-21"), kind: .note)
    }

    /// Where the exemption of installed roots decides.
    private var purposeNote: Cause? {
        guard case .anchored(_, let anchor) = facts.chain.path, anchor.kind == .installed, let leaf = judged.first,
            !leaf.namesServers, purposeCauses(leaf).isEmpty,
            rules.purposeRules.contains(where: { $0.anchors.contains(.app) && leaf.notBefore >= $0.issuedFrom })
        else { return nil }
        return Cause(
            .notePurposeExempt,
            "The certificate \(leaf.extendedKeyUsages == nil ? "has no extended key usage" : "does not name serverAuth among its purposes"). Apple asks for serverAuth; its published source exempts roots that a user installed, "
                + "and no anchor that the app itself brings.",
            citation: .report(
                "HT210176; SecPolicyServer.c; lightningnetwork/lnd 4201, gravitational/teleport 32698"),
            kind: .note)
    }

    /// Where the exemption of a leaf that the user trusts itself decides.
    private var validityNote: Cause? {
        guard let leaf = judged.first, facts.chain.anchor != nil, isTrustedItself(leaf),
            let cause = tooLong(leaf)
        else { return nil }
        return Cause(
            .noteValidityExempt,
            "\(cause.message) Apple's published source exempts a certificate that the user trusts itself, as this one is; HT210176 knows no such "
                + "exemption.",
            citation: .security("SecPolicyServer.c; VerifyDateTests"), kind: .note)
    }

    /// What reports say of anchors of the app while ATS judges the certificates. They differ, and Apple documents neither.
    private var anchorNote: Cause? {
        guard case .anchored(_, let anchor) = facts.chain.path, anchor.kind == .app, requirements.serverTrust == .ats,
            !["ios9", "ios10", "macos10.11", "macos10.12"].contains(requirements.profile.id)
        else { return nil }
        return Cause(
            .noteAppAnchor,
            "The chain ends in an anchor that the app itself brings. Since iOS 11 ATS refuses such chains in some reports (\"ATS failed system trust\", "
                + "-9802), in others it loads where a CA is the anchor and the server has a certificate below it. If the load fails, the "
                + "host's entry needs NSExceptionAllowsInsecureHTTPLoads = YES.",
            citation: .report(
                "datatheorem/TrustKit 154; shiguredo/sora-ios-sdk 254; Stack Overflow 46316604"), kind: .note)
    }

    /// One report alone.
    private var wildcardNote: Cause? {
        let names = judged.first?.alternativeNames?.dnsNames ?? []
        guard
            let wildcard = names.first(where: {
                $0.utf8.starts(with: [0x2A, 0x2E]) && $0.utf8.count > 2 && !$0.utf8.dropFirst(2).contains(0x2E)
            })
        else { return nil }
        return Cause(
            .noteWildcardBelowTop,
            "The certificate also names \(wildcard.terminalSafe(limit: 128)), a wildcard below a top-level name. One report says that Apple's systems "
                + "refused such a certificate whole, also for its other names.",
            citation: .wildcard, kind: .note)
    }

    /// Authorities of one's own issue for as long as they like.
    private var lifetimeNote: Cause? {
        guard case .anchored(_, let anchor) = facts.chain.path, anchor.kind == .system, let leaf = judged.first else {
            return nil
        }
        return LifetimeSchedule.note(leaf)
    }

    private var stapleNote: Cause? {
        guard case .unusable(let reason) = facts.staple, case .anchored = facts.chain.path else { return nil }
        return Cause(
            .noteStapleUnusable, "The OCSP response that the server staples proves nothing: \(reason).", kind: .note
        )
    }

    // MARK: - Path

    private func pathCauses(_ leaf: CertificateFacts) -> [Cause] {
        var causes: [Cause] = []
        switch facts.chain.path {
        case .anchored: break
        case .unanchored(let path): causes += unanchored(path, leaf)
        case .badSignature(let path, let index):
            let subject = path.indices.contains(index) ? path[index].subject : leaf.subject
            causes.append(trust(.trustUnknownRoot, "The signature over \(subject) does not verify.", .badSignature))
        case .unverifiable(let path, let anchor, let index, let reason):
            let certificate = path.indices.contains(index) ? path[index] : leaf
            let issuer = path.indices.contains(index + 1) ? path[index + 1] : anchor?.certificate
            // A forbidden hash and a weak or foreign key of the issuer have causes of their own; then the path needs none.
            let isNamed =
                rules.forbiddenHashes.contains(certificate.signature.hash)
                || (judgesKeys && issuer.flatMap { weakness(of: $0.publicKey) } != nil)
            if !isNamed {
                causes.append(
                    trust(
                        .trustUnknownRoot, "The signature over \(certificate.subject) cannot be checked: \(reason).",
                        .uncheckedSignature))
            }
        }
        return causes + facts.chain.violations.map(cause(of:))
    }

    private func cause(of violation: PathViolation) -> Cause {
        let sentence = violation.sentence + "."
        return switch violation.rule {
        case .names: trust(.trustNameConstraints, sentence)
        case .pathLength: trust(.trustWrongKeyUsage, sentence, .pathLength)
        case .authority: trust(.trustWrongKeyUsage, sentence, .notAnAuthority)
        case .certificate: trust(.trustWrongKeyUsage, sentence, .oddCertificate)
        }
    }

    private func trust(_ code: Code, _ message: String, _ situation: Remediation.Situation? = nil) -> Cause {
        Cause(code, message, citation: citation, situation: situation?.rawValue)
    }

    private func unanchored(_ path: [CertificateFacts], _ leaf: CertificateFacts) -> [Cause] {
        if leaf.isSelfIssued {
            return [
                trust(
                    .trustSelfSigned, "The certificate \(leaf.subject) is self-signed and not installed as a root.",
                    privateHost)
            ]
        }
        let top = path.last ?? leaf
        let unknown = trust(
            .trustUnknownRoot,
            top.isSelfIssued
                ? "The chain ends in \(top.subject), a root that is in none of the given trust stores."
                : "The chain ends in \(top.subject), issued by \(top.issuer), which is in none of the given trust stores.",
            privateHost)
        guard path.count == 1 else { return [unknown] }
        let missing = trust(
            .trustMissingIntermediate,
            (facts.chain.presented.count > 1
                ? "None of the certificates that the server sends with its leaf issued it, and no known root did: "
                : "The server sends only its leaf, and no known root issued it: ")
                + "the certificate of \(leaf.issuer) is missing.")
        // Servers leave out intermediates far more often than authorities issue leaves by an unknown root itself.
        return [missing, unknown]
    }

    private var privateHost: Remediation.Situation? {
        host.map(LocalHosts.hasNoPublicCA) == true ? .privateHost : nil
    }

    // MARK: - Revocation

    /// A stapled response that can be believed and says revoked. Any other one fails nothing: a client without a staple goes on too.
    private func revocationCause(_ leaf: CertificateFacts) -> Cause? {
        guard case .revoked(let since, let reason) = facts.staple else { return nil }
        let why = reason.flatMap { TrustEvaluation.revocationReasons[$0] }.map { " (\($0))" } ?? ""
        return trust(
            .trustRevoked,
            "\(leaf.subject) was revoked on \(day(since))\(why), according to the OCSP response that the server staples."
        )
    }

    /// RFC 5280 section 5.3.1.
    private static let revocationReasons: [Int: String] = [
        1: "the key is compromised", 2: "the CA is compromised", 3: "the affiliation changed", 4: "superseded",
        5: "out of use", 6: "on hold", 9: "a privilege was withdrawn", 10: "the attribute authority is compromised",
    ]

    // MARK: - Dates and name

    private func dateCauses() -> [Cause] {
        var causes: [Cause] = []
        for (index, certificate) in path.enumerated() where certificate.hasExpired(at: instant) {
            causes.append(
                trust(
                    .trustExpired, "\(certificate.subject) expired on \(day(certificate.notAfter)).",
                    index == 0 ? nil : .issuerDates))
        }
        for (index, certificate) in path.enumerated() where certificate.isNotYetValid(at: instant) {
            causes.append(
                trust(
                    .trustNotYetValid, "\(certificate.subject) is not valid before \(day(certificate.notBefore)).",
                    index == 0 ? nil : .issuerDates))
        }
        return causes
    }

    private func nameCauses(_ leaf: CertificateFacts) -> [Cause] {
        guard let host else { return [] }
        switch NameMatch.judge(leaf, host: host, mayUseCommonName: !rules.requiresAlternativeName) {
        case .matches: return []
        case .onlyCommonName:
            return [
                trust(
                    .trustNoSubjectAlternativeName,
                    "The certificate names \(host) only as its common name; a subject alternative name is required.")
            ]
        case .noNames:
            return [
                trust(
                    .trustNoSubjectAlternativeName,
                    leaf.alternativeNames == nil
                        ? "The certificate has no subject alternative name."
                        : "The subject alternative name of the certificate has neither a DNS name nor an IP address."),
                trust(.trustWrongHost, "The certificate does not name \(host)."),
            ]
        case .otherNames(let names):
            let shown =
                names.prefix(5).map { $0.terminalSafe(limit: 128) }.joined(separator: ", ")
                + (names.count > 5 ? ", and \(names.count - 5) more" : "")
            // Clients look for addresses among the addresses alone (RFC 6125 section 1.7.2).
            let isMisplaced = IPAddress(host) != nil && names.contains { $0.hasSameBytes(as: host) }
            return [
                trust(
                    .trustWrongHost,
                    isMisplaced
                        ? "The certificate names \(host) as a DNS name; an address is looked for among the IP addresses of the subject alternative name."
                        : "The certificate is for \(shown), not for \(host).")
            ]
        }
    }

    // MARK: - Strength

    /// The keys of the whole path: Apple asks for the key that a certificate is signed with, so that of the root counts too.
    private func keyCauses() -> [Cause] {
        guard judgesKeys else { return [] }
        return path.enumerated().compactMap { index, certificate in
            weakness(of: certificate.publicKey).map { weakness in
                if index == judged.count, facts.chain.anchor?.kind == .installed,
                    case .rsa = certificate.publicKey.kind
                {
                    return Cause(
                        .trustWeakKey, "\(certificate.subject) has \(weakness). \(TrustEvaluation.rootKeyDispute)",
                        citation: .security("SecPolicyServer.c, SecPolicyCheckKeySize"),
                        situation: Remediation.Situation.disputedRoot.rawValue, keyKind: certificate.publicKey.keyKind)
                }
                let situation: Remediation.Situation? =
                    index == 0 ? nil : (index < judged.count ? .weakIntermediate : .weakRoot)
                // A server with such a key has no signature scheme in common: the handshake itself fails, before its chain is judged.
                let isForeign = if case .other = certificate.publicKey.kind { index == 0 } else { false }
                return Cause(
                    isForeign ? .tlsNoCommonSignature : .trustWeakKey, "\(certificate.subject) has \(weakness).",
                    citation: citation,
                    situation: situation?.rawValue, keyKind: certificate.publicKey.keyKind)
            }
        }
    }

    /// The two sources about the key of a root that a user installed.
    private static let rootKeyDispute =
        "Whether the key of an installed root counts is not known: Apple's published evaluator (SecPolicyServer.c) asks it of every certificate "
        + "of the path, Apple's documents (HT210176) of the server's certificate and the CAs that issue."

    private var judgesKeys: Bool { requirements.judgesKeySize || requirements.serverTrust == .default }

    /// What a certificate has, and what is required.
    private func weakness(of key: PublicKeyFacts) -> String? {
        switch key.kind {
        case .rsa(let bits):
            guard let least = rules.minimumRSABits, bits < least else { return nil }
            return "an RSA key of \(bits) bits; at least \(least) bits are required"
        case .ellipticCurve(let curve, let bits):
            guard let least = rules.minimumCurveBits else { return nil }
            if bits < least {
                return "an elliptic-curve key of \(bits) bits (\(curve)); at least \(least) bits are required"
            }
            guard !PublicKeyFacts.curvesOfTLS.contains(curve) else { return nil }
            return "\(key.words); P-256, P-384 and P-521 are supported"
        case .other:
            guard rules.minimumRSABits != nil else { return nil }
            return "\(key.words), which is neither a plain RSA key nor one on an elliptic curve of TLS"
        }
    }

    private func hashCauses() -> [Cause] {
        judged.enumerated().compactMap { index, certificate in
            guard rules.forbiddenHashes.contains(certificate.signature.hash) else { return nil }
            return trust(
                .trustWeakSignature,
                "\(certificate.subject) is signed with \(certificate.signature.hash.rawValue.uppercased()); SHA-256 or stronger is required.",
                index == 0 ? nil : .weaklySignedIssuer)
        }
    }

    /// What the chain ends in. Where it ends in nothing that is trusted, it is judged as it would be with its root installed: whoever does that
    /// learns at once what else is wrong.
    private var anchorKind: AnchorKind { facts.chain.anchor?.kind ?? .installed }

    /// Whether the user trusts the leaf itself, or would with its root installed. On a Mac that can be any certificate; the settings of iOS list
    /// authorities alone (HT204477).
    private func isTrustedItself(_ leaf: CertificateFacts) -> Bool {
        let isOwnAnchor = facts.chain.anchor.map { $0.certificate.der == leaf.der } ?? leaf.isSelfIssued
        return rules.exemptsTrustedLeaves && anchorKind == .installed && isOwnAnchor
            && (leaf.isAuthority == true || requirements.profile.isMac)
    }

    private func tooLong(_ leaf: CertificateFacts) -> Cause? {
        let length = leaf.notAfter.timeIntervalSince(leaf.notBefore)
        let broken = rules.ceilings
            .filter { $0.anchors.contains(anchorKind) && leaf.notBefore >= $0.issuedFrom }
            .filter { length > Double($0.days) * 86400 + $0.slack }
            .min { $0.days < $1.days }
        guard let broken else { return nil }
        return trust(
            .trustValidityTooLong,
            "The certificate is valid for \(Int((length / 86400).rounded(.up))) days; the maximum is \(broken.days).")
    }

    private func purposeCauses(_ leaf: CertificateFacts) -> [Cause] {
        let needsPurpose = rules.purposeRules.contains {
            $0.anchors.contains(anchorKind) && leaf.notBefore >= $0.issuedFrom
        }
        let purposes = leaf.extendedKeyUsages
        if needsPurpose, purposes == nil {
            return [trust(.trustWrongKeyUsage, "The certificate has no extended key usage; serverAuth is required.")]
        }
        if needsPurpose, leaf.isForServers, !leaf.namesServers {
            return [
                trust(
                    .trustWrongKeyUsage,
                    "The certificate's extended key usage allows servers without naming serverAuth, which is required: any purpose does not count."
                )
            ]
        }
        var causes: [Cause] = []
        if purposes != nil, !leaf.isForServers {
            causes.append(
                trust(.trustWrongKeyUsage, "The certificate's extended key usage does not include serverAuth."))
        }
        guard rules.limitsAuthorities.contains(anchorKind) else { return causes }
        for authority in judged.dropFirst() where authority.extendedKeyUsages != nil && !authority.isForServers {
            causes.append(
                trust(
                    .trustWrongKeyUsage,
                    "The extended key usage of the intermediate \(authority.subject) does not allow it to issue server certificates.",
                    .issuerPurpose))
        }
        return causes
    }

    // MARK: - Error

    /// The NSURLError of a trust failure.
    func error(for cause: Cause?) -> URLLoadError? {
        guard let cause else { return nil }
        let host = host ?? ""
        if requirements.serverTrust == .ats || cause.code == .trustPinMismatch {
            return .secureConnectionFailed(RefusalNumbers.transportSecurity)
        }
        let numbers = RefusalNumbers.plain(cause.code)
        return .certificate(numbers.urlError, numbers.stream, host: host)
    }

    private func day(_ date: Date) -> String { CivilDate.text(of: date) }
}

extension PublicKeyFacts {
    /// The kind of the key for a cause that is about it.
    fileprivate var keyKind: Cause.KeyKind? {
        switch kind {
        case .rsa: .rsa
        case .ellipticCurve: .ellipticCurve
        case .other: nil
        }
    }
}

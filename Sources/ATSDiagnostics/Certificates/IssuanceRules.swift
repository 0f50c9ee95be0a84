// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import TLSModel
import TLSProbe
import Vocabulary

/// What RFC 5280 and the Baseline Requirements of the CA/Browser Forum forbid an authority to issue, although trust evaluation may let
/// it through.
///
/// A server that runs is judged by what Apple's systems do. A chain that is not installed yet should not depend on their lenience: other
/// clients refuse such chains. Left out is what private authorities commonly omit and Apple's trust evaluation was measured to accept: an
/// authorityKeyIdentifier, an extended key usage, critical name constraints.
enum IssuanceRules {
    /// The broken rules of a complete path, leaf first, as sentences.
    static func breaches(_ chain: ChainFacts) -> [String] {
        guard case .anchored(let path, let anchor) = chain.path, let leaf = path.first else { return [] }
        var breaches: [String] = []
        for (index, certificate) in path.enumerated() {
            guard let outline = try? CertificateOutline(of: certificate) else { continue }
            let issuer = index + 1 < path.count ? path[index + 1] : anchor.certificate
            breaches += general(certificate, outline) + serial(certificate, outline) + key(certificate)
            if let wanted = certificate.authorityKeyIdentifier, !wanted.isEmpty, issuer.subjectKeyIdentifier == nil {
                breaches.append(
                    "\(name(certificate)) identifies the key of its issuer, but \(name(issuer)) has no key identifier (RFC 5280 section 4.2.1.2)."
                )
            }
            if index > 0 { breaches += authority(certificate, outline) }
            // A path that is named by key identifiers is named by them throughout.
            if index > 0, certificate.authorityKeyIdentifier == nil, issuer.subjectKeyIdentifier != nil,
                path[..<index].contains(where: { $0.authorityKeyIdentifier != nil })
            {
                breaches.append(
                    "\(name(certificate)) does not identify the key of its issuer, although the certificates below it do (RFC 5280 section 4.2.1.1)."
                )
            }
        }
        if leaf.der != anchor.certificate.der {
            breaches += server(leaf, below: path.dropFirst() + [anchor.certificate])
            // What the system's own store contains was audited, and is what it is.
            if !isAudited(anchor) {
                breaches += root(anchor.certificate, chain)
            }
        }
        return breaches
    }

    /// The same of the rules for names and purposes that only public authorities have.
    static func publicBreaches(_ chain: ChainFacts, host: String?) -> [String] {
        guard case .anchored(let path, let anchor) = chain.path, let leaf = path.first else { return [] }
        return names(leaf, anchor, host: host) + purposes(leaf)
    }

    /// Whether a root is one of the system's own store. A store that was named, whatever its rules, was audited by nobody that is known here.
    private static func isAudited(_ anchor: AnchorFacts) -> Bool {
        anchor.kind == .system && anchor.store.hasPrefix(TrustAnchors.systemPath)
    }

    // MARK: - Every certificate

    private static func general(_ certificate: CertificateFacts, _ outline: CertificateOutline) -> [String] {
        let never = outline.extensions.filter { $0.isCritical }.compactMap { neverCritical[$0.identifier] }.map {
            "The extension \($0) of \(name(certificate)) must not be critical (RFC 5280 section 4.2)."
        }
        let always = outline.extensions.filter { !$0.isCritical }.compactMap { alwaysCritical[$0.identifier] }.map {
            "The extension \($0) of \(name(certificate)) must be critical (RFC 5280 section 4.2)."
        }
        return never + always
    }

    private static func serial(_ certificate: CertificateFacts, _ outline: CertificateOutline) -> [String] {
        let number = outline.serialNumber
        let fault: String
        if number.allSatisfy({ $0 == 0 }) {
            fault = "zero"
        } else if let first = number.first, first >= 0x80 {
            fault = "negative"
        } else if number.count > 20 {
            fault = "longer than 20 bytes"
        } else {
            return []
        }
        return ["The serial number of \(name(certificate)) is \(fault) (RFC 5280 section 4.1.2.2)."]
    }

    private static func key(_ certificate: CertificateFacts) -> [String] {
        guard case .rsa(let bits) = certificate.publicKey.kind, !bits.isMultiple(of: 8) else { return [] }
        return [
            "The RSA key of \(name(certificate)) has \(bits) bits, which is not a multiple of 8 (BR section 6.1.5)."
        ]
    }

    // MARK: - Authorities

    private static func authority(_ certificate: CertificateFacts, _ outline: CertificateOutline) -> [String] {
        var breaches: [String] = []
        if let entry = outline.entry("2.5.29.19"), !entry.isCritical {
            breaches.append("basicConstraints of \(name(certificate)) must be critical (RFC 5280 section 4.2.1.9).")
        }
        if let fault = NameConstraints.laxity(of: certificate) {
            breaches.append("The name constraints of \(name(certificate)) \(fault) (RFC 5280 section 4.2.1.10).")
        }
        return breaches
    }

    private static func root(_ root: CertificateFacts, _ chain: ChainFacts) -> [String] {
        guard root.version == 3, let outline = try? CertificateOutline(of: root) else { return key(root) }
        var breaches = general(root, outline) + key(root) + authority(root, outline)
        let identifier = AuthorityKeyIdentifier(outline)
        if !root.isSelfIssued {
            // Another certificate of the same authority in the chain may name the key that this one leaves out.
            let isNamed = chain.presented.contains {
                $0.subjectDER == root.subjectDER && $0.publicKey.sha256 == root.publicKey.sha256
                    && $0.authorityKeyIdentifier != nil
            }
            if identifier?.keyIdentifier == nil, !isNamed {
                breaches.append(
                    "\(name(root)) is not self-signed and does not identify the key of its issuer (RFC 5280 section 4.2.1.1)."
                )
            }
            return breaches
        }
        if root.extendedKeyUsages != nil {
            breaches.append("\(name(root)) is a root with an extended key usage (BR section 7.1.2.1.2).")
        }
        if let identifier {
            if identifier.namesCertificate || identifier.keyIdentifier == nil
                || identifier.keyIdentifier != root.subjectKeyIdentifier
            {
                breaches.append(
                    "authorityKeyIdentifier of \(name(root)) must consist of the root's own key identifier (BR section 7.1.2.1.3)."
                )
            }
        }
        return breaches
    }

    // MARK: - The leaf

    private static func server(_ leaf: CertificateFacts, below authorities: [CertificateFacts]) -> [String] {
        guard let outline = try? CertificateOutline(of: leaf) else { return [] }
        var breaches: [String] = []
        if leaf.isAuthority == true {
            if leaf.keyUsage?.contains(5) == false {
                breaches.append(
                    "The certificate is a CA certificate, but its key usage does not allow it to issue certificates (BR section 7.1.2.7.8)."
                )
            } else if mayIssue(leaf, below: authorities) {
                breaches.append(
                    "The certificate is a CA certificate: anyone with the server's key could issue certificates (BR section 7.1.2.7.8)."
                )
            }
        } else if leaf.keyUsage?.contains(5) == true {
            breaches.append(
                "The key usage allows the certificate to sign certificates, but it is not a CA certificate (RFC 5280 section 4.2.1.9)."
            )
        }
        if leaf.hasNameConstraints {
            breaches.append(
                "The certificate has name constraints but is not a CA certificate (RFC 5280 section 4.2.1.10).")
        }
        if outline.entry("2.5.29.37")?.isCritical == true {
            breaches.append("The extended key usage of the certificate must not be critical (BR section 7.1.2.7.6).")
        }
        if leaf.subject.isEmpty, outline.entry("2.5.29.17")?.isCritical != true {
            breaches.append("subjectAltName must be critical if there is no subject (RFC 5280 section 4.1.2.6).")
        }
        if outline.entry("2.5.29.17")?.isCritical == true, !leaf.subject.isEmpty {
            breaches.append("subjectAltName must not be critical if there is a subject (BR section 7.1.2.7.12).")
        }
        return breaches
    }

    /// Whether the path lengths above leave room for certificates that the leaf would issue.
    private static func mayIssue(_ leaf: CertificateFacts, below authorities: [CertificateFacts]) -> Bool {
        authorities.enumerated().allSatisfy { index, authority in
            let between = authorities[..<index].count { !$0.isSelfIssued } + (leaf.isSelfIssued ? 0 : 1)
            return authority.pathLengthConstraint.map { between <= $0 } ?? true
        }
    }

    private static func names(_ leaf: CertificateFacts, _ anchor: AnchorFacts, host: String?) -> [String] {
        var breaches: [String] = []
        if let odd = leaf.alternativeNames?.dnsNames.first(where: { !isPreferred($0) }) {
            breaches.append(
                "The alternative name \(odd.terminalSafe(limit: 128)) is not a name of letters, digits and hyphens (RFC 5280 section 4.2.1.6)."
            )
        }
        if let odd = NameMatch.oddCommonName(leaf) {
            breaches.append(
                "The common name \(odd.terminalSafe(limit: 128)) must repeat an alternative name (BR section 7.1.4.3).")
        }
        if !isAudited(anchor), let host, let suffix = NameMatch.sharedWildcard(leaf, host: host) {
            breaches.append(
                "The wildcard covers the names of all customers of \(suffix), and no public CA may issue that (BR section 3.2.2.6)."
            )
        }
        return breaches
    }

    private static func purposes(_ leaf: CertificateFacts) -> [String] {
        guard leaf.extendedKeyUsages?.contains("2.5.29.37.0") == true else { return [] }
        return ["The certificate allows any extended key usage (BR section 7.1.2.7.10)."]
    }

    /// The preferred name syntax, with a wildcard as the first label.
    private static func isPreferred(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        let labels = bytes.split(separator: 0x2E, omittingEmptySubsequences: false)
        return labels.enumerated().allSatisfy { index, label in
            if index == 0, label.elementsEqual([0x2A]) { return true }
            return (1...63).contains(label.count) && label.first != 0x2D && label.last != 0x2D
                && label.allSatisfy { $0.isASCIIAlphanumeric || $0 == 0x2D }
        }
    }

    private static func name(_ certificate: CertificateFacts) -> String {
        certificate.subject.isEmpty ? "a certificate without a subject" : certificate.subject
    }

    private static let neverCritical = [
        "2.5.29.35": "authorityKeyIdentifier", "2.5.29.14": "subjectKeyIdentifier",
        "1.3.6.1.5.5.7.1.1": "authorityInfoAccess",
    ]
    private static let alwaysCritical = ["2.5.29.36": "policyConstraints", "2.5.29.54": "inhibitAnyPolicy"]
}

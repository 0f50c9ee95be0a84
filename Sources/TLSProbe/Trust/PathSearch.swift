// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TLSFacts

/// A depth-first search for a path to an anchor, roots before intermediates, within a budget.
struct PathSearch {
    struct Result {
        let path: ChainFacts.Path
        let violations: [String]
    }

    private struct Candidate {
        let certificate: CertificateFacts
        /// The comparison key of the issuer's name.
        let issuer: EncodedKey

        init(_ certificate: CertificateFacts, _ names: DecodedIssuers<EncodedKey>) {
            self.certificate = certificate
            issuer = names[certificate.issuerDER] ?? EncodedKey(certificate.issuerDER)
        }
    }

    private struct Partial {
        var certificates: [Candidate]
        /// The first signature on the path that cannot be checked.
        var unverifiable: (index: Int, reason: String)?
    }

    private struct Complete {
        let path: Partial
        let anchor: AnchorFacts
        let violations: [String]
        let isCurrent: Bool

        /// Smaller is better.
        var rank: Int {
            (path.unverifiable == nil ? 0 : 4) + (violations.isEmpty ? 0 : 2) + (isCurrent ? 0 : 1)
        }
    }

    private let leaf: Candidate
    /// Read once: many certificates may claim to be its issuer.
    private let leafFrame: SignedFrame
    /// With the comparison key of the subject's name.
    private let pool: [(subject: EncodedKey, candidate: Candidate)]
    private let anchors: TrustAnchors
    private let limits: ChainBuilder.Limits
    private var checks = 0
    private var best: Complete?
    private var longest: [Candidate]
    private var broken: (certificates: [Candidate], index: Int)?

    init(
        leaf: CertificateFacts,
        others: some Collection<CertificateFacts>,
        _ anchors: TrustAnchors,
        _ limits: ChainBuilder.Limits
    ) {
        self.leaf = Candidate(leaf, anchors.issuerNames)
        leafFrame = SignedFrame(leaf)
        var seen: Set<EncodedKey> = [EncodedKey(leaf.der)]
        pool = others.filter { seen.insert(EncodedKey($0.der)).inserted }.map { certificate in
            (
                anchors.issuerNames[certificate.subjectDER] ?? EncodedKey(certificate.subjectDER),
                Candidate(certificate, anchors.issuerNames)
            )
        }
        self.anchors = anchors
        self.limits = limits
        longest = [self.leaf]
    }

    mutating func run(preferringValidAt instant: Date?) async -> Result {
        var open = [Partial(certificates: [leaf])]
        while let partial = open.popLast(), checks < limits.signatureChecks {
            guard let tip = partial.certificates.last else { continue }
            if partial.certificates.count > longest.count { longest = partial.certificates }
            if let anchor = anchors.root(equalTo: tip.certificate.der) {
                await take(ended(partial, tip), anchor, instant)
            } else {
                for anchor in ordered(anchors.roots(named: tip.issuer), for: tip, \.certificate) {
                    guard let path = extended(partial, by: anchor.certificate) else { continue }
                    await take(path, anchor, instant)
                }
            }
            if let best, best.rank == 0 { break }
            guard partial.certificates.count < limits.pathLength else { continue }
            let issuers = pool.filter { subject, candidate in
                subject == tip.issuer
                    && !partial.certificates.contains { $0.certificate.der == candidate.certificate.der }
            }.map(\.candidate)
            for issuer in ordered(issuers, for: tip, \.certificate).reversed() {
                guard var path = extended(partial, by: issuer.certificate) else { continue }
                path.certificates.append(issuer)
                open.append(path)
            }
        }
        return result()
    }

    /// A path whose tip is itself a root: the root is not judged, unless it is the leaf.
    private func ended(_ partial: Partial, _ tip: Candidate) -> Partial {
        guard partial.certificates.count > 1 else { return partial }
        var path = partial
        path.certificates.removeLast()
        if let unverifiable = path.unverifiable, unverifiable.index >= path.certificates.count {
            path.unverifiable = nil
        }
        return path
    }

    /// Checks that `issuer` signed the tip; nil where it did not.
    private mutating func extended(_ partial: Partial, by issuer: CertificateFacts) -> Partial? {
        guard let tip = partial.certificates.last, checks < limits.signatureChecks else { return nil }
        checks += 1
        let index = partial.certificates.count - 1
        let verdict =
            index == 0
            ? leafFrame.verdict(under: issuer.publicKey)
            : anchors.judged.signature(of: tip.certificate, under: issuer.publicKey)
        switch verdict {
        case .valid: return partial
        case .unverifiable(let reason):
            var path = partial
            if path.unverifiable == nil { path.unverifiable = (index, reason) }
            return path
        case .invalid:
            // Another authority of the same name is no forgery: where both key identifiers are there and differ, it is none.
            if let wanted = tip.certificate.authorityKeyIdentifier, let has = issuer.subjectKeyIdentifier, wanted != has
            {
                return nil
            }
            if broken == nil { broken = (partial.certificates, index) }
            return nil
        }
    }

    private mutating func take(_ path: Partial, _ anchor: AnchorFacts, _ instant: Date?) async {
        let certificates = path.certificates.map(\.certificate)
        let complete = Complete(
            path: path,
            anchor: anchor,
            violations: await anchors.judged.violations(certificates, anchor),
            isCurrent: instant.map { instant in
                (certificates.dropFirst() + [anchor.certificate]).allSatisfy {
                    $0.notBefore <= instant && instant <= $0.notAfter
                }
            } ?? true
        )
        if let best, best.rank <= complete.rank { return }
        best = complete
    }

    private func result() -> Result {
        if let best {
            let certificates = best.path.certificates.map(\.certificate)
            if let (index, reason) = best.path.unverifiable {
                return Result(
                    path: .unverifiable(certificates, best.anchor, index: index, reason),
                    violations: best.violations
                )
            }
            return Result(path: .anchored(certificates, best.anchor), violations: best.violations)
        }
        if let broken {
            return Result(
                path: .badSignature(broken.certificates.map(\.certificate), index: broken.index),
                violations: []
            )
        }
        return Result(path: .unanchored(longest.map(\.certificate)), violations: [])
    }

    /// Issuers whose key identifier is the wanted one first (RFC 5280 section 4.2.1.1), otherwise in their order.
    private func ordered<Issuer>(
        _ issuers: [Issuer],
        for tip: Candidate,
        _ certificate: (Issuer) -> CertificateFacts
    ) -> [Issuer] {
        guard issuers.count > 1, let wanted = tip.certificate.authorityKeyIdentifier else { return issuers }
        return issuers.filter { certificate($0).subjectKeyIdentifier == wanted }
            + issuers.filter { certificate($0).subjectKeyIdentifier != wanted }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TLSModel

/// A depth-first search for a path to an anchor, roots before intermediates, within budgets.
///
/// It is made up to four times, each time with more certificates allowed on the path (``PathNode/Soundness``): whoever sends a chain of
/// many issuers cannot hide the one good path behind the bad ones. A certificate that stands on the path already, or another one of the
/// same authority, is never taken again, so that no circle is walked.
struct PathSearch {
    struct Result {
        let path: ChainFacts.Path
        let violations: [PathViolation]
    }

    private struct Partial {
        var nodes: [PathNode]
        /// The first signature on the path that cannot be checked.
        var unverifiable: (index: Int, reason: String)?
    }

    private struct Complete {
        let path: Partial
        let anchor: PathNode
        let violations: [PathViolation]
        let isCurrent: Bool

        /// Smaller is better.
        var rank: Int {
            (path.unverifiable == nil ? 0 : 4) + (violations.isEmpty ? 0 : 2) + (isCurrent ? 0 : 1)
        }
    }

    private struct Signature: Hashable {
        let certificate: Int
        let key: [UInt8]
    }

    private let leaf: PathNode
    /// The certificates that may be intermediates, by the comparison key of the subject's name.
    private var pool: [EncodedKey: [PathNode]] = [:]
    private let anchors: TrustAnchors
    private let limits: ChainBuilder.Limits
    private let instant: Date?
    /// Those that were looked for, by the comparison key of the name.
    private var roots: [EncodedKey: [PathNode]] = [:]
    private var signatures: [Signature: SignatureVerdict] = [:]
    private var constraints = ConstraintMemory()
    /// Paths that were extended in the round at hand.
    private var steps = 0
    private var nodes = 0
    private var best: Complete?
    private var longest: [PathNode]
    private var broken: (nodes: [PathNode], index: Int)?

    init(
        leaf: CertificateFacts, others: some Collection<CertificateFacts>, _ anchors: TrustAnchors,
        _ limits: ChainBuilder.Limits, preferringValidAt instant: Date?
    ) {
        self.leaf = PathNode(leaf, index: 0, anchors, at: instant)
        self.anchors = anchors
        self.limits = limits
        self.instant = instant
        longest = [self.leaf]
        var seen: Set<EncodedKey> = [EncodedKey(leaf.der)]
        for certificate in others where seen.insert(EncodedKey(certificate.der)).inserted {
            // A presented root is found in its store.
            guard !anchors.contains(certificate.der) else { continue }
            nodes += 1
            let node = PathNode(certificate, index: nodes, anchors, at: instant)
            pool[node.subject, default: []].append(node)
        }
    }

    mutating func run() -> Result {
        if let anchor = anchors.root(equalTo: leaf.certificate.der) {
            return Result(
                path: .anchored([leaf.certificate], anchor), violations: PathRules.own(leaf.certificate, leaf.name))
        }
        for soundness in PathNode.Soundness.allCases {
            explore(soundness)
            if best != nil { break }
        }
        return result()
    }

    // MARK: - The search

    /// Every round below the last one ends with the first path that it completes; the last one looks for the least bad.
    private mutating func explore(_ allowed: PathNode.Soundness) {
        let isLast = allowed == .flawed
        steps = 0
        var open = [Partial(nodes: [leaf])]
        while let partial = open.popLast(), let tip = partial.nodes.last {
            if partial.nodes.count > longest.count { longest = partial.nodes }
            for anchor in ordered(knownRoots(named: tip.issuer), for: tip) {
                guard let path = extended(partial, by: anchor, allowed) else { continue }
                take(path, anchor)
                if !isLast || best?.rank == 0 { return }
            }
            guard partial.nodes.count < limits.pathLength else { continue }
            for issuer in ordered(pool[tip.issuer] ?? [], for: tip).reversed() {
                guard !partial.nodes.contains(where: { $0 === issuer || $0.isSameAuthority(as: issuer) }),
                    var path = extended(partial, by: issuer, allowed)
                else { continue }
                path.nodes.append(issuer)
                open.append(path)
            }
            if steps >= limits.steps || signatures.count >= limits.signatureChecks { break }
        }
    }

    /// Checks that `issuer` may stand above the tip in this round and signed it; nil if not.
    private mutating func extended(_ partial: Partial, by issuer: PathNode, _ allowed: PathNode.Soundness) -> Partial? {
        guard let tip = partial.nodes.last, steps < limits.steps, issuer.soundness <= allowed else { return nil }
        steps += 1
        if allowed < .flawed, !dependentViolations(issuer, above: partial.nodes[...]).isEmpty { return nil }
        let index = partial.nodes.count - 1
        switch signature(of: tip, under: issuer.certificate.publicKey) {
        case .valid: return partial
        case .unverifiable(let reason):
            guard allowed == .flawed else { return nil }
            var path = partial
            if path.unverifiable == nil { path.unverifiable = (index, reason) }
            return path
        case .invalid:
            // Another authority of the same name is no forgery: where both key identifiers are there and differ, it is none.
            if let wanted = tip.certificate.authorityKeyIdentifier,
                let has = issuer.certificate.subjectKeyIdentifier, wanted != has
            {
                return nil
            }
            if broken == nil { broken = (partial.nodes, index) }
            return nil
        case nil: return nil
        }
    }

    /// Nil if no more signatures may be checked.
    private mutating func signature(of tip: PathNode, under key: PublicKeyFacts) -> SignatureVerdict? {
        let question = Signature(certificate: tip.index, key: key.sha256)
        if let known = signatures[question] { return known }
        guard signatures.count < limits.signatureChecks else { return nil }
        let verdict =
            tip === leaf
            ? tip.certificate.signatureVerdict(under: key) : anchors.signature(of: tip.certificate, under: key)
        signatures[question] = verdict
        return verdict
    }

    /// Roots as nodes, each made once.
    private mutating func knownRoots(named name: EncodedKey) -> [PathNode] {
        if let known = roots[name] { return known }
        let found = anchors.roots(named: name).map { anchor in
            nodes += 1
            return PathNode(anchor.certificate, index: nodes, anchors, at: instant, anchor: anchor)
        }
        roots[name] = found
        return found
    }

    /// Issuers whose key identifier is the wanted one first (RFC 5280 section 4.2.1.1), otherwise in their order.
    private func ordered(_ issuers: [PathNode], for tip: PathNode) -> [PathNode] {
        guard issuers.count > 1, let wanted = tip.certificate.authorityKeyIdentifier else { return issuers }
        return issuers.filter { $0.certificate.subjectKeyIdentifier == wanted }
            + issuers.filter { $0.certificate.subjectKeyIdentifier != wanted }
    }

    // MARK: - What was found

    private mutating func take(_ path: Partial, _ anchor: PathNode) {
        let complete = Complete(
            path: path,
            anchor: anchor,
            violations: violations(path.nodes, anchor),
            isCurrent: instant.map { instant in
                (path.nodes.dropFirst() + [anchor]).allSatisfy { $0.certificate.isValid(at: instant) }
            } ?? true
        )
        if let best, best.rank <= complete.rank { return }
        best = complete
    }

    /// All that a complete path breaks, from the leaf upwards.
    private mutating func violations(_ path: [PathNode], _ anchor: PathNode) -> [PathViolation] {
        var violations = PathRules.own(leaf.certificate, leaf.name)
        for index in path.indices.dropFirst() {
            let node = path[index]
            violations += PathRules.own(node.certificate, node.name)
            violations += PathRules.asIntermediate(node.certificate, node.name, above: count(path[..<index]))
            violations += nameViolations(node, above: path[..<index])
        }
        violations += PathRules.own(anchor.certificate, anchor.name)
        violations += PathRules.asRoot(anchor.certificate, anchor.name, above: count(path[...]))
        return violations + nameViolations(anchor, above: path[...])
    }

    /// What depends on the certificates below: the length of the path, and the names on it.
    private mutating func dependentViolations(_ issuer: PathNode, above path: ArraySlice<PathNode>) -> [PathViolation] {
        let below = count(path)
        let own =
            issuer.anchor == nil
            ? PathRules.asIntermediate(issuer.certificate, issuer.name, above: below)
            : PathRules.asRoot(issuer.certificate, issuer.name, above: below)
        return own.isEmpty ? nameViolations(issuer, above: path) : own
    }

    /// Section 6.1.3 (b) and (c): of self-issued certificates only the leaf is held to them.
    private mutating func nameViolations(_ issuer: PathNode, above path: ArraySlice<PathNode>) -> [PathViolation] {
        guard issuer.certificate.hasNameConstraints else { return [] }
        return path.filter { $0 === leaf || !$0.isSelfIssued }.compactMap { node in
            constraints.violation(of: issuer, on: node).map {
                PathViolation("The name constraints of \(issuer.name) \($0) (\(node.name))", .names)
            }
        }
    }

    /// Intermediates that count for a length: self-issued ones do not (section 4.2.1.9).
    private func count(_ path: ArraySlice<PathNode>) -> Int { path.count { $0 !== leaf && !$0.isSelfIssued } }

    private func result() -> Result {
        if let best, let anchor = best.anchor.anchor {
            let certificates = best.path.nodes.map(\.certificate)
            if let (index, reason) = best.path.unverifiable {
                return Result(
                    path: .unverifiable(certificates, anchor, index: index, reason), violations: best.violations)
            }
            return Result(path: .anchored(certificates, anchor), violations: best.violations)
        }
        if let broken {
            return Result(path: .badSignature(broken.nodes.map(\.certificate), index: broken.index), violations: [])
        }
        return Result(path: .unanchored(longest.map(\.certificate)), violations: [])
    }
}

/// A certificate in a search, with what is read of it at most once.
final class PathNode {
    /// How much speaks against a certificate above a leaf, whatever the path: the rounds of a search.
    enum Soundness: Int, CaseIterable, Comparable {
        case sound
        /// Its extended key usage does not name servers, which counts below some roots only.
        case limited
        /// A weak key, or signed with a weak hash: old systems take it.
        case weak
        /// It breaks RFC 5280 by itself, or is not valid at the instant.
        case flawed

        static func < (left: Soundness, right: Soundness) -> Bool { left.rawValue < right.rawValue }
    }

    let certificate: CertificateFacts
    /// Its number in the search.
    let index: Int
    /// Nil for what was presented or fetched.
    let anchor: AnchorFacts?
    /// The comparison keys of both names.
    let subject: EncodedKey
    let issuer: EncodedKey
    let soundness: Soundness
    private(set) lazy var constraints = NameConstraints(of: certificate)
    private(set) lazy var names = ConstrainedNames(of: certificate)

    init(
        _ certificate: CertificateFacts, index: Int, _ anchors: TrustAnchors, at instant: Date?,
        anchor: AnchorFacts? = nil
    ) {
        self.certificate = certificate
        self.index = index
        self.anchor = anchor
        subject = anchors.issuerName(certificate.subjectDER)
        issuer = anchors.issuerName(certificate.issuerDER)
        soundness = PathNode.soundness(certificate, isRoot: anchor != nil, at: instant)
    }

    /// For sentences.
    var name: String {
        if !certificate.subject.isEmpty { return certificate.subject }
        return anchor == nil ? (index == 0 ? "the leaf" : "certificate \(index)") : "the root"
    }

    var isSelfIssued: Bool { subject == issuer }

    /// Whether both are certificates of one authority: the same name and the same key (RFC 4158 section 2.4.1).
    func isSameAuthority(as other: PathNode) -> Bool {
        subject == other.subject && certificate.publicKey.sha256 == other.certificate.publicKey.sha256
    }

    private static func soundness(_ certificate: CertificateFacts, isRoot: Bool, at instant: Date?) -> Soundness {
        let own = PathRules.own(certificate, "")
        let place =
            isRoot
            ? PathRules.asRoot(certificate, "", above: 0) : PathRules.asIntermediate(certificate, "", above: 0)
        guard own.isEmpty, place.isEmpty, instant.map(certificate.isValid(at:)) ?? true else { return .flawed }
        if !certificate.publicKey.isStrong || (!isRoot && weakHashes.contains(certificate.signature.hash)) {
            return .weak
        }
        if !isRoot, certificate.extendedKeyUsages != nil, !certificate.isForServers { return .limited }
        return .sound
    }

    private static let weakHashes: Set<SignatureFacts.Hash> = [.md2, .md4, .md5, .sha1, .sha224]
}

extension PublicKeyFacts {
    /// Whether every system of today takes the key in a chain.
    fileprivate var isStrong: Bool {
        switch kind {
        case .rsa(let bits): bits >= 2048
        case .ellipticCurve(let curve, _): PublicKeyFacts.curvesOfTLS.contains(curve)
        case .other: false
        }
    }
}

/// What name constraints say of certificates, asked once for each pair, within a budget for the whole search.
struct ConstraintMemory {
    private struct Pair: Hashable {
        let issuer: Int
        let certificate: Int
    }

    private var known: [Pair: String?] = [:]
    private var budget = maximumComparisons

    /// What the names of `node` break of the constraints of `issuer`; nil if nothing.
    mutating func violation(of issuer: PathNode, on node: PathNode) -> String? {
        let pair = Pair(issuer: issuer.index, certificate: node.index)
        if let known = known[pair] { return known }
        let violation = judge(issuer, node)
        known[pair] = .some(violation)
        return violation
    }

    private mutating func judge(_ issuer: PathNode, _ node: PathNode) -> String? {
        guard let constraints = issuer.constraints else { return nil }
        let (cost, overflow) = node.names.names.count.multipliedReportingOverflow(by: max(1, constraints.count))
        guard !overflow, cost <= budget else {
            return "are too many to be compared with all its names"
        }
        budget -= cost
        return constraints.violation(node.names)
    }

    /// A thousand names under 250 constraints: what Go's crypto/x509 and rustls-webpki allow for one chain.
    private static let maximumComparisons = 250_000
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import SwiftASN1
import TLSFacts
import X509

/// What was found out of the certificates above a leaf: who signed them, and whether they may stand on a path together.
///
/// Both are functions of the certificates alone, without a clock, so they may be kept. Only certificates of at most 8,192 bytes are.
final class JudgedIssuers: Sendable {
    private struct Question: Hashable {
        let certificate: EncodedKey
        let issuerKey: EncodedKey
    }

    private let signatures: BoundedMemory<Question, SignatureVerdict>
    private let paths: BoundedMemory<[EncodedKey], [String]>
    private let parsed = JudgedIssuers.parsedIssuers()
    private let largest = 8192

    /// - Parameter capacity: of each of the two memories.
    init(capacity: Int = 128) {
        signatures = BoundedMemory(capacity: capacity)
        paths = BoundedMemory(capacity: capacity)
    }

    /// Issuers as swift-certificates reads them.
    static func parsedIssuers() -> DecodedIssuers<Certificate> { DecodedIssuers { try? Certificate(derEncoded: $0) } }

    /// Whether the key signed the intermediate: remembered, or checked.
    func signature(of certificate: CertificateFacts, under key: PublicKeyFacts) -> SignatureVerdict {
        guard certificate.der.count <= largest, key.der.count <= largest else {
            return certificate.signatureVerdict(under: key)
        }
        let question = Question(certificate: EncodedKey(certificate.der), issuerKey: EncodedKey(key.der))
        if let known = signatures[question] { return known }
        let verdict = certificate.signatureVerdict(under: key)
        signatures.keep(verdict, for: question)
        return verdict
    }

    /// What breaks RFC 5280 section 6.1 on a path, apart from signatures, dates and the name of the server; empty where it is in order.
    ///
    /// - Parameter path: leaf first, without the anchor.
    func violations(_ path: [CertificateFacts], _ anchor: AnchorFacts) async -> [String] {
        let own = PathRules.violations(path, anchor)
        guard own.isEmpty else { return own }
        if path.contains(where: \.hasNameConstraints) || anchor.certificate.hasNameConstraints {
            return await PathRules.libraryViolations(path, anchor, parsed)
        }
        // Without constraints on names the leaf has no part in the library's rules, and what is above it is shared by many servers.
        let above = path.count > 1 ? Array(path.dropFirst()) : [anchor.certificate]
        let key = (above + [anchor.certificate]).map { EncodedKey($0.der) }
        guard key.allSatisfy({ $0.der.count <= largest }) else {
            return await PathRules.libraryViolations(above, anchor, parsed)
        }
        if let known = paths[key] { return known }
        let violations = await PathRules.libraryViolations(above, anchor, parsed)
        paths.keep(violations, for: key)
        return violations
    }

    /// Verdicts that are remembered now: on signatures, and on paths.
    var counts: (signatures: Int, paths: Int) { (signatures.count, paths.count) }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import SwiftASN1
import TLSFacts
@_spi(DisableValidityCheck) import X509

/// What RFC 5280 section 6.1 asks of a path, apart from signatures, dates and the name of the server.
enum PathRules {
    /// The rules that hold for any certificate, also for one that swift-certificates does not read.
    ///
    /// - Parameter path: leaf first, without the anchor.
    static func violations(_ path: [CertificateFacts], _ anchor: AnchorFacts) -> [String] {
        var violations: [String] = []
        var intermediates = 0
        for (index, certificate) in path.enumerated() {
            let name = certificate.subject.isEmpty ? "certificate \(index)" : certificate.subject
            if certificate.version == 1, certificate.hasExtensions {
                violations.append("\(name) is of version 1 but has extensions")
            }
            for identifier in certificate.unknownCriticalExtensions {
                violations.append("\(name) has the critical extension \(identifier), which is unknown here")
            }
            for identifier in certificate.malformedExtensions {
                violations.append("The extension \(identifier) of \(name) is malformed or occurs twice")
            }
            guard index > 0 else { continue }
            if certificate.isAuthority != true {
                violations.append("\(name) issued a certificate but is not an authority (basicConstraints)")
            } else if let usage = certificate.keyUsage, !usage.contains(5) {
                violations.append("\(name) issued a certificate but its key usage does not allow that (keyCertSign)")
            }
            if let limit = certificate.pathLengthConstraint, intermediates > limit {
                violations.append("\(name) allows \(limit) intermediates below it, and there are \(intermediates)")
            }
            // Self-issued certificates do not count (RFC 5280 section 4.2.1.9).
            if !certificate.isSelfIssued { intermediates += 1 }
        }
        return violations + rootViolations(anchor.certificate, above: intermediates)
    }

    /// Roots of version 1 knew no basicConstraints; of all others they are asked, as of intermediates.
    private static func rootViolations(_ root: CertificateFacts, above intermediates: Int) -> [String] {
        let name = root.subject.isEmpty ? "The root" : root.subject
        if root.version == 1 { return root.hasExtensions ? ["\(name) is of version 1 but has extensions"] : [] }
        guard root.isAuthority == true else { return ["\(name) is a root but not an authority (basicConstraints)"] }
        guard let limit = root.pathLengthConstraint, intermediates > limit else { return [] }
        return ["\(name) allows \(limit) intermediates below it, and there are \(intermediates)"]
    }

    /// The verdict of the RFC 5280 policy of swift-certificates, which also knows name constraints. It checks the signatures again.
    ///
    /// - Parameters:
    ///   - path: leaf first, without the anchor.
    ///   - issuers: those that were parsed before.
    static func libraryViolations(
        _ path: [CertificateFacts],
        _ anchor: AnchorFacts,
        _ issuers: DecodedIssuers<Certificate>
    ) async -> [String] {
        guard let leaf = path.first else { return [] }
        let constrained = path.contains { $0.hasNameConstraints } || anchor.certificate.hasNameConstraints
        // The library compares names as text, and every name with every constraint: no work for what a stranger may have made large.
        guard (path + [anchor.certificate]).allSatisfy({ isModest($0, constrained) }) else {
            return constrained
                ? [
                    "Name constraints above \(leaf.subject) cannot be checked: a certificate on the path has too many names"
                ]
                : []
        }
        let parsed: [Certificate?] = path.enumerated().map { index, certificate in
            index == 0 ? try? Certificate(derEncoded: certificate.der) : issuers[certificate.der]
        }
        guard let root = issuers[anchor.certificate.der], !parsed.contains(nil) else {
            return constrained
                ? [
                    "Name constraints above \(leaf.subject) cannot be checked: the path has a key too weak for the verifier"
                ] : []
        }
        let certificates = parsed.compactMap { $0 }
        guard let first = certificates.first else { return [] }
        var verifier = Verifier(rootCertificates: CertificateStore([root])) { TransportPathPolicy() }
        let result = await verifier.validate(leaf: first, intermediates: CertificateStore(certificates.dropFirst()))
        guard case .couldNotValidate(let failures) = result else { return [] }
        // Without a failure of the policy the verifier found no path: it compares names more strictly than RFC 5280 does,
        // and knows fewer signature algorithms. Both were decided before.
        if failures.isEmpty, constrained { return ["Name constraints above \(leaf.subject) could not be checked"] }
        return failures.prefix(1).map { failure in
            "The path breaks RFC 5280: \("\(failure.policyFailureReason)".terminalSafe(limit: 500))"
        }
    }

    /// Whether its names are of a size that certificates of the web have: a thousand alternative names are rare, and none is over 255 bytes.
    private static func isModest(_ certificate: CertificateFacts, _ constrained: Bool) -> Bool {
        guard certificate.subjectDER.count <= 4096, certificate.issuerDER.count <= 4096 else { return false }
        guard constrained else { return true }
        let names = certificate.alternativeNames?.dnsNames ?? []
        let isSmall = !certificate.hasNameConstraints || certificate.der.count <= 16 * 1024
        return isSmall && names.count <= 2048 && names.allSatisfy { $0.utf8.count <= 255 }
    }
}

/// The RFC 5280 policy without dates; it knows the critical extensions that ``CertificateExtensions`` reads.
private struct TransportPathPolicy: VerifierPolicy {
    private let base = RFC5280Policy.withValidityCheckDisabled()

    var verifyingCriticalExtensions: [ASN1ObjectIdentifier] {
        base.verifyingCriticalExtensions + [
            .X509ExtensionID.subjectAlternativeName, .X509ExtensionID.extendedKeyUsage, [2, 5, 29, 32], [2, 5, 29, 33],
            [2, 5, 29, 36], [2, 5, 29, 54], [1, 3, 6, 1, 5, 5, 7, 1, 1],
        ]
    }

    mutating func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) async -> PolicyEvaluationResult {
        base.chainMeetsPolicyRequirements(chain: chain)
    }
}

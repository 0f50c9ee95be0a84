// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel
import Vocabulary

/// What RFC 5280 section 6.1 asks of the certificates of a path one by one, apart from signatures, dates and names.
///
/// The rules work on facts, so that they hold for certificates with keys that no library reads.
enum PathRules {
    /// What the certificate breaks wherever it stands.
    static func own(_ certificate: CertificateFacts, _ name: String) -> [PathViolation] {
        var violations: [PathViolation] = []
        if !(1...3).contains(certificate.version) {
            violations.append(PathViolation("\(name) has an unknown version"))
        } else if certificate.version < 3, certificate.hasExtensions {
            violations.append(PathViolation("\(name) is of version \(certificate.version) but has extensions"))
        }
        for identifier in certificate.unknownCriticalExtensions {
            violations.append(
                PathViolation("\(name) has the critical extension \(identifier), which is not supported here"))
        }
        for identifier in certificate.malformedExtensions {
            violations.append(PathViolation("The extension \(identifier) of \(name) is malformed or occurs twice"))
        }
        return violations + certificate.faults.map { PathViolation("\(name) \($0)") }
    }

    /// What it breaks as the issuer of an intermediate or a leaf.
    ///
    /// - Parameter intermediates: how many certificates that are not self-issued stand between it and the leaf (section 4.2.1.9).
    static func asIntermediate(
        _ certificate: CertificateFacts, _ name: String, above intermediates: Int
    )
        -> [PathViolation]
    {
        var violations: [PathViolation] = []
        if certificate.isAuthority != true {
            violations.append(
                PathViolation("\(name) issued a certificate but is not a CA (basicConstraints)", .authority))
        } else if let usage = certificate.keyUsage, !usage.contains(keyCertSign) {
            violations.append(
                PathViolation(
                    "\(name) issued a certificate but its key usage does not allow that (keyCertSign)", .authority))
        }
        return violations + subject(certificate, name) + length(certificate, name, above: intermediates)
    }

    /// What it breaks as the root of a path. Roots of version 1 knew no basicConstraints; of all others they are asked, as of intermediates.
    static func asRoot(_ root: CertificateFacts, _ name: String, above intermediates: Int) -> [PathViolation] {
        if root.version == 1 { return [] }
        guard root.isAuthority == true else {
            return [PathViolation("\(name) is a root but not a CA (basicConstraints)", .authority)]
        }
        if let usage = root.keyUsage, !usage.contains(keyCertSign) {
            return [PathViolation("\(name) is a root but its key usage does not allow that (keyCertSign)", .authority)]
        }
        return subject(root, name) + length(root, name, above: intermediates)
    }

    /// Section 4.1.2.6: an authority has a subject.
    private static func subject(_ certificate: CertificateFacts, _ name: String) -> [PathViolation] {
        certificate.subject.isEmpty
            ? [PathViolation("\(name) issued a certificate but has no subject", .authority)] : []
    }

    private static func length(
        _ certificate: CertificateFacts, _ name: String, above intermediates: Int
    )
        -> [PathViolation]
    {
        guard let limit = certificate.pathLengthConstraint, intermediates > limit else { return [] }
        return [
            PathViolation("\(name) allows \(limit) intermediates below it, but there are \(intermediates)", .pathLength)
        ]
    }

    /// The bit of keyUsage.
    private static let keyCertSign = 5
}

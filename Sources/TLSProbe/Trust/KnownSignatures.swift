// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import TLSFacts

/// Verdicts on the signatures of intermediates, which the chains of many servers share. Leaves do not belong here.
///
/// A verdict is a function of the certificate and of its issuer's key, so it may be kept. At most `capacity` of them, of certificates of at
/// most 8,192 bytes; when it is full, all are forgotten.
final class KnownSignatures: Sendable {
    private struct Question: Hashable {
        let certificate: EncodedKey
        let issuerKey: EncodedKey
    }

    private let kept = NIOLockedValueBox<[Question: SignatureVerdict]>([:])
    private let capacity: Int
    private let largest = 8192

    init(capacity: Int = 128) { self.capacity = capacity }

    /// Whether the key signed the certificate: remembered, or checked.
    func verdict(on certificate: CertificateFacts, under key: PublicKeyFacts) -> SignatureVerdict {
        guard certificate.der.count <= largest, key.der.count <= largest else {
            return certificate.signatureVerdict(under: key)
        }
        let question = Question(certificate: EncodedKey(certificate.der), issuerKey: EncodedKey(key.der))
        if let known = kept.withLockedValue({ $0[question] }) { return known }
        let verdict = certificate.signatureVerdict(under: key)
        kept.withLockedValue { kept in
            if kept.count >= capacity { kept.removeAll(keepingCapacity: true) }
            kept[question] = verdict
        }
        return verdict
    }

    /// Verdicts that are remembered now.
    var count: Int { kept.withLockedValue { $0.count } }
}

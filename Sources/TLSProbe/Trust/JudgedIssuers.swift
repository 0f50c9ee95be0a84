// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel
import Vocabulary

/// Who signed the certificates above a leaf: a function of the certificates alone, so it may be kept. Only certificates of at most
/// 8,192 bytes are.
final class JudgedIssuers: Sendable {
    private struct Question: Hashable {
        let certificate: EncodedKey
        let issuerKey: EncodedKey
    }

    private let signatures: BoundedCache<Question, SignatureVerdict>
    private let largest = 8192

    /// - Parameter capacity: signatures that are remembered.
    init(capacity: Int = 128) { signatures = BoundedCache(capacity: capacity) }

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

    /// Signatures that are remembered now.
    var count: Int { signatures.count }
}

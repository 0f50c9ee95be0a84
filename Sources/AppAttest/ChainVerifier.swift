// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import FoundationEssentials
import SwiftASN1
import Vocabulary
@_spi(FixedExpiryValidationTime) import X509

/// Why a chain is not accepted; attestations and receipts give these their own codes.
enum ChainFault: Error {
    case malformed(String)
    case untrusted(String)
    case signature(String)
    /// With the end of the validity.
    case expired(String, Date)
    /// With its beginning.
    case notYetValid(String, Date)
}

/// Judges chains of exactly a leaf and an intermediate below one of the anchors.
///
/// An intermediate goes through our own checks and then through swift-certificates' RFC 5280 verifier, once; after that it is
/// remembered until it expires. A leaf is always judged by the same checks, so that its verdict does not depend on what is remembered.
struct ChainVerifier: Sendable {
    let anchors: TrustAnchors
    /// Intermediates by the SHA-256 of their DER, so that an attestation costs one P-384 signature and not two. Only what was verified
    /// against the anchors enters, so nobody can fill it with certificates of their own; one that differs in a bit has another hash.
    let remembered: BoundedCache<SHA256Digest, Authority>

    init(anchors: TrustAnchors, rememberedLimit: Int) {
        self.anchors = anchors
        remembered = BoundedCache(capacity: rememberedLimit)
    }

    /// The verified intermediate. Its validity is judged later, together with the leaf's.
    func authority(_ der: ArraySlice<UInt8>, at instant: Date) async throws(ChainFault) -> Authority {
        let hash = SHA256.hash(data: der)
        if let known = remembered[hash] {
            if instant > known.notAfter { remembered.forget(hash) }
            return known
        }
        let record: CertificateRecord
        do { record = try CertificateRecord(der: der) } catch { throw .malformed("the intermediate: \(error.reason)") }
        let authority = try verified(record)
        // Outside its validity the intermediate is refused by `checkValidity`, and there is nothing to remember.
        guard authority.notBefore <= instant, instant <= authority.notAfter else { return authority }
        guard let certificate = try? Certificate(derEncoded: Array(der)) else {
            throw .malformed("the intermediate cannot be read as a certificate")
        }
        var verifier = Verifier(rootCertificates: CertificateStore(anchors.certificates)) {
            RFC5280Policy(fixedExpiryValidationTime: instant)
        }
        guard case .validCertificate = await verifier.validate(leaf: certificate, intermediates: CertificateStore())
        else {
            throw .untrusted("the intermediate does not chain to a trusted root")
        }
        remembered.keep(authority, for: hash)
        return authority
    }

    /// Our own checks of an intermediate: issuer, authority, key usage, extensions, signature.
    private func verified(_ record: CertificateRecord) throws(ChainFault) -> Authority {
        let issuers = anchors.anchors.filter { record.issuer.elementsEqual($0.subject) }
        guard !issuers.isEmpty else { throw .untrusted("the intermediate's issuer is not a trusted root") }
        guard record.isAuthority else { throw .untrusted("the intermediate is not a CA certificate") }
        // Bit 5 is keyCertSign.
        guard record.mayUseKey(bit: 5) else { throw .untrusted("the intermediate may not sign certificates") }
        guard !record.hasUnknownCriticalExtension, record.value(of: OID.nameConstraints) == nil else {
            throw .untrusted("the intermediate has a critical extension that is not understood")
        }
        guard let key = SigningKey(record) else { throw .untrusted("the intermediate's key has an unknown type") }
        for issuer in issuers
        where issuer.key.isValid(record.signature, for: record.signedPart, algorithm: record.signatureAlgorithm) {
            return Authority(record, key: key, below: issuer)
        }
        throw .untrusted("no trusted root signed the intermediate")
    }

    /// A leaf below a verified intermediate: issuer, not an authority, key usage, extensions, signature, then the times of both.
    func checkLeaf(_ leaf: CertificateRecord, below authority: Authority, at instant: Date) throws(ChainFault) {
        guard leaf.issuer.elementsEqual(authority.subject) else {
            throw .untrusted("the leaf names another issuer than the intermediate")
        }
        guard !leaf.isAuthority else { throw .untrusted("the leaf is a CA certificate") }
        // Bit 0 is digitalSignature.
        guard leaf.mayUseKey(bit: 0) else { throw .untrusted("the leaf's key may not sign") }
        guard !leaf.hasUnknownCriticalExtension else {
            throw .untrusted("the leaf has a critical extension that is not understood")
        }
        guard authority.key.isValid(leaf.signature, for: leaf.signedPart, algorithm: leaf.signatureAlgorithm) else {
            throw .signature("the intermediate did not sign the leaf")
        }
        try checkValidity(authority.notBefore, authority.notAfter, of: "the intermediate", at: instant)
        try checkValidity(leaf.notBefore, leaf.notAfter, of: "the leaf", at: instant)
    }

    /// The roots that were trusted, and the issuer that an intermediate names.
    func comparedIssuer(of der: ArraySlice<UInt8>) -> [ComparedValue] {
        let roots = anchors.encoded.prefix(4).compactMap { (try? CertificateSummary(der: $0))?.subject }
        return [
            ComparedValue(
                "root", expected: roots.joined(separator: " or ").terminalSafe(limit: 800),
                found: (try? CertificateSummary(der: der))?.issuer.terminalSafe(limit: 200))
        ]
    }

    /// Both ends belong to the validity (RFC 5280, section 4.1.2.5).
    private func checkValidity(_ first: Date, _ last: Date, of name: String, at instant: Date) throws(ChainFault) {
        if instant > last { throw .expired("\(name) was valid until \(RFC3339.text(last))", last) }
        if instant < first { throw .notYetValid("\(name) is not valid before \(RFC3339.text(first))", first) }
    }
}

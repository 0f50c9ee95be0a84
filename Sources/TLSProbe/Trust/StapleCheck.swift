// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
public import FoundationEssentials
public import TLSModel
import Vocabulary

/// Whether a stapled OCSP response may be believed (RFC 6960 section 3.2).
private enum StapleCheck {
    /// Whether the CertID is that of the leaf: the names and keys of two authorities may differ in either alone.
    static func names(
        _ single: StapledResponse.Single, _ leaf: CertificateFacts, _ issuer: CertificateFacts
    ) -> Bool {
        guard single.serialNumber == leaf.serialNumber, let key = keyBytes(issuer.publicKey) else { return false }
        return hash(single.hashAlgorithm, leaf.issuerDER) == single.issuerNameHash
            && hash(single.hashAlgorithm, key) == single.issuerKeyHash
    }

    /// Why the signer may not speak for the issuer; nil if it may and the signature holds.
    static func signerFault(_ response: StapledResponse, _ issuer: CertificateFacts, _ instant: Date) -> String? {
        if isResponder(issuer, response.responder) { return signatureFault(response, issuer.publicKey) }
        // Section 4.2.2.2: a responder that the issuer itself has appointed, by a certificate for OCSPSigning.
        let appointed = response.certificates.lazy.compactMap { try? CertificateFacts(decoding: $0) }
            .first { isResponder($0, response.responder) }
        guard let appointed else { return "its responder is neither the issuer nor sends a certificate" }
        guard appointed.extendedKeyUsages?.contains("1.3.6.1.5.5.7.3.9") == true else {
            return "its responder's certificate is not for signing OCSP responses"
        }
        guard appointed.issuerDER == issuer.subjectDER,
            case .valid = appointed.signatureVerdict(under: issuer.publicKey)
        else { return "its responder was not authorized by the issuer of the certificate" }
        guard appointed.isValid(at: instant) else {
            return "its responder's certificate is not valid now"
        }
        return signatureFault(response, appointed.publicKey)
    }

    private static func signatureFault(_ response: StapledResponse, _ key: PublicKeyFacts) -> String? {
        let algorithm = response.algorithm
        guard ![.md2, .md4, .md5, .sha1, .sha224].contains(algorithm.hash) else {
            return "it is signed with \(algorithm.hash.rawValue.uppercased())"
        }
        let verdict = VerificationKey(key).check(
            response.signature, over: response.signedBytes, family: algorithm.family, hash: algorithm.hash)
        switch verdict {
        case .valid: return nil
        case .invalid: return "its signature does not verify"
        case .unverifiable(let reason): return "its signature cannot be checked (\(reason))"
        }
    }

    private static func isResponder(_ certificate: CertificateFacts, _ responder: StapledResponse.Responder) -> Bool {
        switch responder {
        case .name(let name): certificate.subjectDER == name
        case .key(let digest):
            keyBytes(certificate.publicKey).map { Array(Insecure.SHA1.hash(data: $0)) == digest } ?? false
        }
    }

    /// The value of the BIT STRING in a SubjectPublicKeyInfo.
    private static func keyBytes(_ key: PublicKeyFacts) -> [UInt8]? {
        guard let node = try? DERReader.parse(key.der[...], "public key"),
            var reader = try? DERReader(node, "public key"), reader.next() != nil,
            let bytes = try? reader.required("key").bitStringBytes("public key")
        else { return nil }
        return Array(bytes)
    }

    private static func hash(_ algorithm: String, _ bytes: [UInt8]) -> [UInt8]? {
        switch SignatureAlgorithm.hashes[algorithm] {
        case .sha1: Array(Insecure.SHA1.hash(data: bytes))
        case .sha256: Array(SHA256.hash(data: bytes))
        case .sha384: Array(SHA384.hash(data: bytes))
        case .sha512: Array(SHA512.hash(data: bytes))
        default: nil
        }
    }

    /// How far the clocks of responder and client may be apart, seconds.
    static let skew: TimeInterval = 300
}

extension ChainFacts {
    /// What an OCSP response says of the leaf: its signature, its dates and the certificate that it is about are checked.
    ///
    /// - Parameter instant: when the response must be current.
    package func status(in response: [UInt8], at instant: Date) -> StapleStatus {
        // Only where the chain leads to an anchor is there an issuer whose word counts.
        guard case .anchored(let path, let anchor) = path, let leaf = path.first else {
            return .unusable("the certificate has no trusted issuer that could have authorized its responder")
        }
        let staple: StapledResponse
        do {
            staple = try StapledResponse(decoding: response)
        } catch {
            return .unusable(error.reason)
        }
        let issuer = path.count > 1 ? path[1] : anchor.certificate
        // Step 1: it is about this certificate.
        guard let single = staple.singles.first(where: { StapleCheck.names($0, leaf, issuer) }) else {
            return .unusable("it is for another certificate")
        }
        // Steps 2 to 4: the signature holds, and whoever made it may.
        if let reason = StapleCheck.signerFault(staple, issuer, instant) { return .unusable(reason) }
        // Step 5: it is current. Without nextUpdate newer information is available at any time (section 2.4).
        guard single.thisUpdate <= instant + StapleCheck.skew else { return .unusable("it is from the future") }
        if let next = single.nextUpdate, next < instant { return .unusable("it is out of date") }
        return single.status
    }
}

extension ConnectionFacts {
    /// The facts of a connection with what its staple says: its signature, its dates and the certificate that it is about are checked.
    ///
    /// - Parameter instant: when the response must be current.
    public init(handshake: HandshakeObservation, chain: ChainFacts, at instant: Date) {
        let staple = handshake.stapledResponse.map { chain.status(in: $0, at: instant) }
        self.init(handshake: handshake, chain: chain, staple: staple)
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
package import TLSModel
import Vocabulary

/// Checks the signatures of certificate timestamps (RFC 6962 section 3.2).
///
/// Logs sign with ECDSA on P-256 or with RSA of at least 2048 bits, over SHA-256 (section 2.1.4); everything else is left unchecked.
package struct TimestampVerifier: TimestampVerifying {
    package init() {}

    /// Whether the log made this timestamp for this certificate.
    package func verdict(
        on timestamp: SignedTimestamp, from source: SignedTimestamp.Source, leaf: CertificateFacts,
        issuer: CertificateFacts?, logKey: [UInt8]
    ) -> SignatureVerdict {
        guard Array(SHA256.hash(data: logKey)) == timestamp.logIdentifier else {
            return .unverifiable("the list contains another key under the log's id")
        }
        guard let node = try? DERReader.parse(logKey[...], "log key"), let key = try? PublicKeyFacts(node) else {
            return .unverifiable("the list contains no public key of the log")
        }
        let family: SignatureAlgorithm.Family
        switch (key.kind, timestamp.algorithm) {
        case (.ellipticCurve("P-256", _), [4, 3]): family = .ecdsa
        case (.rsa(let bits), [4, 1]) where bits >= 2048: family = .rsaPKCS1
        case (.ellipticCurve("P-256", _), _), (.rsa, _): return .invalid
        default: return .unverifiable("the log's key is neither on P-256 nor RSA")
        }
        let entry: [UInt8]
        switch source {
        case .tlsExtension, .stapledResponse:
            entry = [0, 0] + TimestampVerifier.counted(leaf.der)
        case .certificate:
            guard let issuer else { return .unverifiable("the issuer of the certificate is not known") }
            guard let precertificate = try? TimestampVerifier.precertificate(of: leaf.der) else {
                return .unverifiable("the certificate cannot be parsed")
            }
            entry = [0, 1] + Array(SHA256.hash(data: issuer.publicKey.der)) + TimestampVerifier.counted(precertificate)
        }
        let time = (0..<8).reversed().map { UInt8(truncatingIfNeeded: timestamp.milliseconds >> (8 * UInt64($0))) }
        let extensions = timestamp.extensions
        let message =
            [timestamp.version, 0] + time + entry
            + [UInt8(truncatingIfNeeded: extensions.count >> 8), UInt8(truncatingIfNeeded: extensions.count)]
            + extensions
        return VerificationKey(key).check(timestamp.signature, over: message, family: family, hash: .sha256)
    }

    /// Bytes after their length in three bytes; a certificate is never longer than that.
    private static func counted(_ bytes: [UInt8]) -> [UInt8] {
        [16, 8, 0].map { UInt8(truncatingIfNeeded: bytes.count >> $0) } + bytes
    }

    /// The part of a certificate that was signed, without the list of timestamps: what the log saw (section 3.2).
    static func precertificate(of der: [UInt8]) throws(MalformedInput) -> [UInt8] {
        let (_, signed) = try SignedCertificate.open(der)
        var reader = try DERReader(signed, "tbsCertificate")
        var members: [UInt8] = []
        while let member = reader.next() {
            guard member.contextNumber == 3 else {
                members += member.encodedBytes
                continue
            }
            var list = try DERReader(try member.explicit("extensions"), "extensions")
            var kept: [UInt8] = []
            while let one = list.next() {
                var parts = try DERReader(one, "extension")
                let identifier = try parts.required("identifier").objectIdentifier("identifier of the extension")
                if identifier != timestampList { kept += one.encodedBytes }
            }
            if !kept.isEmpty { members += element(0xA3, element(0x30, kept)) }
        }
        return element(0x30, members)
    }

    /// A DER value of its content.
    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        if content.count < 0x80 { return [tag, UInt8(content.count)] + content }
        var length: [UInt8] = []
        var rest = content.count
        while rest > 0 {
            length.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(length.count)] + length + content
    }

    /// The extension that holds the list.
    private static let timestampList = "1.3.6.1.4.1.11129.2.4.2"
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import struct Foundation.Date

/// A signed certificate timestamp (RFC 6962 section 3.2): a log's promise to publish a certificate.
///
/// Only the parts are read; whether the log is known is judged elsewhere, and whether the signature holds by a ``TimestampVerifying``.
package struct SignedTimestamp: Sendable, Hashable {
    /// Where a timestamp was delivered (RFC 6962 section 3.3).
    package enum Source: String, Sendable {
        case certificate
        /// In the signed_certificate_timestamp extension of the handshake.
        case tlsExtension
        case stapledResponse
    }

    /// 0 is version 1.
    package let version: UInt8
    /// SHA-256 of the log's public key, 32 bytes.
    package let logIdentifier: [UInt8]
    /// When the log saw the certificate, in milliseconds since 1970.
    package let milliseconds: UInt64
    /// CtExtensions; empty today.
    package let extensions: [UInt8]
    /// HashAlgorithm and SignatureAlgorithm (RFC 5246 section 7.4.1.4.1): 4 and 3 are SHA-256 and ECDSA, 4 and 1 SHA-256 and RSA.
    package let algorithm: [UInt8]
    package let signature: [UInt8]

    package var issued: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

    /// What is wrong with a SignedCertificateTimestampList by its lengths, whatever its entries are (RFC 6962 section 3.3): `empty` or `malformed`.
    ///
    /// - Returns: nil if nothing is, or if there is none.
    package static func fault(ofList bytes: [UInt8]?) -> String? {
        guard let bytes, entries(of: bytes)?.isEmpty != false else { return nil }
        return bytes.count <= 2 ? "empty" : "malformed"
    }

    /// Reads a SignedCertificateTimestampList in its TLS encoding; nil if its lengths do not add up.
    /// Entries of an unknown version are left out, as RFC 6962 section 3.3 wants.
    package static func list(decoding bytes: [UInt8]) -> [SignedTimestamp]? {
        guard let entries = entries(of: bytes) else { return nil }
        var list: [SignedTimestamp] = []
        for entry in entries where entry.first == 0 {
            guard let timestamp = SignedTimestamp(entry) else { return nil }
            list.append(timestamp)
        }
        return list
    }

    /// The entries of a list, none of them empty; nil if the lengths do not add up.
    private static func entries(of bytes: [UInt8]) -> [ArraySlice<UInt8>]? {
        var whole = WireReader(bytes)
        guard var rest = whole.vector(2).map({ WireReader($0) }), whole.isEmpty else { return nil }
        var entries: [ArraySlice<UInt8>] = []
        while !rest.isEmpty {
            guard let entry = rest.vector(2), !entry.isEmpty else { return nil }
            entries.append(entry)
        }
        return entries
    }

}

extension SignedTimestamp {
    private init?(_ entry: ArraySlice<UInt8>) {
        var reader = WireReader(entry)
        guard let version = reader.read8(), let log = reader.read(32), let time = reader.read(8),
            let extensions = reader.vector(2), let algorithm = reader.read(2), let signature = reader.vector(2),
            reader.isEmpty
        else { return nil }
        self.init(
            version: version, logIdentifier: Array(log), milliseconds: time.reduce(0) { $0 << 8 | UInt64($1) },
            extensions: Array(extensions), algorithm: Array(algorithm), signature: Array(signature))
    }
}

/// Whether a signature holds, as far as the cryptography at hand can say.
package enum SignatureVerdict: Sendable, Equatable {
    case valid
    case invalid
    /// It cannot be checked; why, as a sentence without a full stop.
    case unverifiable(String)
}

/// Checks the signatures of certificate timestamps (RFC 6962 section 3.2). `TimestampVerifier` of TLSProbe is the one that there is.
package protocol TimestampVerifying: Sendable {
    /// Whether the log made this timestamp for this certificate.
    ///
    /// - Parameters:
    ///   - source: in a certificate the timestamp is for its precertificate.
    ///   - issuer: the certificate whose key signed the leaf; nil if it is not known.
    ///   - logKey: the log's public key, DER SubjectPublicKeyInfo.
    func verdict(
        on timestamp: SignedTimestamp, from source: SignedTimestamp.Source, leaf: CertificateFacts,
        issuer: CertificateFacts?, logKey: [UInt8]
    ) -> SignatureVerdict
}

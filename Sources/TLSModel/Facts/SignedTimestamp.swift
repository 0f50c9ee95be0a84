// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import struct Foundation.Date

/// A signed certificate timestamp (RFC 6962 section 3.2): a log's promise to publish a certificate.
///
/// Only the parts are read; whether the log is known is judged elsewhere, and whether the signature holds by a ``TimestampVerifying``.
package struct SignedTimestamp: Sendable, Hashable {
    /// Where a timestamp was delivered (RFC 6962 section 3.3).
    package enum Source: String, Sendable {
        /// In the certificate.
        case certificate
        /// In the signed_certificate_timestamp extension of the handshake.
        case tlsExtension
        /// In the stapled OCSP response.
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
    /// The signature itself.
    package let signature: [UInt8]

    /// When the log saw the certificate.
    package var issued: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

    package init(
        version: UInt8, logIdentifier: [UInt8], milliseconds: UInt64, extensions: [UInt8] = [], algorithm: [UInt8],
        signature: [UInt8]
    ) {
        self.version = version
        self.logIdentifier = logIdentifier
        self.milliseconds = milliseconds
        self.extensions = extensions
        self.algorithm = algorithm
        self.signature = signature
    }

    /// Whether bytes are a SignedCertificateTimestampList by its lengths, with at least one entry, whatever is in it (RFC 6962 section 3.3).
    package static func isList(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 2, Int(bytes[0]) << 8 | Int(bytes[1]) == bytes.count - 2 else { return false }
        var rest = bytes.dropFirst(2)
        while let high = rest.first, let low = rest.dropFirst().first {
            let length = Int(high) << 8 | Int(low)
            rest = rest.dropFirst(2)
            guard length > 0, rest.count >= length else { return false }
            rest = rest.dropFirst(length)
        }
        return rest.isEmpty
    }

    /// Reads a SignedCertificateTimestampList in its TLS encoding; nil if its lengths do not add up.
    /// Entries of an unknown version are left out, as RFC 6962 section 3.3 wants.
    package static func list(decoding bytes: [UInt8]) -> [SignedTimestamp]? {
        guard bytes.count >= 2, Int(bytes[0]) << 8 | Int(bytes[1]) == bytes.count - 2 else { return nil }
        var rest = bytes.dropFirst(2)
        var list: [SignedTimestamp] = []
        while !rest.isEmpty {
            guard rest.count >= 2 else { return nil }
            let length = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
            rest = rest.dropFirst(2)
            guard length > 0, rest.count >= length else { return nil }
            let entry = Array(rest.prefix(length))
            rest = rest.dropFirst(length)
            guard entry[0] == 0 else { continue }
            // version, log id, time, length of extensions, and a signature of at least four bytes
            guard entry.count >= 1 + 32 + 8 + 2 + 4 else { return nil }
            let milliseconds = entry[33..<41].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let extensions = Int(entry[41]) << 8 | Int(entry[42])
            let tail = entry.dropFirst(43 + extensions)
            guard tail.count >= 4 else { return nil }
            let start = tail.startIndex
            let signature = tail.dropFirst(4)
            guard Int(tail[start + 2]) << 8 | Int(tail[start + 3]) == signature.count else { return nil }
            list.append(
                SignedTimestamp(
                    version: entry[0], logIdentifier: Array(entry[1..<33]), milliseconds: milliseconds,
                    extensions: Array(entry[43..<(43 + extensions)]), algorithm: Array(tail.prefix(2)),
                    signature: Array(signature)))
        }
        return list
    }
}

extension SignedTimestamp {
    /// What checking the signature of a log came to.
    package enum SignatureVerdict: Sendable, Equatable {
        /// The log signed this certificate.
        case valid
        /// The log signed something else, or somebody else signed.
        case invalid
        /// It cannot be decided; why, as a sentence without a full stop.
        case unchecked(String)
    }
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
    ) -> SignedTimestamp.SignatureVerdict
}

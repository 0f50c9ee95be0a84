// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import struct Foundation.Date

/// A signed certificate timestamp (RFC 6962 section 3.2): a log's promise to publish a certificate.
///
/// Only the envelope is read; whether the log is known and the signature holds is judged elsewhere.
public struct SignedTimestamp: Sendable, Hashable {
    /// Where a timestamp was delivered (RFC 6962 section 3.3).
    public enum Source: String, Sendable {
        /// In the certificate.
        case certificate
        /// In the signed_certificate_timestamp extension of the handshake.
        case tlsExtension
        /// In the stapled OCSP response.
        case stapledResponse
    }

    /// 0 is version 1.
    public let version: UInt8
    /// SHA-256 of the log's public key, 32 bytes.
    public let logIdentifier: [UInt8]
    /// When the log saw the certificate.
    public let issued: Date

    /// Makes one from its parts, which the properties describe.
    public init(version: UInt8, logIdentifier: [UInt8], issued: Date) {
        self.version = version
        self.logIdentifier = logIdentifier
        self.issued = issued
    }

    /// Reads a SignedCertificateTimestampList in its TLS encoding; nil where its lengths do not add up.
    /// Entries of an unknown version are left out, as RFC 6962 section 3.3 wants.
    public static func list(decoding bytes: [UInt8]) -> [SignedTimestamp]? {
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
            list.append(
                SignedTimestamp(
                    version: entry[0],
                    logIdentifier: Array(entry[1..<33]),
                    issued: Date(timeIntervalSince1970: Double(milliseconds) / 1000)
                )
            )
        }
        return list
    }
}

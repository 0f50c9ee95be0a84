// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import struct Foundation.Date

/// What the OCSP response says that a server stapled to its handshake (RFC 6960, RFC 6066 section 8).
///
/// Only a response that the issuer of the leaf, or a responder that it appointed, has signed for this leaf and for this time says
/// anything; every other one is unusable and judges nothing.
public enum StapleStatus: Sendable, Equatable {
    /// The certificate is not revoked.
    case good
    /// Since when, and the CRLReason (RFC 5280 section 5.3.1) where one is given.
    case revoked(Date, reason: Int?)
    /// The responder does not know the certificate.
    case unknown
    /// Why the response says nothing, as a sentence without its end.
    case unusable(String)

    /// One word, for reports.
    package var word: String {
        switch self {
        case .good: "good"
        case .revoked: "revoked"
        case .unknown: "unknown"
        case .unusable: "unusable"
        }
    }
}

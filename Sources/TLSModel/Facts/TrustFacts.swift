// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import struct Foundation.Date

/// Where a trust anchor comes from.
public enum AnchorKind: String, Sendable {
    /// A root that came with the system.
    case system
    /// A root that a user or an administrator installed (`--ca-file`).
    case installed
    /// An anchor that the app itself brings (`--app-anchor`, SecTrustSetAnchorCertificates).
    case app
}

/// The trust anchor at the end of a path.
public struct AnchorFacts: Sendable, Equatable {
    /// The anchor itself.
    public let certificate: CertificateFacts
    /// Whether it came with the system or was installed.
    public let kind: AnchorKind
    /// The store, for the report: `/etc/ssl/certs/ca-certificates.crt (Mozilla)` or the file that was named.
    public let store: String

    package init(certificate: CertificateFacts, kind: AnchorKind, store: String) {
        self.certificate = certificate
        self.kind = kind
        self.store = store
    }
}

/// What path building found out about a presented chain. No dates and no names are judged here.
public struct ChainFacts: Sendable, Equatable {
    /// How the search for a path to an anchor ended.
    public enum Path: Sendable, Equatable {
        /// Leaf first, the anchor not included; every signature on it verified.
        case anchored([CertificateFacts], AnchorFacts)
        /// The best partial path, leaf first: its last certificate has no issuer that is known here.
        case unanchored([CertificateFacts])
        /// A path by names exists, but the signature over the certificate at `index` does not verify.
        case badSignature([CertificateFacts], index: Int)
        /// A path by names exists, but a signature on it cannot be checked here (MD5, an unknown algorithm).
        case unverifiable([CertificateFacts], AnchorFacts?, index: Int, String)
    }

    /// As presented by the server, leaf first; certificates that could not be parsed at all are left out and counted.
    public let presented: [CertificateFacts]
    /// How many presented certificates could not be read.
    public let unparsed: Int
    /// The path that was built.
    public let path: Path
    /// Intermediates that were fetched from caIssuers addresses, with their address.
    package var fetched: [FetchedCertificate] = []
    /// What breaks RFC 5280 on the path, apart from signatures, dates and the name of the server.
    package var violations: [PathViolation] = []

    /// The chain of a server that was seen by other means than the prober.
    public init(presented: [CertificateFacts], unparsed: Int = 0, path: Path) {
        self.presented = presented
        self.unparsed = unparsed
        self.path = path
    }

    /// The certificates to judge, leaf first, without the anchor.
    public var judged: [CertificateFacts] {
        switch path {
        case .anchored(let certificates, _), .unanchored(let certificates), .badSignature(let certificates, _),
            .unverifiable(let certificates, _, _, _):
            certificates
        }
    }

    /// Where the path ends; nil if it ends nowhere.
    public var anchor: AnchorFacts? {
        switch path {
        case .anchored(_, let anchor): anchor
        case .unverifiable(_, let anchor, _, _): anchor
        case .unanchored, .badSignature: nil
        }
    }
}

/// One rule of RFC 5280 section 6.1 that a path breaks: not an authority, a path too long, names outside the constraints, an
/// unknown critical extension.
package struct PathViolation: Sendable, Equatable {
    package enum Rule: String, Sendable {
        /// A certificate by itself: its version, its extensions.
        case certificate
        /// An issuer that may not issue: basicConstraints, keyCertSign, no subject.
        case authority
        /// More intermediates than pathLenConstraint allows.
        case pathLength
        case names
    }

    package let sentence: String
    package let rule: Rule

    package init(_ sentence: String, _ rule: Rule = .certificate) {
        self.sentence = sentence
        self.rule = rule
    }
}

/// An intermediate certificate that the server left out and that was fetched.
package struct FetchedCertificate: Sendable, Equatable {
    package let address: String
    package let certificate: CertificateFacts

    package init(address: String, certificate: CertificateFacts) {
        self.address = address
        self.certificate = certificate
    }
}

/// What trust evaluation looks at: a chain, and what came beside it. A chain that no server has presented yet comes alone.
public struct PresentedTrust: Sendable, Equatable {
    /// What became of the certificates.
    public let chain: ChainFacts
    /// What an OCSP response says of the leaf; nil if there is none.
    public let staple: StapleStatus?
    /// SignedCertificateTimestampList of the TLS extension.
    package let timestamps: [UInt8]?
    /// SignedCertificateTimestampList out of the OCSP response.
    package let stapledTimestamps: [UInt8]?

    package init(
        chain: ChainFacts, staple: StapleStatus? = nil, timestamps: [UInt8]? = nil, stapledTimestamps: [UInt8]? = nil
    ) {
        self.chain = chain
        self.staple = staple
        self.timestamps = timestamps
        self.stapledTimestamps = stapledTimestamps
    }
}

/// Everything that is judged about one connection: the handshake and the chain it presented.
public struct ConnectionFacts: Sendable, Equatable {
    /// What was seen of the handshake.
    public let handshake: HandshakeObservation
    /// What became of the certificates.
    public let chain: ChainFacts
    /// What the stapled OCSP response says of the leaf; nil if none was stapled.
    public let staple: StapleStatus?

    /// What trust evaluation looks at.
    package var trust: PresentedTrust {
        PresentedTrust(
            chain: chain, staple: staple, timestamps: handshake.timestamps,
            stapledTimestamps: handshake.stapledTimestamps)
    }

    /// A connection that was observed by other means than the prober.
    public init(handshake: HandshakeObservation, chain: ChainFacts, staple: StapleStatus? = nil) {
        self.handshake = handshake
        self.chain = chain
        self.staple = staple
    }
}

/// The certificates that a server presented, as the key of a table.
///
/// Equality compares every byte; the hash looks at the end of the leaf alone, which is its signature and differs for every
/// certificate, so that looking a chain up costs no pass over kilobytes.
package struct PresentedChain: Hashable, Sendable {
    /// DER, leaf first.
    package let certificates: [[UInt8]]

    package init(_ certificates: [[UInt8]]) { self.certificates = certificates }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(certificates.count)
        guard let leaf = certificates.first else { return }
        hasher.combine(leaf.count)
        hasher.combine(leaf.suffix(16))
    }
}

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

    package var word: String {
        switch self {
        case .good: "good"
        case .revoked: "revoked"
        case .unknown: "unknown"
        case .unusable: "unusable"
        }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What one hello brought back: the facts of a server flight, or how the attempt ended without one.
public enum HandshakeOutcome: Sendable, Equatable {
    /// The server answered with a flight that could be read.
    case negotiated(HandshakeObservation)
    /// The server refused with a TLS alert: its level and description numbers (40 handshake_failure, 70 protocol_version).
    case alert(level: UInt8, description: UInt8)
    /// The server chose something that was not offered, or broke the protocol after a valid ServerHello began.
    case protocolError(String)
    /// There was nothing of TLS to read.
    case connection(ConnectionFailure)
}

/// How a connection ended before there was anything of TLS to read. Four different facts, never mixed.
public enum ConnectionFailure: Sendable, Equatable {
    /// Nothing listens there (ECONNREFUSED).
    case refused
    /// No answer in time. Never taken for "unsupported".
    case timeout
    /// The server reset the connection (ECONNRESET).
    case reset
    /// Closed by the server without an alert.
    case closed
    /// The bytes were not TLS; the first few, for the report.
    case notTLS(prefix: [UInt8])
    /// No route, or another error of the network; its text.
    case unreachable(String)
    /// The name does not resolve; the resolver's text.
    case nameNotFound(String)
}

/// Whether the server proved that it holds the key of its leaf certificate.
public enum KeyPossession: Sendable, Equatable {
    /// A signature over this handshake verifies under the leaf's key.
    case proven
    /// The signature over the handshake does not verify.
    case refuted
    /// Nothing in the flight proves it; the reason, as a sentence.
    case unproven(String)
}

/// The facts of one server flight.
public struct HandshakeObservation: Sendable, Equatable {
    /// The negotiated version.
    public var version: TLSVersion
    /// The negotiated suite.
    public var suite: CipherSuite
    /// Nil with RSA key exchange.
    public var group: NamedGroup?
    /// How the server signed the handshake; nil if it did not, and below TLS 1.2.
    public var signatureScheme: SignatureScheme?
    /// As presented, leaf first, DER.
    public var certificates: [[UInt8]]
    /// Whether the server proved that it holds the leaf's key.
    public var keyPossession: KeyPossession
    /// What ALPN chose; nil if the server chose nothing.
    public var applicationProtocol: String?
    /// DER OCSP response, if one was stapled.
    package var stapledResponse: [UInt8]?
    /// SignedCertificateTimestampList of the TLS extension.
    package var timestamps: [UInt8]?
    /// SignedCertificateTimestampList out of the stapled OCSP response.
    package var stapledTimestamps: [UInt8]?
    /// The server agreed to extended_master_secret (RFC 7627).
    public var usesExtendedMasterSecret: Bool
    /// The server sent a CertificateRequest.
    public var requestsClientCertificate: Bool
    /// The server asked for another key share first (RFC 8446 section 4.1.4).
    public var usedHelloRetryRequest: Bool

    /// Whether the handshake was cut short at the group: the server asked for a share that cannot be made here, and nothing came after.
    package var endsAtGroup: Bool { usedHelloRetryRequest && group != nil && certificates.isEmpty }

    /// A handshake as another observer saw it; what it could not see keeps its default.
    public init(
        version: TLSVersion, suite: CipherSuite, group: NamedGroup? = nil, signatureScheme: SignatureScheme? = nil,
        certificates: [[UInt8]] = [], keyPossession: KeyPossession, applicationProtocol: String? = nil,
        stapledResponse: [UInt8]? = nil, timestamps: [UInt8]? = nil, stapledTimestamps: [UInt8]? = nil,
        usesExtendedMasterSecret: Bool = false, requestsClientCertificate: Bool = false,
        usedHelloRetryRequest: Bool = false
    ) {
        self.version = version
        self.suite = suite
        self.group = group
        self.signatureScheme = signatureScheme
        self.certificates = certificates
        self.keyPossession = keyPossession
        self.applicationProtocol = applicationProtocol
        self.stapledResponse = stapledResponse
        self.timestamps = timestamps
        self.stapledTimestamps = stapledTimestamps
        self.usesExtendedMasterSecret = usesExtendedMasterSecret
        self.requestsClientCertificate = requestsClientCertificate
        self.usedHelloRetryRequest = usedHelloRetryRequest
    }
}

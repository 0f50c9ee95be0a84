// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A message of a server that is not what the protocol says; the reason, as a sentence without a full stop.
package struct MalformedMessage: Error {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}

/// The chain of a server (RFC 5246 section 7.4.2, RFC 8446 section 4.4.2).
package struct CertificateMessage: Sendable {
    /// DER, leaf first.
    package private(set) var certificates: [[UInt8]] = []
    /// The extensions of the leaf's entry, in TLS 1.3.
    package private(set) var extensions: [UInt16: ArraySlice<UInt8>] = [:]

    /// - Parameter body: of TLS 1.3 or of an older version.
    package init(_ body: ArraySlice<UInt8>, isTLS13: Bool = false) throws(MalformedMessage) {
        let malformed = MalformedMessage("The server's Certificate is malformed")
        var reader = WireReader(body)
        if isTLS13 { guard reader.vector(1)?.isEmpty == true else { throw malformed } }
        guard let list = reader.vector(3), reader.isEmpty else { throw malformed }
        var entries = WireReader(list)
        while !entries.isEmpty {
            guard let certificate = entries.vector(3) else { throw malformed }
            if isTLS13 {
                guard let block = entries.vector(2), let found = WireReader.extensions(block) else { throw malformed }
                if certificates.isEmpty { extensions = found }
            }
            certificates.append(Array(certificate))
            guard certificates.count <= WireLimits.certificates else {
                throw MalformedMessage("The server sent more than \(WireLimits.certificates) certificates")
            }
        }
    }
}

/// What a server signs up to TLS 1.2 (RFC 5246 section 7.4.3, RFC 8422 section 5.4).
package struct ServerKeyExchange: Sendable {
    /// The named curve; nil for a group of integers.
    package let group: NamedGroup?
    /// What is signed, behind both randoms.
    package let parameters: ArraySlice<UInt8>
    /// Nil before TLS 1.2.
    package let scheme: SignatureScheme?
    package let signature: ArraySlice<UInt8>

    package init(_ body: ArraySlice<UInt8>, suite: CipherSuite, version: TLSVersion) throws(MalformedMessage) {
        let malformed = MalformedMessage("The server's ServerKeyExchange is malformed")
        var reader = WireReader(body)
        switch suite.keyExchange {
        case .ecdheECDSA, .ecdheRSA:
            guard let kind = reader.read8(), let number = reader.read16(), let point = reader.vector(1), !point.isEmpty
            else { throw malformed }
            guard kind == 3 else { throw MalformedMessage("The server uses a curve without a name") }
            group = NamedGroup(rawValue: number)
        case .dheRSA:
            guard reader.vector(2) != nil, reader.vector(2) != nil, reader.vector(2) != nil else { throw malformed }
            group = nil
        case .rsa, .tls13, .other: throw MalformedMessage("The suite has no ServerKeyExchange")
        }
        parameters = body[body.startIndex..<reader.rest.startIndex]
        if version >= .tls12 {
            guard let number = reader.read16() else { throw malformed }
            scheme = SignatureScheme(rawValue: number)
        } else {
            scheme = nil
        }
        guard let signature = reader.vector(2), reader.isEmpty else { throw malformed }
        self.signature = signature
    }
}

/// An OCSP response beside the chain (RFC 6066 section 8).
package enum CertificateStatus {
    /// The DER of the response; nil for another kind of status, and for one that is malformed or empty.
    package static func response(_ body: ArraySlice<UInt8>) -> [UInt8]? {
        var reader = WireReader(body)
        guard reader.read8() == 1, let response = reader.vector(3), reader.isEmpty, !response.isEmpty else {
            return nil
        }
        return Array(response)
    }
}

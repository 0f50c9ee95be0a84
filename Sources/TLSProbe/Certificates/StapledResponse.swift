// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import TLSModel
package import Vocabulary

/// A successful basic OCSP response (RFC 6960 section 4.2.1), as a server staples it. Nothing of it is believed yet.
package struct StapledResponse: Sendable {
    /// What the response says of one certificate.
    package struct Single: Sendable {
        /// Dotted object identifier of the hash under the two that follow.
        let hashAlgorithm: String
        let issuerNameHash: [UInt8]
        let issuerKeyHash: [UInt8]
        /// The content bytes of the INTEGER, upper-case hexadecimal.
        let serialNumber: String
        /// The certStatus; never `unusable`.
        let status: StapleStatus
        let thisUpdate: Date
        let nextUpdate: Date?
        /// SignedCertificateTimestampList (RFC 6962 section 3.3), in its TLS encoding.
        package let timestamps: [UInt8]?
    }

    enum Responder: Sendable {
        /// A DER name.
        case name([UInt8])
        /// SHA-1 of a public key, 20 bytes.
        case key([UInt8])
    }

    let responder: Responder
    /// One for each certificate that the response is about, at most 16.
    package let singles: [Single]
    let signedBytes: [UInt8]
    let algorithm: SignatureAlgorithm
    let signature: [UInt8]
    /// Certificates of responders, DER.
    let certificates: [[UInt8]]

    /// Reads a response.
    ///
    /// - Parameter der: at most 64 KiB.
    /// - Throws: `malformed.ocsp-response` where the bytes are none, where the responder reports a failure, or where a bound is passed.
    package init(decoding der: [UInt8]) throws(MalformedInput) {
        do throws(MalformedInput) {
            try self.init(reading: der)
        } catch {
            throw MalformedInput(code: .malformedOCSPResponse, reason: error.reason)
        }
    }

    private init(reading der: [UInt8]) throws(MalformedInput) {
        guard der.count <= StapledResponse.maximumSize else {
            throw .certificate("the OCSP response is larger than \(StapledResponse.maximumSize) bytes")
        }
        var response = try DERReader(try DERReader.parse(der[...], "OCSP response"), "OCSP response")
        let status = try response.required("status", .enumerated).primitive("status")
        guard status.elementsEqual([0]) else { throw .certificate("the responder answers with an error status") }
        guard let tagged = response.optional(context: 0) else { throw .certificate("the OCSP response is empty") }
        var typed = try DERReader(try tagged.explicit("response bytes"), "response bytes")
        guard try typed.required("type").objectIdentifier("type") == "1.3.6.1.5.5.7.48.1.1" else {
            throw .certificate("the OCSP response is not a basic one")
        }
        let basic = try typed.required("response", .octetString).primitive("response")
        var frame = try DERReader(try DERReader.parse(basic, "basic response"), "basic response")
        let signed = try frame.required("data", .sequence)
        signedBytes = Array(signed.encodedBytes)
        algorithm = try SignatureAlgorithm(try frame.required("signatureAlgorithm", .sequence))
        signature = Array(try frame.required("signature").bitStringBytes("signature"))
        certificates = try StapledResponse.certificates(frame.optional(context: 0))
        var data = try DERReader(signed, "response data")
        _ = data.optional(context: 0)
        responder = try StapledResponse.responder(try data.required("responder"))
        _ = try data.required("producedAt", .generalizedTime)
        var list = try DERReader(try data.required("responses", .sequence), "responses")
        var singles: [Single] = []
        while let node = list.next() {
            guard singles.count < StapledResponse.maximumSingles else {
                throw .certificate("the OCSP response covers more than \(StapledResponse.maximumSingles) certificates")
            }
            singles.append(try Single(node))
        }
        self.singles = singles
    }

    private static func certificates(_ tagged: ASN1Element?) throws(MalformedInput) -> [[UInt8]] {
        guard let tagged else { return [] }
        var list = try DERReader(try tagged.explicit("certificates"), "certificates")
        var certificates: [[UInt8]] = []
        while let certificate = list.next() {
            guard certificates.count < maximumCertificates else {
                throw .certificate("the OCSP response contains more than \(maximumCertificates) certificates")
            }
            certificates.append(Array(certificate.encodedBytes))
        }
        return certificates
    }

    private static func responder(_ node: ASN1Element) throws(MalformedInput) -> Responder {
        guard node.tag.isContextSpecific else { throw .certificate("the responder has no name") }
        let inner = try node.explicit("responder")
        switch node.number {
        case 1: return .name(Array(inner.encodedBytes))
        case 2: return .key(Array(try inner.primitive("responder")))
        default: throw .certificate("the responder is of an unknown type")
        }
    }

    /// The timestamps of the first certificate in it that has some; nil if there are none.
    package static func timestamps(in der: [UInt8]) -> [UInt8]? {
        (try? StapledResponse(decoding: der))?.singles.lazy.compactMap(\.timestamps).first
    }

    /// Responses of the web stay under 3 KiB; one with a chain of its responder under 10.
    static let maximumSize = 64 * 1024
    static let maximumSingles = 16
    static let maximumCertificates = 8
}

extension StapledResponse.Single {
    init(_ node: ASN1Element) throws(MalformedInput) {
        var reader = try DERReader(node, "single response")
        var identity = try DERReader(try reader.required("certID", .sequence), "certID")
        var algorithm = try DERReader(try identity.required("hashAlgorithm", .sequence), "hashAlgorithm")
        hashAlgorithm = try algorithm.required("algorithm").objectIdentifier("hashAlgorithm")
        issuerNameHash = Array(try identity.required("issuerNameHash", .octetString).primitive("issuerNameHash"))
        issuerKeyHash = Array(try identity.required("issuerKeyHash", .octetString).primitive("issuerKeyHash"))
        serialNumber = try identity.required("serialNumber", .integer).primitive("serialNumber").hexadecimal(
            uppercase: true)
        status = try StapleStatus(try reader.required("certStatus"))
        thisUpdate = try (try reader.required("thisUpdate", .generalizedTime)).moment("thisUpdate")
        nextUpdate = try reader.optional(context: 0).map { node throws(MalformedInput) in
            try (try node.explicit("nextUpdate")).moment("nextUpdate")
        }
        timestamps = try reader.optional(context: 1).flatMap { node throws(MalformedInput) in
            try Self.timestamps(try node.explicit("extensions"))
        }
    }

    private static func timestamps(_ extensions: ASN1Element) throws(MalformedInput) -> [UInt8]? {
        var entries = try DERReader(extensions, "extensions")
        while let entry = entries.next() {
            var reader = try DERReader(entry, "extension")
            guard try reader.required("extnID").objectIdentifier("extnID") == "1.3.6.1.4.1.11129.2.4.5" else {
                continue
            }
            _ = reader.optional(.boolean)
            let value = try reader.required("extnValue", .octetString).primitive("extnValue")
            return Array(try (try DERReader.parse(value, "SCT list")).primitive("SCT list"))
        }
        return nil
    }
}

extension StapleStatus {
    fileprivate init(_ node: ASN1Element) throws(MalformedInput) {
        guard node.tag.isContextSpecific else { throw .certificate("certStatus has another type") }
        switch node.number {
        case 0: self = .good
        case 1:
            var reader = try DERReader(node, "certStatus")
            let time = try (try reader.required("revocationTime")).moment("revocationTime")
            let reason = try reader.optional(context: 0).map { node throws(MalformedInput) in
                try (try node.explicit("reason")).primitive("reason").first.map(Int.init)
            }
            self = .revoked(time, reason: reason ?? nil)
        case 2: self = .unknown
        default: throw .certificate("certStatus is of an unknown type")
        }
    }
}

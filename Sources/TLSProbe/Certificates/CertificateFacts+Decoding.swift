// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
public import TLSModel
public import Vocabulary

extension CertificateFacts {
    /// Reads the extensions that matter to a TLS client (RFC 5280 section 4.2, RFC 6962 section 3.3).
    mutating func read(extensions node: ASN1Element) throws(MalformedInput) {
        var seen: Set<String> = []
        var list = try DERReader(node, "extensions")
        while let node = list.next() {
            let entry = try ExtensionEntry(node)
            // RFC 5280 section 4.2: no extension occurs twice.
            guard seen.insert(entry.identifier).inserted else {
                CertificateFacts.note(entry.identifier, in: &malformedExtensions)
                continue
            }
            do {
                let known = try take(entry.identifier, entry.value)
                if !known, entry.isCritical { CertificateFacts.note(entry.identifier, in: &unknownCriticalExtensions) }
            } catch {
                CertificateFacts.note(entry.identifier, in: &malformedExtensions)
            }
        }
    }

    /// Each becomes a sentence of every report: more than a few of them say nothing more.
    private static func note(_ identifier: String, in list: inout [String]) {
        if list.count < maximumNoted { list.append(identifier) }
    }

    private static let maximumNoted = 16
    /// Addresses of each kind. Honest certificates have one or two; a chain is given up after three fetches.
    private static let maximumAddresses = 8
    /// The most bytes of an address; HTTP servers commonly refuse more than 8 KiB, and certificates of the web stay under 100.
    private static let maximumAddressLength = 2048

    /// Reads one extension; false if it is none that path validation here understands.
    private mutating func take(_ identifier: String, _ value: ArraySlice<UInt8>) throws(MalformedInput) -> Bool {
        switch identifier {
        case "2.5.29.17": alternativeNames = try Self.names(try DERReader.parse(value, "subjectAltName"))
        case "2.5.29.37": extendedKeyUsages = try Self.usages(try DERReader.parse(value, "extKeyUsage"))
        case "2.5.29.15": keyUsage = try Self.bits(try DERReader.parse(value, "keyUsage"))
        case "2.5.29.19": try takeBasicConstraints(try DERReader.parse(value, "basicConstraints"))
        case "2.5.29.30":
            _ = try DERReader.parse(value, "nameConstraints")
            hasNameConstraints = true
        case "1.3.6.1.5.5.7.1.1": try takeInformationAccess(try DERReader.parse(value, "authorityInfoAccess"))
        case "2.5.29.14":
            subjectKeyIdentifier = Array(
                try (try DERReader.parse(value, "subjectKeyIdentifier")).primitive("subjectKeyIdentifier"))
        case "2.5.29.35":
            var reader = try DERReader(try DERReader.parse(value, "authorityKeyIdentifier"), "authorityKeyIdentifier")
            authorityKeyIdentifier = try reader.optional(context: 0).map { node throws(MalformedInput) in
                Array(try node.primitive("keyIdentifier"))
            }
        case "1.3.6.1.4.1.11129.2.4.2":
            embeddedTimestamps = Array(try (try DERReader.parse(value, "SCT list")).primitive("SCT list"))
        // Certificate policies and their constraints: a TLS client asks for no particular policy.
        case "2.5.29.32", "2.5.29.33", "2.5.29.36", "2.5.29.54": break
        default: return false
        }
        return true
    }

    private static func names(_ node: ASN1Element) throws(MalformedInput) -> AlternativeNames {
        var names: [String] = []
        var addresses: [[UInt8]] = []
        var reader = try DERReader(node, "subjectAltName")
        while let name = reader.next() {
            guard name.tag.isContextSpecific else { continue }
            switch name.number {
            case 2: names.append(String(decoding: try name.primitive("dNSName"), as: UTF8.self))
            case 7: addresses.append(Array(try name.primitive("iPAddress")))
            default: continue
            }
        }
        return AlternativeNames(dnsNames: names, addresses: addresses.filter { $0.count == 4 || $0.count == 16 })
    }

    private static func usages(_ node: ASN1Element) throws(MalformedInput) -> [String] {
        var usages: [String] = []
        var reader = try DERReader(node, "extKeyUsage")
        while let usage = reader.next() { usages.append(try usage.objectIdentifier("extKeyUsage")) }
        return usages
    }

    private static func bits(_ node: ASN1Element) throws(MalformedInput) -> Set<Int> {
        guard node.tag == .bitString else { throw .certificate("keyUsage is not a bit string") }
        var bits: Set<Int> = []
        for (index, byte) in try node.primitive("keyUsage").dropFirst().prefix(2).enumerated() {
            for bit in 0..<8 where byte & (0x80 >> bit) != 0 { bits.insert(index * 8 + bit) }
        }
        return bits
    }

    private mutating func takeBasicConstraints(_ node: ASN1Element) throws(MalformedInput) {
        var reader = try DERReader(node, "basicConstraints")
        let authority = try reader.optional(.boolean).map { node throws(MalformedInput) in
            try node.primitive("cA").first != 0
        }
        isAuthority = authority ?? false
        if let length = reader.optional(.integer) {
            let bytes = try length.magnitude("pathLenConstraint")
            pathLengthConstraint = bytes.count > 2 ? Int(UInt16.max) : bytes.reduce(0) { $0 << 8 | Int($1) }
        }
    }

    private mutating func takeInformationAccess(_ node: ASN1Element) throws(MalformedInput) {
        var list = try DERReader(node, "authorityInfoAccess")
        while let entry = list.next() {
            var reader = try DERReader(entry, "accessDescription")
            let method = try reader.required("accessMethod").objectIdentifier("accessMethod")
            guard let location = reader.optional(context: 6) else { continue }
            let bytes = try location.primitive("accessLocation")
            guard bytes.count <= Self.maximumAddressLength, bytes.allSatisfy({ 0x21...0x7E ~= $0 }) else { continue }
            let address = String(decoding: bytes, as: UTF8.self)
            guard address.prefix(7).lowercased() == "http://" else { continue }
            switch method {
            case "1.3.6.1.5.5.7.48.2" where issuerAddresses.count < Self.maximumAddresses:
                issuerAddresses.append(address)
            case "1.3.6.1.5.5.7.48.1" where responderAddresses.count < Self.maximumAddresses:
                responderAddresses.append(address)
            default: continue
            }
        }
    }
}

/// The members of an authorityKeyIdentifier extension (RFC 5280 section 4.2.1.1).
package struct AuthorityKeyIdentifier: Sendable {
    package let keyIdentifier: [UInt8]?
    /// Whether it names the issuer's issuer or serial number.
    package let namesCertificate: Bool

    /// Nil if the certificate has none that can be read.
    package init?(_ outline: CertificateOutline) {
        guard let entry = outline.entry("2.5.29.35"),
            let node = try? DERReader.parse(entry.value, "authorityKeyIdentifier"),
            var reader = try? DERReader(node, "authorityKeyIdentifier")
        else { return nil }
        keyIdentifier = reader.optional(context: 0).flatMap { node in
            (try? node.primitive("keyIdentifier")).map(Array.init)
        }
        namesCertificate = reader.next() != nil
    }
}

extension CertificateFacts {
    /// Reads an X.509 certificate (RFC 5280 section 4.1) and describes it, however weak its key and its signature are.
    ///
    /// A known extension whose content is malformed does not make the certificate unreadable: it counts as absent and is
    /// listed in ``CertificateFacts/malformedExtensions``.
    /// - Parameter der: the whole certificate, at most 128 KiB.
    /// - Throws: `malformed.certificate` if the bytes are not a DER certificate.
    public init(decoding der: [UInt8]) throws(MalformedInput) {
        let (frame, signed) = try SignedCertificate.open(der)
        let members = try CertificateMembers(signed)
        let version = members.version.map { tagged in
            let number = try? tagged.explicit("version").magnitude("version")
            // 0 stands for no readable version.
            return number.map { $0.count > 1 ? 0 : Int($0.first ?? 0) + 1 } ?? 0
        }
        let serial = try members.serialNumber.primitive("serialNumber")
        let issuer = try DistinguishedName(members.issuer, "issuer")
        var validity = try DERReader(members.validity, "validity")
        let notBefore = try (try validity.required("notBefore")).moment("notBefore")
        let notAfter = try (try validity.required("notAfter")).moment("notAfter")
        let subject = try DistinguishedName(members.subject, "subject")
        let key = try PublicKeyFacts(members.key)
        let extensions = try members.extensions()
        var faults: [String] = []
        if members.signature.encodedBytes != frame.encodedAlgorithm {
            faults.append("names one signature algorithm in what is signed and another one outside")
        }
        if issuer.relativeNames.isEmpty { faults.append("names no issuer") }
        self.init(
            der: der, version: version ?? 1, subject: subject.text, issuer: issuer.text, subjectDER: subject.der,
            issuerDER: issuer.der, serialNumber: Array(serial).hexadecimal(uppercase: true), notBefore: notBefore,
            notAfter: notAfter, publicKey: key, signature: frame.algorithm.facts, commonNames: subject.commonNames,
            hasExtensions: extensions != nil, faults: faults)
        if let extensions { try read(extensions: extensions) }
    }
}

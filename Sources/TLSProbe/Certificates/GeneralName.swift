// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import TLSModel
import Vocabulary

/// A name of a subjectAltName extension, or the base of a name constraint (RFC 5280 sections 4.2.1.6 and 4.2.1.10).
enum GeneralName: Sendable {
    case email([UInt8])
    case dns([UInt8])
    /// The comparison keys of the relative names.
    case directory([[UInt8]])
    case uri([UInt8])
    case address([UInt8])
    /// otherName, x400Address, ediPartyName and registeredID, by their tag: no rule here compares them.
    case other(UInt32)

    /// Its tag: a constraint on one kind of names says nothing of the others.
    var tag: UInt32 {
        switch self {
        case .email: 1
        case .dns: 2
        case .directory: 4
        case .uri: 6
        case .address: 7
        case .other(let tag): tag
        }
    }

    init(_ node: ASN1Element) throws(MalformedInput) {
        guard node.tag.isContextSpecific else { throw .certificate("a general name has no tag") }
        switch node.number {
        case 1: self = .email(Array(try node.primitive("rfc822Name")))
        case 2: self = .dns(Array(try node.primitive("dNSName")))
        case 4:
            self = .directory(try DistinguishedName(try node.explicit("directoryName"), "directoryName").relativeKeys)
        case 6: self = .uri(Array(try node.primitive("uniformResourceIdentifier")))
        case 7: self = .address(Array(try node.primitive("iPAddress")))
        case let tag where tag <= 8: self = .other(tag)
        default: throw .certificate("a general name has an unknown tag")
        }
    }
}

/// Every name of a certificate that a name constraint above it may be about.
struct ConstrainedNames: Sendable {
    private(set) var names: [GeneralName] = []
    /// Why the names cannot be read.
    private(set) var fault: String?

    /// The subject, every subjectAltName, and the mail addresses of the subject if there is no subjectAltName. Never a common name.
    init(of certificate: CertificateFacts) {
        do throws(MalformedInput) {
            let outline = try CertificateOutline(of: certificate)
            if !outline.subject.relativeNames.isEmpty { names.append(.directory(outline.subject.relativeKeys)) }
            if let entry = outline.entry("2.5.29.17") {
                var reader = try DERReader(try DERReader.parse(entry.value, "subjectAltName"), "subjectAltName")
                while let name = reader.next() { names.append(try GeneralName(name)) }
            } else {
                names += outline.subject.mailAddresses.map { .email($0) }
            }
        } catch {
            fault = error.reason
        }
    }
}

/// The form of names, compared as bytes.
enum NameForm {
    /// Whether it is a host name of letters, digits, hyphens and underscores (RFC 1034 section 3.5), none of its labels empty or
    /// longer than 63 bytes.
    static func isHostName(_ name: some Collection<UInt8>) -> Bool {
        guard !name.isEmpty, name.count <= 253 else { return false }
        return name.split(separator: 0x2E, omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.count) && label.allSatisfy(isHostByte)
        }
    }

    private static func isHostByte(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || byte == 0x2D || byte == 0x5F }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
package import FoundationEssentials

/// What the leaf certificate of an attestation says about the device. Information, not proof of health.
public struct LeafFacts: Hashable, Sendable {
    /// The first and the last moment of the certificate's validity.
    package let notBefore: Date
    /// The last instant of the leaf's validity.
    package let notAfter: Date
    /// The version of the device's system, for example `27.0.1`, if the certificate says so.
    public let osVersion: String?
    /// The build of the device's system, for example `24A446`, if the certificate says so.
    public let osBuild: String?
    /// The access control of the key as DER (extension 1.2.840.113635.100.8.6), if present: from iOS 26.1 and macOS 27 on.
    package let accessControl: [UInt8]?

    init(_ record: CertificateRecord) {
        notBefore = record.notBefore
        notAfter = record.notAfter
        var version: String?
        var build: String?
        if let value = record.value(of: OID.deviceOS) {
            for (tag, content) in LeafFacts.taggedStrings(value) {
                if tag == 1400 { version = version ?? content }
                if tag == 1403 { build = build ?? content }
            }
        }
        osVersion = version
        osBuild = build
        accessControl = record.value(of: OID.keyAccessControl).flatMap(LeafFacts.accessControl)
    }

    /// The members `[n] { OCTET STRING text }` of a sequence; other members are passed over.
    private static func taggedStrings(_ value: ArraySlice<UInt8>) -> [(tag: UInt32, text: String)] {
        var found: [(tag: UInt32, text: String)] = []
        guard let root = try? ASN1Element(value, .der), var members = try? ASN1Members(root, "the system") else {
            return []
        }
        while let member = try? members.next() {
            guard let text = octets(in: member).flatMap({ String(validating: $0, as: UTF8.self) }),
                text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value < 0x7F }), text.utf8.count <= 64
            else { continue }
            found.append((member.number, text))
        }
        return found
    }

    /// The octets of `SEQUENCE { [3] { OCTET STRING } }`.
    private static func accessControl(_ value: ArraySlice<UInt8>) -> [UInt8]? {
        guard let root = try? ASN1Element(value, .der), var members = try? ASN1Members(root, "the access control")
        else {
            return nil
        }
        while let member = try? members.next() {
            if member.tag == .context(3) { return octets(in: member).map(Array.init) }
        }
        return nil
    }

    /// The octets in `[n] { OCTET STRING }`, if nothing else is in it.
    private static func octets(in member: ASN1Element) -> ArraySlice<UInt8>? {
        guard member.tag.isContextSpecific, member.tag.isConstructed,
            let inside = try? ASN1Element(member.content, .der)
        else { return nil }
        return inside.content(of: .octetString)
    }
}

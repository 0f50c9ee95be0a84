// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import SwiftASN1

/// What the leaf certificate of an attestation says about the device. Information, not proof of health.
public struct LeafFacts: Hashable, Sendable {
    /// The first and the last moment of the certificate's validity.
    public let notBefore: Date
    public let notAfter: Date
    /// The version of the device's system, for example `27.0.1`, where the certificate says so.
    public let osVersion: String?
    /// The build of the device's system, for example `24A446`, where the certificate says so.
    public let osBuild: String?
    /// The access control of the key as DER (extension 1.2.840.113635.100.8.6), where present: from iOS 26.1 and macOS 27 on.
    public let accessControl: [UInt8]?

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
    private static func taggedStrings(_ value: ArraySlice<UInt8>) -> [(tag: UInt, text: String)] {
        guard let root = try? DER.parse(value), root.identifier == .sequence, let members = root.children else {
            return []
        }
        return members.compactMap { member in
            guard member.identifier.tagClass == .contextSpecific, let children = member.children,
                let content = children.first(where: { _ in true })?.primitive(.octetString),
                let text = String(validating: content, as: UTF8.self),
                text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value < 0x7F }), text.utf8.count <= 64
            else { return nil }
            return (member.identifier.tagNumber, text)
        }
    }

    /// The octets of `SEQUENCE { [3] { OCTET STRING } }`.
    private static func accessControl(_ value: ArraySlice<UInt8>) -> [UInt8]? {
        guard let root = try? DER.parse(value), root.identifier == .sequence, let members = root.children,
            let member = members.first(where: { $0.identifier == .init(tagWithNumber: 3, tagClass: .contextSpecific) }),
            let content = member.children?.first(where: { _ in true })?.primitive(.octetString)
        else { return nil }
        return Array(content)
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
package import PropertyLists
package import Vocabulary

/// Reads the entitlements that a Mach-O executable carries in its code signature. The signature itself is not verified:
/// these are claims of the file.
///
/// Layout: `LC_CODE_SIGNATURE` names a range of the file, there lies a SuperBlob (big-endian), and in it the entitlements
/// as a property list and, in newer signatures, once more in DER. Source: Security's `cs_blobs.h`. Each count and size is bounded before it is used.
package enum CodeSignature {
    /// The most bytes of an executable that is unpacked from an archive.
    static let unpackedBytes = 128 << 20
    /// The most bytes of all executables of one archive.
    static let unpackedBytesOfArchive = 512 << 20

    /// LC_CODE_SIGNATURE.
    private static let signatureCommand = 0x1D
    private static let blobs = 64
    /// The most blobs of entitlements that are read, over all architectures. An honest file is done after the first two.
    private static let attempts = 8
    private static let entitlementBytes = 1 << 20
    /// The most values of entitlements; an app has some dozens.
    static let entitlementValues = 2_000

    private static let superBlobMagic = 0xFADE_0CC0
    private static let listMagic = 0xFADE_7171
    private static let encodedMagic = 0xFADE_7172

    /// What App Attest needs of the entitlements. Nil if the file is no signed executable, or has none.
    static func entitlement(_ source: some ByteSource, name: String) -> AttestEntitlement? {
        guard let claims = try? entitlements(source) else { return nil }
        return AttestEntitlement(entitlements: claims, team: nil, source: name)
    }

    /// The entitlements as a dictionary, those of the first architecture that has some.
    package static func entitlements(_ source: some ByteSource) throws(MalformedInput) -> PlistNode? {
        var attempts = attempts
        for start in try MachOImage.starts(in: source) {
            guard let image = try MachOImage(source, start: start), let (_, word) = image.first([signatureCommand])
            else {
                continue
            }
            if let found = try superBlob(source, start: start + word(0), &attempts) { return found }
        }
        return nil
    }

    private static func superBlob(
        _ source: some ByteSource, start: Int, _ attempts: inout Int
    ) throws(MalformedInput) -> PlistNode? {
        let head = try FileNumbers(source, start, 12)
        let count = head.big(8, 4)
        guard head.big(0, 4) == superBlobMagic, count <= blobs else { return nil }
        let index = try FileNumbers(source, start + 12, count * 8)
        var encoded: PlistNode?
        for entry in 0..<count {
            let place = start + index.big(entry * 8 + 4, 4)
            let blob = try FileNumbers(source, place, 8)
            let magic = blob.big(0, 4)
            let length = blob.big(4, 4)
            guard magic == listMagic || magic == encodedMagic, length >= 8, length <= entitlementBytes, attempts > 0
            else { continue }
            attempts -= 1
            let contents = try source.part(at: place + 8, count: length - 8)
            if magic == encodedMagic {
                encoded = EncodedEntitlements.read(contents)
            } else if let document = try? PlistReader.read(contents, values: CodeSignature.entitlementValues),
                document.root.members != nil
            {
                return document.root
            }
        }
        return encoded
    }
}

/// Reads entitlements in DER: `[APPLICATION 16] { INTEGER 1, [16] { SEQUENCE { UTF8String key, value } ... } }`.
package enum EncodedEntitlements {
    private static let depth = 16

    package static func read(_ bytes: [UInt8]) -> PlistNode? {
        var values = CodeSignature.entitlementValues
        do throws(ASN1Fault) {
            var outer = try ASN1Members(try ASN1Element(bytes[...], .der), "entitlements", tag: application16)
            _ = try outer.content(.integer)
            let root = try node(try outer.require(), level: 0, &values)
            return root.members == nil ? nil : root
        } catch {
            return nil
        }
    }

    private static let application16 = ASN1Tag(0x70)

    private static func node(_ element: ASN1Element, level: Int, _ values: inout Int) throws(ASN1Fault) -> PlistNode {
        values -= 1
        guard level < depth, values >= 0 else { throw ASN1Fault("entitlements are too deep or too many") }
        switch element.tag {
        case .boolean: return PlistNode(.boolean(element.content.first != 0 && !element.content.isEmpty))
        case .integer:
            guard (1...8).contains(element.content.count) else { throw ASN1Fault("a number is too large") }
            let isNegative = (element.content.first ?? 0) & 0x80 != 0
            return PlistNode(.integer(element.content.reduce(isNegative ? -1 : 0) { $0 << 8 | Int($1) }))
        case .utf8String: return PlistNode(.string(try text(element.content, isKey: false)))
        case .sequence:
            var elements: [PlistNode] = []
            var members = try ASN1Members(element, "an array")
            while let next = try members.next() { elements.append(try node(next, level: level + 1, &values)) }
            return PlistNode(.array(elements))
        case .context(16):
            var found: [PlistMember] = []
            var members = try ASN1Members(element, "a dictionary", tag: .context(16))
            while let next = try members.next() {
                var pair = try ASN1Members(next, "a member")
                let key = try text(try pair.content(.utf8String), isKey: true)
                let value = try node(try pair.require(), level: level + 1, &values)
                try pair.end()
                found.append(PlistMember(key, value))
            }
            return PlistNode(.dictionary(found))
        default: throw ASN1Fault("entitlements have a value of an unknown type")
        }
    }

    private static func text(_ bytes: ArraySlice<UInt8>, isKey: Bool) throws(ASN1Fault) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        if let fault = PlistText.fault(text, isKey: isKey) { throw ASN1Fault(fault) }
        return text
    }
}

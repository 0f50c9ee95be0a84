// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings

/// Reads the entitlements that a Mach-O executable carries in its code signature. The signature itself is not verified:
/// these are claims of the file.
///
/// Layout: `LC_CODE_SIGNATURE` names a range of the file, there lies a SuperBlob (big-endian), and in it the entitlements
/// as a property list and, in newer signatures, once more in DER. Source: Security's `cs_blobs.h`. Each count and size is bounded before it is used.
enum CodeSignature {
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

    /// What App Attest needs of the entitlements. Nil where the file is no signed executable, or has none.
    static func entitlement(_ source: some ByteSource, name: String) -> AttestEntitlement? {
        guard let claims = try? entitlements(source) else { return nil }
        return AttestEntitlement(entitlements: claims, team: nil, source: name)
    }

    /// The entitlements as a dictionary, those of the first architecture that has some.
    ///
    /// - Throws: `MalformedInput` where the file is cut off.
    static func entitlements(_ source: some ByteSource) throws(MalformedInput) -> PlistNode? {
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
        _ source: some ByteSource,
        start: Int,
        _ attempts: inout Int
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
            let contents = try source.bytes(at: place + 8, count: length - 8)
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
enum EncodedEntitlements {
    private static let depth = 16

    static func read(_ bytes: [UInt8]) -> PlistNode? {
        var values = CodeSignature.entitlementValues
        guard let outer = element(bytes[...]), outer.tag == 0x70, let version = element(outer.contents),
            version.tag == 0x02, let list = element(version.rest)
        else { return nil }
        let root = node(list.tag, list.contents, level: 0, &values)
        return root?.members == nil ? nil : root
    }

    private static func node(_ tag: UInt8, _ contents: ArraySlice<UInt8>, level: Int, _ values: inout Int) -> PlistNode?
    {
        values -= 1
        guard level < depth, values >= 0 else { return nil }
        switch tag {
        case 0x01: return PlistNode(.boolean(contents.first != 0 && !contents.isEmpty))
        case 0x02:
            guard (1...8).contains(contents.count) else { return nil }
            let isNegative = (contents.first ?? 0) & 0x80 != 0
            return PlistNode(.integer(contents.reduce(isNegative ? -1 : 0) { $0 << 8 | Int($1) }))
        case 0x0C: return text(contents, isKey: false).map { PlistNode(.string($0)) }
        case 0x30:
            var elements: [PlistNode] = []
            var rest = contents
            while !rest.isEmpty {
                guard let next = element(rest), let value = node(next.tag, next.contents, level: level + 1, &values)
                else { return nil }
                elements.append(value)
                rest = next.rest
            }
            return PlistNode(.array(elements))
        case 0xB0:
            var members: [PlistMember] = []
            var rest = contents
            while !rest.isEmpty {
                guard let pair = element(rest), pair.tag == 0x30, let key = element(pair.contents), key.tag == 0x0C,
                    let value = element(key.rest), value.rest.isEmpty,
                    let name = text(key.contents, isKey: true),
                    let read = node(value.tag, value.contents, level: level + 1, &values)
                else { return nil }
                members.append(PlistMember(name, read))
                rest = pair.rest
            }
            return PlistNode(.dictionary(members))
        default: return nil
        }
    }

    private static func text(_ bytes: ArraySlice<UInt8>, isKey: Bool) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        return PlistText.fault(text, isKey: isKey) == nil ? text : nil
    }

    private static func element(_ bytes: ArraySlice<UInt8>) -> (
        tag: UInt8, contents: ArraySlice<UInt8>, rest: ArraySlice<UInt8>
    )? {
        guard let tag = bytes.first, let first = bytes.dropFirst().first else { return nil }
        var body = bytes.dropFirst(2)
        var length = Int(first)
        if first >= 0x80 {
            let size = Int(first & 0x7F)
            guard (1...4).contains(size), body.count >= size else { return nil }
            length = body.prefix(size).reduce(0) { $0 << 8 | Int($1) }
            body = body.dropFirst(size)
        }
        guard length <= body.count else { return nil }
        return (tag, body.prefix(length), body.dropFirst(length))
    }
}

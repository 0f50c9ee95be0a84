// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Vocabulary

/// A name as certificates write it, for showing and for comparing.
struct DistinguishedName: Sendable {
    struct Attribute: Sendable {
        let type: String
        /// The text; nil if the value is not a string type.
        let text: String?
        let encoded: [UInt8]
    }

    /// Relative names in the order of the encoding, each with its attributes.
    let relativeNames: [[Attribute]]
    let der: [UInt8]

    init(_ node: ASN1Element, _ what: String) throws(MalformedInput) {
        der = Array(node.encodedBytes)
        var relativeNames: [[Attribute]] = []
        var sequence = try DERReader(node, what)
        while let set = sequence.next() {
            var attributes: [Attribute] = []
            var members = try DERReader(set, what)
            while let member = members.next() {
                var pair = try DERReader(member, what)
                let type = try pair.required("type").objectIdentifier("attribute type of \(what)")
                let value = try pair.required("value")
                attributes.append(
                    Attribute(type: type, text: DistinguishedName.text(of: value), encoded: Array(value.encodedBytes)))
            }
            relativeNames.append(attributes)
        }
        self.relativeNames = relativeNames
    }

    var commonNames: [String] {
        relativeNames.flatMap { $0 }.filter { $0.type == "2.5.4.3" }.compactMap(\.text)
    }

    /// RFC 4514: the last relative name first. It is for people: what is longer than 1024 bytes is cut there and ends with `...`.
    var text: String {
        var result = ""
        for attributes in relativeNames.reversed() {
            if !result.isEmpty { result += "," }
            for (index, attribute) in attributes.enumerated() {
                if index > 0 { result += "+" }
                result += DistinguishedName.shortNames[attribute.type] ?? attribute.type
                if let text = attribute.text {
                    result += "="
                    DistinguishedName.append(escaped: text, to: &result)
                } else {
                    result += "=#" + attribute.encoded.prefix(DistinguishedName.textLimit).hexadecimal(uppercase: true)
                }
                guard result.utf8.count <= DistinguishedName.textLimit else {
                    return DistinguishedName.cut(result) + "..."
                }
            }
        }
        return result
    }

    /// Equal for two names that RFC 5280 section 7.1 compares as equal: string type, case and runs of spaces do not matter.
    ///
    /// Bytes, because the server chooses the text. An attribute with a longer text than any honest one has is compared as it is encoded.
    var comparisonKey: EncodedKey { EncodedKey(relativeKeys.flatMap { $0 }) }

    /// The part of the comparison key that each relative name makes.
    var relativeKeys: [[UInt8]] {
        relativeNames.map { attributes in
            let parts = attributes.map(DistinguishedName.comparisonKey).sorted { $0.lexicographicallyPrecedes($1) }
            return [UInt8](",".utf8) + parts.flatMap { [UInt8]("+".utf8) + $0 }
        }
    }

    /// The attributes emailAddress (PKCS #9), as bytes.
    var mailAddresses: [[UInt8]] {
        relativeNames.flatMap { $0 }.filter { $0.type == "1.2.840.113549.1.9.1" }.compactMap {
            $0.text.map { Array($0.utf8) }
        }
    }

    private static func comparisonKey(_ attribute: Attribute) -> [UInt8] {
        guard let text = attribute.text, text.utf8.count <= textLimit else {
            return Array("\(attribute.type)#\(attribute.encoded.count):".utf8) + attribute.encoded
        }
        let words = Array(text.lowercased().utf8.split(separator: 0x20).joined(separator: [0x20]))
        return Array("\(attribute.type)=\(words.count):".utf8) + words
    }

    /// The comparison key of an encoded name; the bytes themselves if they are no name.
    static func comparisonKey(_ der: [UInt8]) -> EncodedKey {
        guard let node = try? DERReader.parse(der[...], "name"), let name = try? DistinguishedName(node, "name") else {
            return EncodedKey(Array("#".utf8) + der)
        }
        return name.comparisonKey
    }

    /// Upper bounds of RFC 5280 appendix A.1 are 64 to 128 characters for nearly all attributes; real names stay under 300 bytes.
    static let textLimit = 1024

    private static func text(of node: ASN1Element) -> String? {
        let bytes = node.content
        switch node.tag {
        case .utf8String: return String(validating: bytes, as: UTF8.self)
        case .printableString, .ia5String, .numericString, .visibleString, .teletexString:
            return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        case .bmpString:
            guard bytes.count.isMultiple(of: 2) else { return nil }
            return String(validating: bytes.bigEndian(UInt16.self), as: UTF16.self)
        case .universalString:
            guard bytes.count.isMultiple(of: 4) else { return nil }
            return String(validating: bytes.bigEndian(UInt32.self), as: UTF32.self)
        default: return nil
        }
    }

    /// Appends the text with the escapes of RFC 4514, and no more of it than the limit lets show.
    private static func append(escaped text: String, to result: inout String) {
        let scalars = text.unicodeScalars
        var index = scalars.startIndex
        while index < scalars.endIndex, result.utf8.count <= textLimit {
            let scalar = scalars[index]
            let isFirst = index == scalars.startIndex
            index = scalars.index(after: index)
            switch scalar {
            case ",", "+", "\"", "\\", "<", ">", ";": result += "\\"
            case "#" where isFirst: result += "\\"
            case " " where isFirst || index == scalars.endIndex: result += "\\"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F || (0x80..<0xA0).contains(scalar.value):
                // Control characters could drive a terminal; they are always written as hexadecimal pairs.
                result += Array(String(scalar).utf8).map { "\\" + [$0].hexadecimal(uppercase: true) }.joined()
                continue
            default: break
            }
            result.unicodeScalars.append(scalar)
        }
    }

    /// At most the limit, whole scalars.
    private static func cut(_ text: String) -> String {
        var end = text.utf8.index(text.startIndex, offsetBy: textLimit, limitedBy: text.endIndex) ?? text.endIndex
        while end > text.startIndex, end.samePosition(in: text.unicodeScalars) == nil {
            end = text.utf8.index(before: end)
        }
        return String(text.unicodeScalars[..<end])
    }

    /// RFC 4514 section 3, and the names that the `openssl` program uses for some more.
    private static let shortNames = [
        "2.5.4.3": "CN", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.6": "C",
        "2.5.4.9": "STREET", "0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID",
        "1.2.840.113549.1.9.1": "emailAddress", "2.5.4.5": "serialNumber", "2.5.4.4": "SN", "2.5.4.42": "GN",
        "2.5.4.12": "title", "2.5.4.15": "businessCategory", "2.5.4.17": "postalCode",
        "2.5.4.97": "organizationIdentifier",
    ]
}

extension Collection<UInt8> {
    /// The whole units in them.
    fileprivate func bigEndian<Unit: FixedWidthInteger>(_ type: Unit.Type) -> [Unit] {
        let size = MemoryLayout<Unit>.size
        var units: [Unit] = []
        units.reserveCapacity(count / size)
        var (unit, bytes): (Unit, Int) = (0, 0)
        for byte in self {
            unit = unit << 8 | Unit(byte)
            bytes += 1
            guard bytes == size else { continue }
            units.append(unit)
            (unit, bytes) = (0, 0)
        }
        return units
    }
}

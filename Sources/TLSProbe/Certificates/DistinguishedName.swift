// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import SwiftASN1

/// A name as certificates write it, for showing and for comparing.
struct DistinguishedName: Sendable {
    struct Attribute: Sendable {
        let type: String
        /// The text; nil where the value is not a string type.
        let text: String?
        let encoded: [UInt8]
    }

    /// Relative names in the order of the encoding, each with its attributes.
    let relativeNames: [[Attribute]]
    let der: [UInt8]

    init(_ node: ASN1Node, _ what: String) throws(MalformedInput) {
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
                    Attribute(type: type, text: DistinguishedName.text(of: value), encoded: Array(value.encodedBytes))
                )
            }
            relativeNames.append(attributes)
        }
        self.relativeNames = relativeNames
    }

    var commonNames: [String] {
        relativeNames.flatMap { $0 }.filter { $0.type == "2.5.4.3" }.compactMap(\.text)
    }

    /// RFC 4514: the last relative name first.
    var text: String {
        relativeNames.reversed().map { attributes in
            attributes.map { attribute in
                let name = DistinguishedName.shortNames[attribute.type] ?? attribute.type
                guard let text = attribute.text else { return name + "=#" + attribute.encoded.hexadecimal }
                return name + "=" + DistinguishedName.escaped(text)
            }.joined(separator: "+")
        }.joined(separator: ",")
    }

    /// Equal for two names that RFC 5280 section 7.1 compares as equal: string type, case and runs of spaces do not matter.
    var comparisonKey: String {
        relativeNames.map { attributes in
            attributes.map { attribute in
                guard let text = attribute.text else { return attribute.type + "#" + attribute.encoded.hexadecimal }
                let words = text.lowercased().split(whereSeparator: { $0 == " " }).joined(separator: " ")
                return "\(attribute.type)=\(words.utf8.count):\(words)"
            }.sorted().joined(separator: "+")
        }.joined(separator: ",")
    }

    /// The comparison key of an encoded name; the bytes themselves where they are no name.
    static func comparisonKey(_ der: [UInt8]) -> String {
        guard let node = try? DERReader.parse(der[...], "name"), let name = try? DistinguishedName(node, "name") else {
            return "#" + der.hexadecimal
        }
        return name.comparisonKey
    }

    private static func text(of node: ASN1Node) -> String? {
        guard case .primitive(let bytes) = node.content else { return nil }
        switch node.identifier {
        case .utf8String: return String(validating: bytes, as: UTF8.self)
        case .printableString, .ia5String, .numericString, .visibleString, .teletexString:
            return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        case .bmpString:
            guard bytes.count.isMultiple(of: 2) else { return nil }
            return String(validating: bytes.grouped(by: 2).map { UInt16($0[0]) << 8 | UInt16($0[1]) }, as: UTF16.self)
        case .universalString:
            guard bytes.count.isMultiple(of: 4) else { return nil }
            let units = bytes.grouped(by: 4).map { $0.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }
            return String(validating: units, as: UTF32.self)
        default: return nil
        }
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for (index, scalar) in text.unicodeScalars.enumerated() {
            switch scalar {
            case ",", "+", "\"", "\\", "<", ">", ";": result += "\\"
            case "#" where index == 0: result += "\\"
            case " " where index == 0 || index == text.unicodeScalars.count - 1: result += "\\"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F || (0x80..<0xA0).contains(scalar.value):
                // Control characters could drive a terminal; they are always written as hexadecimal pairs.
                result += Array(String(scalar).utf8).map { "\\" + [$0].hexadecimal }.joined()
                continue
            default: break
            }
            result.unicodeScalars.append(scalar)
        }
        return result
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
    /// Upper-case hexadecimal without separators.
    package var hexadecimal: String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count * 2)
        for byte in self {
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 15)])
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    fileprivate func grouped(by size: Int) -> [[UInt8]] {
        let all = Array(self)
        return stride(from: 0, to: all.count - size + 1, by: size).map { Array(all[$0..<$0 + size]) }
    }
}

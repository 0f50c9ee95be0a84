// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Findings
package import SwiftASN1

/// Reads the members of one constructed DER value in order.
///
/// Everything that goes wrong is a `MalformedInput` with the code `malformed.certificate`; nothing traps.
package struct DERReader {
    private var rest: ASN1NodeCollection.Iterator
    private var peeked: ASN1Node?
    private let what: String

    /// - Parameter what: the name of the structure, for the reason of an error.
    package init(_ node: ASN1Node, _ what: String) throws(MalformedInput) {
        guard case .constructed(let members) = node.content else {
            throw .certificate("\(what) is not a constructed value")
        }
        rest = members.makeIterator()
        self.what = what
    }

    /// Parses one complete DER value; bytes after it are an error.
    package static func parse(_ bytes: ArraySlice<UInt8>, _ what: String) throws(MalformedInput) -> ASN1Node {
        do {
            return try DER.parse(bytes)
        } catch {
            throw .certificate("\(what) is not DER: \(error)")
        }
    }

    package mutating func peek() -> ASN1Node? {
        if peeked == nil { peeked = rest.next() }
        return peeked
    }

    package mutating func next() -> ASN1Node? {
        let node = peek()
        peeked = nil
        return node
    }

    package mutating func required(_ member: String) throws(MalformedInput) -> ASN1Node {
        guard let node = next() else { throw .certificate("\(what) has no \(member)") }
        return node
    }

    package mutating func required(_ member: String, _ tag: ASN1Identifier) throws(MalformedInput) -> ASN1Node {
        let node = try required(member)
        guard node.identifier == tag else { throw .certificate("\(member) of \(what) has another type") }
        return node
    }

    /// The next member if it has the context-specific tag `number`.
    package mutating func optional(context number: UInt) -> ASN1Node? {
        guard let node = peek(), node.identifier == ASN1Identifier(tagWithNumber: number, tagClass: .contextSpecific)
        else { return nil }
        return next()
    }

    package mutating func optional(_ tag: ASN1Identifier) -> ASN1Node? {
        guard let node = peek(), node.identifier == tag else { return nil }
        return next()
    }
}

extension ASN1Node {
    /// The content bytes of a primitive value.
    package func primitive(_ what: String) throws(MalformedInput) -> ArraySlice<UInt8> {
        guard case .primitive(let bytes) = content else { throw .certificate("\(what) is not a primitive value") }
        return bytes
    }

    /// The one value inside an explicit tag.
    package func explicit(_ what: String) throws(MalformedInput) -> ASN1Node {
        var reader = try DERReader(self, what)
        return try reader.required("value")
    }

    /// The dotted form of an object identifier.
    package func objectIdentifier(_ what: String) throws(MalformedInput) -> String {
        guard identifier == .objectIdentifier else { throw .certificate("\(what) is not an object identifier") }
        let content = try primitive(what)
        guard content.count <= ASN1Node.maximumIdentifier else { throw .certificate("\(what) is too long") }
        var text: [UInt8] = []
        text.reserveCapacity(content.count * 3 + 2)
        var value: UInt64 = 0
        var open = false
        for byte in content {
            guard value <= UInt64.max >> 7 else { throw .certificate("\(what) has a huge arc") }
            value = value << 7 | UInt64(byte & 0x7F)
            open = byte & 0x80 != 0
            if open { continue }
            if text.isEmpty {
                let root = min(value / 40, 2)
                text.append(UInt8(ascii: "0") + UInt8(root))
                value -= root * 40
            }
            text.append(UInt8(ascii: "."))
            ASN1Node.append(value, to: &text)
            value = 0
        }
        guard !text.isEmpty, !open else { throw .certificate("\(what) is cut short") }
        return String(decoding: text, as: UTF8.self)
    }

    /// Bytes of an object identifier: registered ones have under 20, and those made of a UUID under 30.
    private static let maximumIdentifier = 128

    /// Appends the decimal digits of a number.
    private static func append(_ value: UInt64, to text: inout [UInt8]) {
        let start = text.count
        var rest = value
        repeat {
            text.append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        text[start...].reverse()
    }

    /// The bytes of a bit string that is a whole number of bytes.
    package func bitStringBytes(_ what: String) throws(MalformedInput) -> ArraySlice<UInt8> {
        guard identifier == .bitString else { throw .certificate("\(what) is not a bit string") }
        let bytes = try primitive(what)
        guard bytes.first == 0 else { throw .certificate("\(what) is not a whole number of bytes") }
        return bytes.dropFirst()
    }

    /// The magnitude of a non-negative integer without leading zeros.
    package func magnitude(_ what: String) throws(MalformedInput) -> ArraySlice<UInt8> {
        guard identifier == .integer else { throw .certificate("\(what) is not an integer") }
        return try primitive(what).drop { $0 == 0 }
    }
}

extension MalformedInput {
    /// Something that should be a certificate, or a part of one, and is not.
    package static func certificate(_ reason: String) -> MalformedInput {
        MalformedInput(code: "malformed.certificate", reason: reason)
    }
}

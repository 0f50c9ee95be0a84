// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Formats
package import FoundationEssentials
package import Vocabulary

/// Reads the members of one constructed value of a certificate in order, by names that the reason of an error gives.
///
/// Everything that goes wrong is a `MalformedInput` with the code `malformed.certificate`; nothing traps.
package struct DERReader {
    private var rest: ArraySlice<UInt8>
    private let what: String

    /// - Parameter what: the name of the structure, for the reason of an error.
    package init(_ node: ASN1Element, _ what: String) throws(MalformedInput) {
        guard node.tag.isConstructed else { throw .certificate("\(what) is not a constructed value") }
        rest = node.content
        self.what = what
    }

    /// Parses one complete DER value; bytes after it are an error.
    package static func parse(_ bytes: ArraySlice<UInt8>, _ what: String) throws(MalformedInput) -> ASN1Element {
        do throws(ASN1Fault) {
            return try ASN1Element(complete: bytes)
        } catch {
            throw .certificate("\(what) is not DER: \(error.reason)")
        }
    }

    /// The same without a look at what is inside, for a value that ``parse(_:_:)`` has returned before, or whose members are all looked at.
    static func frame(_ bytes: ArraySlice<UInt8>, _ what: String) throws(MalformedInput) -> ASN1Element {
        do throws(ASN1Fault) {
            return try ASN1Element(bytes, .der)
        } catch {
            throw .certificate("\(what) is not DER: \(error.reason)")
        }
    }

    package mutating func next() -> ASN1Element? {
        rest.isEmpty ? nil : try? ASN1Element(readingFrom: &rest, .der)
    }

    package mutating func required(_ member: String) throws(MalformedInput) -> ASN1Element {
        guard let node = next() else { throw .certificate("\(what) has no \(member)") }
        return node
    }

    package mutating func required(_ member: String, _ tag: ASN1Tag) throws(MalformedInput) -> ASN1Element {
        let node = try required(member)
        guard node.tag == tag else { throw .certificate("\(member) of \(what) has another type") }
        return node
    }

    /// The next member if it has the context-specific tag `number`, which is under 31, in either form.
    package mutating func optional(context number: UInt8) -> ASN1Element? {
        rest.first.map { $0 & 0xDF == 0x80 | number } == true ? next() : nil
    }

    package mutating func optional(_ tag: ASN1Tag) -> ASN1Element? {
        rest.first == tag.octet ? next() : nil
    }
}

extension ASN1Element {
    /// The content bytes of a primitive value.
    package func primitive(_ what: String) throws(MalformedInput) -> ArraySlice<UInt8> {
        guard !tag.isConstructed else { throw .certificate("\(what) is not a primitive value") }
        return content
    }

    /// The one value inside an explicit tag.
    package func explicit(_ what: String) throws(MalformedInput) -> ASN1Element {
        var reader = try DERReader(self, what)
        return try reader.required("value")
    }

    /// The dotted form of an object identifier.
    package func objectIdentifier(_ what: String) throws(MalformedInput) -> String {
        do throws(ASN1Fault) {
            return try dottedIdentifier()
        } catch {
            throw .certificate("\(what) cannot be read: \(error.reason)")
        }
    }

    /// The moment of a UTCTime or GeneralizedTime, also in the older forms.
    package func moment(_ what: String) throws(MalformedInput) -> Date {
        do throws(ASN1Fault) {
            return try time(.any)
        } catch {
            throw .certificate("\(what) is not a time: \(String(decoding: content.prefix(32), as: UTF8.self))")
        }
    }

    /// The bytes of a bit string that is a whole number of bytes.
    package func bitStringBytes(_ what: String) throws(MalformedInput) -> ArraySlice<UInt8> {
        guard tag == .bitString else { throw .certificate("\(what) is not a bit string") }
        guard content.first == 0 else { throw .certificate("\(what) is not a whole number of bytes") }
        return content.dropFirst()
    }

    /// The magnitude of a non-negative integer without leading zeros.
    package func magnitude(_ what: String) throws(MalformedInput) -> ArraySlice<UInt8> {
        guard tag == .integer else { throw .certificate("\(what) is not an integer") }
        return content.drop { $0 == 0 }
    }
}

extension MalformedInput {
    /// Something that should be a certificate, or a part of one, and is not.
    package static func certificate(_ reason: String) -> MalformedInput {
        MalformedInput(code: .malformedCertificate, reason: reason)
    }
}

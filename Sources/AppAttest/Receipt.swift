// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
package import FoundationEssentials
package import Vocabulary

/// An App Attest receipt as it was sent, read but not judged.
///
/// A receipt is a list of numbered fields, signed by Apple. Fields that this version does not know are kept.
package struct Receipt: Sendable {
    /// The most bytes that are read. Real receipts have about 4 kB.
    package static let largestSize = 64 << 10

    /// One field. The same number may occur twice in a receipt that was tampered with; the verifier refuses that.
    package struct Field: Hashable, Sendable {
        /// The number of the field; Apple's meanings are in ``Receipt``.
        package let number: Int
        /// The version that stands with the field.
        package let version: Int
        /// The content as it stands.
        package let value: [UInt8]

        /// The value as text if it is UTF-8.
        package var text: String? { String(validating: value, as: UTF8.self) }
    }

    /// The fields in the order of the receipt.
    package let fields: [Field]
    let message: SignedMessage

    /// Reads a receipt in BER or DER.
    ///
    /// - Throws: `malformed.too-large`, `malformed.receipt`.
    package init(decoding bytes: some Collection<UInt8>) throws(MalformedInput) {
        guard bytes.count <= Receipt.largestSize else {
            throw MalformedInput(
                code: .malformedTooLarge,
                reason: "a receipt may have at most \(Receipt.largestSize) bytes, not \(bytes.count)")
        }
        if let first = bytes.first, (0xA1...0xBF).contains(first) {
            throw MalformedInput(
                code: .malformedReceipt,
                reason:
                    "this is CBOR: an attestation or an assertion. The receipt of an attestation is inside it, in attStmt"
            )
        }
        do {
            message = try SignedMessage(decoding: Array(bytes)[...])
            fields = try Receipt.fields(message.content)
        } catch {
            let reason = bytes.wereText ? MalformedInput.madeText : error.reason
            throw MalformedInput(code: .malformedReceipt, reason: "a receipt must be CMS signed data; \(reason)")
        }
        // StoreKit's are of the same kind; there each value is DER, and the second a UTF8String.
        if let name = fields.first(where: { $0.number == 2 })?.value, name.first == 0x0C,
            name.dropFirst().first.map(Int.init) == name.count - 2
        {
            throw MalformedInput(
                code: .malformedReceipt,
                reason:
                    "this is a receipt of the App Store (StoreKit), about purchases; App Attest's is inside an attestation, in attStmt"
            )
        }
    }

    /// `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`, in any order.
    private static func fields(_ payload: [UInt8]) throws(ASN1Fault) -> [Field] {
        var list = try ASN1Members(try ASN1Element(payload[...], .ber), "the list of fields", tag: .set)
        var fields: [Field] = []
        while let node = try list.next() {
            guard fields.count < 64 else { throw ASN1Fault("there are more than 64 fields") }
            var parts = try ASN1Members(node, "a field")
            let number = try small(try parts.content(.integer))
            let version = try small(try parts.content(.integer))
            fields.append(Field(number: number, version: version, value: Array(try parts.content(.octetString))))
            try parts.end()
        }
        return fields
    }

    private static func small(_ content: ArraySlice<UInt8>) throws(ASN1Fault) -> Int {
        guard let first = content.first, content.count <= 4, first < 0x80 else {
            throw ASN1Fault("a field's number is out of range")
        }
        return content.reduce(0) { $0 << 8 | Int($1) }
    }

    /// The certificates that came with the receipt, as DER; none of them is trusted for being there.
    package var certificates: [[UInt8]] { message.certificates.map(Array.init) }

    /// The first field with this number.
    package func field(_ number: Int) -> Field? { fields.first { $0.number == number } }

    /// Field 2: the application identifier.
    package var applicationId: String? { field(2)?.text }
    /// Field 3: the attested key's certificate as DER.
    package var attestedCertificate: [UInt8]? { field(3)?.value }
    /// Field 4: the client data hash. Exact in the first receipt only: later ones hold it mangled through text.
    package var clientDataHash: [UInt8]? { field(4)?.value }
    /// Field 6.
    package var type: ReceiptType? { field(6)?.text.map(ReceiptType.init(rawValue:)) }
    /// Field 7: `sandbox` or `production`.
    package var environment: String? { field(7)?.text }
    /// Field 12.
    package var creationTime: Date? { field(12).flatMap { Receipt.time($0.value) } }
    /// Field 17: how many keys this device attested for the app in the last 30 days, about.
    package var riskMetric: Int? { field(17).flatMap { Receipt.metric($0.value) } }
    /// Field 19: when a newer receipt may be asked for. It never refuses a receipt.
    package var refreshNotBefore: Date? { field(19).flatMap { Receipt.time($0.value) } }
    /// Field 21.
    package var expirationTime: Date? { field(21).flatMap { Receipt.time($0.value) } }

    /// Up to nine decimal digits.
    static func metric(_ value: [UInt8]) -> Int? {
        String(decoding: value, as: UTF8.self).decimalNumber(digits: 9)
    }

    /// `2020-11-21T22:13:02.796Z`: UTC with no, or one to nine, digits of a second's fraction.
    static func time(_ value: [UInt8]) -> Date? {
        value.count <= 30 && value.last == UInt8(ascii: "Z") ? RFC3339.date(value) : nil
    }
}

/// Field 6 of a receipt. New types may appear, so this is not an enumeration.
public struct ReceiptType: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// The receipt inside an attestation.
    public static let attest = ReceiptType(rawValue: "ATTEST")
    /// A receipt that Apple issued in exchange for an earlier one, with a risk metric.
    public static let receipt = ReceiptType(rawValue: "RECEIPT")

    public var description: String { rawValue }
}

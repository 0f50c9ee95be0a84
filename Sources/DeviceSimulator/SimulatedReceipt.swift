// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// What a receipt says. The authority signs it with ``SimulatedAuthority/receipt(_:fault:)``.
package struct SimulatedReceipt: Sendable {
    /// Field 6.
    package enum ReceiptType: String, Sendable {
        /// The receipt inside an attestation.
        case attest = "ATTEST"
        /// One that was given in exchange, with a risk metric.
        case receipt = "RECEIPT"
    }

    /// How the message is encoded.
    package enum Encoding: Sendable, CaseIterable {
        /// As Apple sends it: indefinite lengths, content in chunks of 1000 bytes.
        case ber
        /// Definite lengths throughout.
        case der
    }

    /// Field 6.
    package var type: ReceiptType
    /// Field 2.
    package var applicationId: String
    /// Field 3: the leaf certificate of the attestation, as DER.
    package var certificate: [UInt8]
    /// Field 4.
    package var clientHash: [UInt8]
    /// Field 5: a text that Apple does not explain.
    package var token: String
    /// Field 7: `production` or `sandbox`.
    package var isProduction: Bool
    /// Field 12.
    package var creation: Date
    /// Field 17, in receipts that were given in exchange.
    package var riskMetric: Int?
    /// Field 19, in receipts that were given in exchange: when the next one may be asked for.
    package var refreshNotBefore: Date?
    /// Field 21.
    package var expiration: Date
    /// More fields, and other values for those above.
    package var otherFields: [Int: [UInt8]] = [:]
    /// Fields that are left out.
    package var omittedFields: Set<Int> = []
    /// How the CMS is written.
    package var encoding = Encoding.ber
    /// Signs attributes that hold the content's digest, as some receipts of 2020 have, instead of the content itself.
    package var signsAttributes = false

    /// The fields in the order of real receipts of the type.
    package var fields: [(number: Int, value: [UInt8])] {
        var fields: [(number: Int, value: [UInt8])] = []
        func add(_ number: Int, _ value: [UInt8]) {
            if !omittedFields.contains(number) { fields.append((number, otherFields[number] ?? value)) }
        }
        if let riskMetric { add(17, Array(String(riskMetric).utf8)) }
        if type == .receipt { add(6, Array(type.rawValue.utf8)) }
        add(2, Array(applicationId.utf8))
        add(3, certificate)
        // Apple's later receipts hold the hash after a passage through text, which mangles it.
        add(4, type == .attest ? clientHash : Array(String(decoding: clientHash, as: UTF8.self).utf8))
        add(5, Array(token.utf8))
        if type == .attest { add(6, Array(type.rawValue.utf8)) }
        add(7, Array((isProduction ? "production" : "sandbox").utf8))
        add(12, Array(CivilTime(creation).receiptText.utf8))
        if let refreshNotBefore { add(19, Array(CivilTime(refreshNotBefore).receiptText.utf8)) }
        add(21, Array(CivilTime(expiration).receiptText.utf8))
        let known = Set(fields.map(\.number))
        for (number, value) in otherFields.sorted(by: { $0.key < $1.key }) where !known.contains(number) {
            if !omittedFields.contains(number) { fields.append((number, value)) }
        }
        return fields
    }
}

extension SimulatedAuthority {
    /// The receipt that Apple would give in exchange for an earlier one.
    ///
    /// - Parameters:
    ///   - publicKey: the attested key, 65 bytes.
    ///   - leafCertificate: of the key's attestation.
    ///   - refreshNotBefore: a day after the creation by default, as Apple's samples have it.
    public func refreshedReceipt(
        app: SimulatedApp, publicKey: [UInt8], leafCertificate: [UInt8], clientDataHash: [UInt8], riskMetric: Int,
        at instant: Date, refreshNotBefore: Date? = nil, expiration: Date? = nil, fault: ReceiptFault? = nil
    ) throws -> [UInt8] {
        let content = SimulatedReceipt(
            type: .receipt, applicationId: app.applicationId, certificate: leafCertificate, clientHash: clientDataHash,
            token: token(for: publicKey), isProduction: app.isProduction, creation: instant, riskMetric: riskMetric,
            refreshNotBefore: refreshNotBefore ?? instant.addingTimeInterval(86_400),
            expiration: expiration ?? instant.addingTimeInterval(90 * 86_400))
        return try receipt(content, fault: fault)
    }

    /// Signs a receipt, with a fault if one is named.
    package func receipt(_ content: SimulatedReceipt, fault: ReceiptFault? = nil) throws -> [UInt8] {
        try receipt(content) { try fault?.row.change(&$0) }
    }

    /// Signs a receipt after anything in the recipe was changed.
    package func receipt(
        _ content: SimulatedReceipt, changing adjust: (inout ReceiptRecipe) throws -> Void
    ) throws -> [UInt8] {
        var recipe = ReceiptRecipe(content: content, authority: self)
        try adjust(&recipe)
        return try recipe.message()
    }
}

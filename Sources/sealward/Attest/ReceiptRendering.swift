// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import FoundationEssentials
import Vocabulary

/// A receipt as far as it can be read, and what was found about it.
struct JudgedReceipt {
    private var receipt: Receipt?
    private let verdict: ReceiptVerdict

    init(
        _ bytes: Result<[UInt8], MalformedInput>, _ roots: ReceiptRoots, _ expectations: ReceiptExpectations,
        at instant: Date
    ) async {
        do throws(MalformedInput) {
            let read = try Receipt(decoding: try bytes.get())
            receipt = read
            verdict = await ReceiptVerifier(roots: roots).verify(read, expectations, at: instant)
        } catch {
            verdict = .refused(Refusal(malformed: error))
        }
    }

    var outcome: Outcome { verdict.refusal == nil ? .clean : .findings }

    /// `sealward.receipt/1`. The fields are the receipt's own; they are proven only where the verdict is `accepted`.
    var json: JSONValue {
        let head = Refusal.document("sealward.receipt/1", verdict.refusal, step: verdict.refusal?.step)
        if let receipt { return .object(head + receipt.members) }
        let names = [
            "type", "appId", "environment", "creationTime", "refreshNotBefore", "expirationTime", "riskMetric",
            "fields",
        ]
        return .object(head + names.map { .init($0, nil) })
    }

    /// The same for people.
    var text: String {
        (verdict.refusal?.text(of: "receipt") ?? "accepted: all verification steps of the receipt passed\n")
            + (receipt.map(\.listing) ?? "")
    }
}

extension Receipt {
    /// `sealward.receipt-inspect/1`.
    var inspection: JSONValue { .object([.init("schema", "sealward.receipt-inspect/1")] + members) }

    fileprivate var members: [JSONValue.Member] {
        func time(_ number: Int, _ date: Date?) -> JSONValue { date == nil ? nil : .optional(field(number)?.text) }
        // The first field of each number, so that the document has no name twice.
        var seen: Set<Int> = []
        let unique = fields.filter { seen.insert($0.number).inserted }
        return [
            .init("type", .optional(type?.rawValue)), .init("appId", .optional(applicationId)),
            .init("environment", .optional(environment)), .init("creationTime", time(12, creationTime)),
            .init("refreshNotBefore", time(19, refreshNotBefore)), .init("expirationTime", time(21, expirationTime)),
            .init("riskMetric", .optional(riskMetric)),
            .init("fields", .object(unique.map { .init(String($0.number), .string($0.readable)) })),
        ]
    }

    /// Every field with what is known about it.
    var listing: String {
        fields.map { field in
            let name = Receipt.meanings[field.number] ?? "unknown"
            let number = String(repeating: " ", count: field.number < 10 ? 1 : 0) + String(field.number)
            return "  \(number)  \(name.padded(to: 22))  \(field.readable.terminalSafe)\n"
        }
        .joined()
            + (type == .attest
                ? "  17  \("risk metric".padded(to: 22))  none: only a receipt that was exchanged has one (sealward receipt refresh)\n"
                : "")
    }

    private static let meanings = [
        2: "app id", 3: "attested certificate", 4: "client data hash", 5: "token", 6: "type", 7: "environment",
        12: "created", 17: "risk metric", 19: "refresh not before", 21: "expires",
    ]
}

extension Receipt.Field {
    /// The value as text where it is printable; otherwise, and always for certificate and hash, as base64.
    var readable: String {
        guard number != 3, number != 4, let text,
            text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else { return Base64.encode(value) }
        return text
    }
}

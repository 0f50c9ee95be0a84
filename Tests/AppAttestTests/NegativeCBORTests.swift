// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Foundation
import Testing
import Vocabulary

/// Groups 1 to 19 of the negative list: the outer CBOR and base64. The numbers are those of the fact sheet's section 8.
@Suite struct NegativeCBORTests {
    @Test(arguments: NegativeCases.objects)
    func isRefused(_ item: NegativeCase<[UInt8]>) async throws {
        let stage = try Stage()
        var object = try stage.authority.attest(stage.request, at: stage.instant).object
        try item.change(&object)
        let verdict = try await stage.verdict(object)
        #expect(verdict.code == item.code, "\(verdict)")
    }

    @Test func group64AnAttestationAsAssertion() throws {
        let stage = try Stage()
        let object = try stage.authority.attest(stage.request, at: stage.instant).object
        #expect(try stage.assertionVerdict(object, previous: 0).code == "malformed.assertion")
    }

    /// Group 2: every truncation is malformed, of an attestation, an assertion and a receipt.
    @Test func group2EveryTruncation() async throws {
        let stage = try Stage()
        let object = try stage.authority.attest(stage.request, at: stage.instant).object
        for length in 0..<object.count {
            #expect(throws: MalformedInput(code: .malformedCBOR, reason: ""), "\(length) bytes") {
                try AttestationObject(decoding: object.prefix(length))
            }
        }
        let assertion = try stage.assertion(counter: 1)
        for length in 0..<assertion.count {
            #expect(try stage.assertionVerdict(Array(assertion.prefix(length)), previous: 0).code == "malformed.cbor")
        }
        for encoding in [ReceiptFault.unknownField, .distinguishedEncoding] {
            let receipt = try stage.refreshedReceipt(fault: encoding)
            for length in receipt.indices {
                #expect(throws: MalformedInput(code: .malformedReceipt, reason: ""), "\(length) bytes") {
                    try Receipt(decoding: receipt.prefix(length))
                }
            }
            #expect(try await stage.receiptVerdict(Array(receipt.dropLast())).code == "malformed.receipt")
        }
    }

    /// Group 19: base64 has one form.
    @Test(arguments: [
        ("AAEC", true), ("AAECAw==", true), ("AAECAw", false), ("AAECAx==", false), ("-_-_", false), ("AA EC", false),
        ("AAEC\n", false), ("AAEC=", false), ("====", false), ("A", false),
    ])
    func group19Base64(_ text: String, _ isAccepted: Bool) {
        #expect((Base64.decode(text) != nil) == isAccepted)
    }
}

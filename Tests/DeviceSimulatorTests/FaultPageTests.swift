// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Foundation
import TestSupport
import Testing

/// `docs/audit/faults.md` is what the simulator's tables say. `SEALWARD_REGENERATE=1` writes the page anew.
@Suite struct FaultPageTests {
    static let page = BuiltProgram.repository.appending(path: "docs/audit/faults.md")

    @Test func thePageIsTheTables() throws {
        let expected = FaultPageTests.rendered
        if ProcessInfo.processInfo.environment["SEALWARD_REGENERATE"] == "1" {
            try Data(expected.utf8).write(to: FaultPageTests.page)
        }
        #expect(try String(contentsOf: FaultPageTests.page, encoding: .utf8) == expected)
    }

    @Test func noNameOccursTwice() {
        #expect(Set(AttestationFault.allCases.map(\.rawValue)).count == AttestationFault.allCases.count)
        #expect(Set(AssertionFault.allCases.map(\.rawValue)).count == AssertionFault.allCases.count)
        #expect(Set(ReceiptFault.allCases.map(\.rawValue)).count == ReceiptFault.allCases.count)
    }

    private static func code(_ code: String?) -> String { code.map { "`\($0)`" } ?? "accepted" }

    private static var rendered: String {
        var text = """
            # Faults of the device simulator

            Every named fault that `DeviceSimulator` can put into what it makes, and the verdict of a correct verifier. The tables are
            written from the same cases as the code: a test compares this page with them, and each fault's verdict with the verifier's.

            ## Attestations

            | fault | verdict | the receipt's own verdict |
            |---|---|---|

            """
        for fault in AttestationFault.allCases {
            let receipt = fault.expectedCode == nil ? code(fault.row.receiptCode) : "-"
            text += "| `\(fault.rawValue)` | \(code(fault.expectedCode)) | \(receipt) |\n"
        }
        text += "\n## Assertions\n\n| fault | verdict |\n|---|---|\n"
        for fault in AssertionFault.allCases { text += "| `\(fault.rawValue)` | \(code(fault.expectedCode)) |\n" }
        text += "\n## Receipts\n\n| fault | verdict |\n|---|---|\n"
        for fault in ReceiptFault.allCases { text += "| `\(fault.rawValue)` | \(code(fault.expectedCode)) |\n" }
        return text
    }
}

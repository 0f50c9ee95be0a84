// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import DeviceSimulator
import Formats
import Vocabulary

struct SimulateFaultsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "faults",
        abstract: "The named faults of the device simulator, and the code with which each is refused.",
        discussion: """
            Example:
              sealward simulate faults --format json
            """
    )

    @Option(name: .long, help: ArgumentHelp("Output format: text or json.", valueName: "FORMAT"))
    var format: TextOrJSON = .text

    @OptionGroup var shared: SharedOptions

    func run() async throws {
        try await CommandIO.run {
            try format.write(SimulateFaultsCommand.json, text: SimulateFaultsCommand.text, to: shared)
            return .clean
        }
    }

    private struct Row {
        let name: String
        let code: String?
        let receiptCode: String?
    }

    private static let attestations = AttestationFault.allCases.map {
        Row(name: $0.rawValue, code: $0.expectedCode, receiptCode: $0.expectedReceiptCode)
    }
    private static let assertions = AssertionFault.allCases.map {
        Row(name: $0.rawValue, code: $0.expectedCode, receiptCode: nil)
    }
    private static let receipts = ReceiptFault.allCases.map {
        Row(name: $0.rawValue, code: $0.expectedCode, receiptCode: nil)
    }

    private static var json: JSONValue {
        func list(_ rows: [Row]) -> JSONValue {
            .array(
                rows.map { row in
                    .object([
                        .init("name", .string(row.name)), .init("code", .optional(row.code)),
                        .init("receiptCode", .optional(row.receiptCode)),
                    ])
                }
            )
        }
        return .object([
            .init("schema", "sealward.simulator-faults/1"), .init("attestations", list(attestations)),
            .init("assertions", list(assertions)), .init("receipts", list(receipts)),
        ])
    }

    private static var text: String {
        func list(_ title: String, _ rows: [Row]) -> String {
            rows.reduce(title + "\n") { text, row in
                let receipt = row.receiptCode.map { ", its receipt \($0)" } ?? ""
                return text + "  \(row.name.padded(to: 30))  \(row.code ?? "accepted")\(receipt)\n"
            }
        }
        return list("attestations", attestations) + list("assertions", assertions) + list("receipts", receipts)
    }
}

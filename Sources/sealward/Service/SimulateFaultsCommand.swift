// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import DeviceSimulator
import Formats
import Vocabulary

struct SimulateFaultsCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "faults",
        abstract: "The named faults of the device simulator, and the code with which each is refused.",
        discussion: """
            Example:
              sealward simulate faults --format json
            """
    )

    @OptionGroup var form: ResultForm

    func result() async throws -> CommandResult {
        let lists = [
            ("attestations", SimulateFaultsCommand.list(AttestationFault.allCases)),
            ("assertions", SimulateFaultsCommand.list(AssertionFault.allCases)),
            ("receipts", SimulateFaultsCommand.list(ReceiptFault.allCases)),
        ]
        return CommandResult(
            .object(
                [.init("schema", "sealward.simulator-faults/1")] + lists.map { .init($0.0, $0.1.json) }),
            text: lists.map { "\($0.0)\n\($0.1.text)" }.joined())
    }

    private static func list(_ faults: [some CataloguedFault]) -> (json: JSONValue, text: String) {
        let json = faults.map { fault -> JSONValue in
            [
                "name": .string(fault.rawValue), "code": .optional(fault.row.code),
                "receiptCode": .optional(fault.row.receiptCode),
            ]
        }
        let text = faults.map { fault in
            let receipt = fault.row.receiptCode.map { ", its receipt \($0)" } ?? ""
            return "  \(fault.rawValue.padded(to: 30))  \(fault.row.code ?? "accepted")\(receipt)\n"
        }
        return (.array(json), text.joined())
    }
}

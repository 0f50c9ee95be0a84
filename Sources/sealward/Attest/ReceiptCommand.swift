// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

struct ReceiptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt",
        abstract: "App Attest receipts: inspected, verified, and exchanged for the risk metric.",
        subcommands: [InspectReceiptCommand.self, VerifyReceiptCommand.self, RefreshReceiptCommand.self])
}

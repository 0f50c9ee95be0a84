// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

struct ReceiptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt", abstract: "App Attest receipts, inspected and verified.",
        subcommands: [InspectReceiptCommand.self, VerifyReceiptCommand.self])
}

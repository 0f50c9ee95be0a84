// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

struct AttestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attest",
        abstract: "Is this request from our real app? Attestations and assertions, inspected and verified.",
        subcommands: [
            InspectAttestationCommand.self, VerifyAttestationCommand.self, VerifyAssertionCommand.self,
        ]
    )
}

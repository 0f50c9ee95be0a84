// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Apple's side and a fleet of devices over HTTP, and every object that a verifier must judge.",
        subcommands: [
            SimulateAppleCommand.self, SimulateFleetCommand.self, SimulateFaultsCommand.self,
            SimulateVerifierTestsCommand.self,
        ]
    )
}

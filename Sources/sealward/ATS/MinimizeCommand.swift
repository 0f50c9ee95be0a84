// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

struct MinimizeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "minimize",
        abstract: "The smallest ATS dictionary that lets every target load, with the proof."
    )
}

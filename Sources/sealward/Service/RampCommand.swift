// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

struct RampCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ramp",
        abstract: "The attestation ramp plan for an app."
    )
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import ConnectionAdmission
import HTTPService
import Vocabulary

/// The names that a server of a command answers to.
struct HostNames: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A name under which it is reached, besides localhost, addresses and the name in --listen; another Host gets 421. May be repeated.",
            valueName: "NAME"))
    var host: [String] = []

    func validate() throws {
        for name in host where BrowserGate.name(name) == nil {
            throw ValidationError("--host: \(name.terminalSafe) is not a host name without a port.")
        }
    }
}

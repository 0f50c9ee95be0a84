// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import ArgumentParser

/// How a command that sends requests reaches its servers: name resolution, and the time for a connection.
struct ReachOptions: ParsableArguments {
    @OptionGroup var places: ResolveOptions

    @Option(help: ArgumentHelp("The timeout of one connection to a server, TLS included, in seconds.", valueName: "S"))
    var connectTimeout: Double = 10

    func validate() throws { try EnforcementOptions.check(seconds: connectTimeout, of: "--connect-timeout") }

    func reach() throws -> LiveAppleTransport.Reach {
        var reach = LiveAppleTransport.Reach()
        reach.overrides = try places.overrides()
        reach.connectTimeout = EnforcementOptions.duration(seconds: connectTimeout)
        return reach
    }
}

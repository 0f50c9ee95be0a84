// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import AppleServices
import ArgumentParser
import HTTPService
import TLSProbe

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

    /// What sends to servers of the user's own.
    ///
    /// - Parameter urls: the servers; of places that are given for others nothing is used.
    func transport(
        to urls: [String], timeout: Duration = .seconds(30), connectionsPerHost: Int = 8
    ) throws -> HTTPTransport {
        let overrides = try places.overrides()
        var addresses: [String: String] = [:]
        for url in urls.compactMap({ try? LoadURL($0) }) {
            let place = overrides.first { [url.host, "*"].contains($0.host) && $0.port == url.effectivePort }
            if let address = place?.addresses.first { addresses[url.host] = address }
        }
        return HTTPTransport(
            timeout: timeout, connectTimeout: EnforcementOptions.duration(seconds: connectTimeout),
            connectionsPerHost: connectionsPerHost, addresses: addresses)
    }
}

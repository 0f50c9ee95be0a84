// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import AppleServices
import ArgumentParser
import ConnectionAdmission
import HTTPService
import TLSProbe

/// How every command that connects reaches its servers: name resolution, and the time for a connection.
struct ReachOptions: ParsableArguments {
    @OptionGroup var places: ResolveOptions

    @Option(help: ArgumentHelp("The timeout of one connection to a server, TLS included, in seconds.", valueName: "S"))
    var connectTimeout: Double = 10

    func validate() throws { try ReachOptions.check(seconds: connectTimeout, of: "--connect-timeout") }

    /// - Throws: `ValidationError` for what is no number of seconds above 0 and up to a day.
    static func check(seconds: Double, of option: String) throws {
        guard seconds > 0, seconds <= 86_400 else {
            throw ValidationError("\(option) takes seconds, more than 0 and at most 86400.")
        }
    }

    var connectLimit: Duration { .seconds(connectTimeout) }

    /// What sends to servers of the user's own.
    ///
    /// - Parameter urls: the servers; of places that are given for others nothing is used.
    func transport(
        to urls: [String], timeout: Duration = .seconds(30), connectionsPerHost: Int = 8,
        identity: ClientIdentity = ClientIdentity()
    ) throws -> HTTPTransport {
        let overrides = try places.overrides()
        var addresses: [String: String] = [:]
        for url in urls.compactMap({ try? LoadURL($0) }) {
            let place = overrides.first { [url.host, "*"].contains($0.host) && $0.port == url.effectivePort }
            if let address = place?.addresses.first { addresses[url.host] = address }
        }
        return HTTPTransport(
            timeout: timeout, connectTimeout: connectLimit, connectionsPerHost: connectionsPerHost,
            addresses: addresses,
            identity: identity)
    }
}

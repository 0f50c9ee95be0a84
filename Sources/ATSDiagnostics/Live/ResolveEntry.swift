// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import ATSClient

/// Where to connect for one host and port instead of asking the resolver: `HOST:PORT:ADDRESS[,ADDRESS]`, as in curl.
public struct ResolveEntry: Sendable, Equatable {
    /// Lower case; `*` stands for every host.
    public let host: String
    /// The port for which it holds.
    public let port: Int
    /// IPv4 or IPv6 literals without brackets.
    public let addresses: [String]

    /// Nil where the text has another shape, the port is no port, or an address is none.
    public init?(_ text: String) {
        guard let list = AddressOverride.list(text), let first = list.first else { return nil }
        host = first.host
        port = first.port
        addresses = list.map(\.address)
    }
}

extension [ResolveEntry] {
    /// One entry for each host and port: later entries win, as in curl.
    package var effective: [ResolveEntry] {
        var seen: Set<String> = []
        return reversed().filter { seen.insert("\($0.host):\($0.port)").inserted }.reversed()
    }

    /// For a client or a proxy.
    package var addressOverrides: [AddressOverride] {
        effective.flatMap { entry in
            entry.addresses.map { AddressOverride(host: entry.host, port: entry.port, address: $0) }
        }
    }
}

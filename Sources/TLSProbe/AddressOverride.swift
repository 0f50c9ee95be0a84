// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Findings
package import NIOCore

/// Where a host and port are, whatever the DNS says, as curl's `--resolve` gives it.
///
/// Of two for one place the later one counts; one for a host counts before one for every host.
public struct AddressOverride: Sendable, Hashable {
    /// Lower case, without brackets; `*` stands for every host.
    public let host: String
    /// The port for which it holds.
    public let port: Int
    /// IPv4 or IPv6 literals without brackets, in the order in which they are tried.
    public let addresses: [String]

    /// Reads `HOST:PORT:ADDRESS[,ADDRESS]`, with a `+` in front or without; brackets around IPv6 addresses are allowed everywhere.
    ///
    /// - Throws: `MalformedInput` with code `malformed.resolve`.
    public init(_ text: String) throws(MalformedInput) {
        guard let parsed = AddressOverride.parse(text) else {
            throw MalformedInput(
                code: "malformed.resolve",
                quoting: text,
                reason: "is not HOST:PORT:ADDRESS, for example api.example.com:443:127.0.0.1"
            )
        }
        self = parsed
    }

    /// Makes one from its parts, which the properties describe.
    public init(host: String, port: Int, address: String) { self.init(host: host, port: port, addresses: [address]) }

    private init(host: String, port: Int, addresses: [String]) {
        self.host = host.lowercased()
        self.port = port
        self.addresses = addresses
    }

    private static func parse(_ text: String) -> AddressOverride? {
        var rest = Substring(text)
        if rest.hasPrefix("+") { rest = rest.dropFirst() }
        let host: Substring
        if rest.hasPrefix("["), let close = rest.firstIndex(of: "]") {
            host = rest[rest.index(after: rest.startIndex)..<close]
            rest = rest[rest.index(after: close)...]
        } else {
            guard let colon = rest.firstIndex(of: ":") else { return nil }
            host = rest[..<colon]
            rest = rest[colon...]
        }
        let fields = rest.dropFirst().split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard rest.hasPrefix(":"), fields.count == 2, !host.isEmpty, let port = fields.first.flatMap({ Int($0) }),
            (1...65535).contains(port)
        else { return nil }
        let addresses = fields[1].split(separator: ",").map { address in
            String(address.hasPrefix("[") && address.hasSuffix("]") ? address.dropFirst().dropLast() : address)
        }
        let override = AddressOverride(host: String(host), port: port, addresses: addresses)
        return addresses.isEmpty || override.places.count != addresses.count ? nil : override
    }

    /// The addresses to connect to; what is no literal is left out.
    package var places: [SocketAddress] { addresses.compactMap { try? SocketAddress(ipAddress: $0, port: port) } }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
import TLSModel
public import Vocabulary

/// Where a host and port are, whatever the DNS says, as curl's `--resolve` gives it.
///
/// Of two for one place the later one counts; one for a host counts before one for every host.
public struct AddressOverride: Sendable, Hashable {
    /// Lower case, without brackets; `*` stands for every host.
    package let host: String
    package let port: Int
    /// IPv4 or IPv6 literals without brackets, in the order in which they are tried.
    package let addresses: [String]

    /// Reads `HOST:PORT:ADDRESS[,ADDRESS]`, with a `+` in front or without; brackets around IPv6 addresses are allowed everywhere.
    ///
    /// - Throws: `MalformedInput` with code `malformed.resolve`.
    public init(_ text: String) throws(MalformedInput) {
        guard let parsed = AddressOverride.parse(text) else {
            throw MalformedInput(
                code: .malformedResolve, quoting: text,
                reason: "is not HOST:PORT:ADDRESS, for example api.example.com:443:127.0.0.1")
        }
        self = parsed
    }

    /// Puts a host and port at one address.
    public init(host: String, port: Int, address: String) { self.init(host: host, port: port, addresses: [address]) }

    /// - Parameter addresses: literals without brackets.
    package init(host: String, port: Int, addresses: [String]) {
        self.host = HostName.ascii(host) ?? host.lowercased()
        self.port = port
        self.addresses = addresses
    }

    private static func parse(_ text: String) -> AddressOverride? {
        // 16 addresses of 41 bytes are more than any name needs.
        guard text.utf8.count <= 4096 else { return nil }
        var rest = Array(text.utf8)[...]
        if rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
        let host: ArraySlice<UInt8>
        if rest.first == UInt8(ascii: "["), let close = rest.firstIndex(of: UInt8(ascii: "]")) {
            host = rest[(rest.startIndex + 1)..<close]
            rest = rest[(close + 1)...]
        } else {
            guard let colon = rest.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            host = rest[..<colon]
            rest = rest[colon...]
        }
        guard rest.first == UInt8(ascii: ":") else { return nil }
        let fields = rest.dropFirst().split(
            separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard fields.count == 2, !host.isEmpty, host.count <= 254,
            let port = fields.first.flatMap({ HostPort.port(Substring(decoding: $0, as: UTF8.self)) })
        else { return nil }
        let addresses = fields[1].split(separator: UInt8(ascii: ",")).map { address in
            withoutBrackets(String(decoding: address, as: UTF8.self))
        }
        let override = AddressOverride(host: String(decoding: host, as: UTF8.self), port: port, addresses: addresses)
        return addresses.isEmpty || override.places.count != addresses.count ? nil : override
    }

    /// An IPv6 literal as it appears in a URL, without its brackets; anything else as it is.
    static func withoutBrackets(_ text: String) -> String {
        let bytes = text.utf8
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "["), bytes.last == UInt8(ascii: "]") else { return text }
        return String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
    }

    /// The addresses to connect to; what is no literal is left out.
    package var places: [SocketAddress] { addresses.compactMap { try? SocketAddress(ipAddress: $0, port: port) } }
}

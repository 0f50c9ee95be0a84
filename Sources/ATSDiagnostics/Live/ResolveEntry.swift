// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity

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
        var rest = Substring(text)
        if rest.hasPrefix("+") { rest = rest.dropFirst() }
        let host: Substring
        if rest.hasPrefix("["), let close = rest.firstIndex(of: "]") {
            host = rest[rest.index(after: rest.startIndex)..<close]
            rest = rest[rest.index(after: close)...]
            guard rest.hasPrefix(":") else { return nil }
            rest = rest.dropFirst()
        } else {
            guard let colon = rest.firstIndex(of: ":") else { return nil }
            host = rest[..<colon]
            rest = rest[rest.index(after: colon)...]
        }
        guard let colon = rest.firstIndex(of: ":"), let port = Int(rest[..<colon]), (1...65535).contains(port) else {
            return nil
        }
        let list = rest[rest.index(after: colon)...].split(separator: ",").map { address in
            address.hasPrefix("[") && address.hasSuffix("]") ? String(address.dropFirst().dropLast()) : String(address)
        }
        guard !host.isEmpty, !list.isEmpty, list.allSatisfy({ IPAddress($0) != nil }) else { return nil }
        self.host = host.lowercased()
        self.port = port
        addresses = list
    }
}

extension [ResolveEntry] {
    /// One entry for each host and port: later entries win, as in curl.
    package var effective: [ResolveEntry] {
        var seen: Set<String> = []
        return reversed().filter { seen.insert("\($0.host):\($0.port)").inserted }.reversed()
    }
}

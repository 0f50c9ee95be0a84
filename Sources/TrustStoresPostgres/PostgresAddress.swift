// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CLibpq
import FoundationEssentials
import TLSModel
import TrustStores
import Vocabulary

/// A connection string, parsed once. It may contain a password, so nothing of it but hosts is ever shown.
struct PostgresAddress: Sendable {
    /// One server of the string: what its lists of hosts, addresses and ports say at one place.
    struct Host: Sendable, Equatable {
        let name: String?
        let address: String?
        let port: String?
    }

    /// Keyword and value, as libpq reads them, without the lists of hosts.
    private var options: [(keyword: String, value: String)]
    /// What must not occur in any message.
    private let secrets: [String]
    let hosts: [Host]
    /// `connect_timeout` of the string or of the environment; nil if neither names one.
    let connectTimeout: Duration?
    /// Whether every server is this machine, so that the password and the keys never cross a network.
    private let isLocal: Bool

    /// - Throws: `store.configuration`, also where there is no libpq, or `store.tls` if a server is beyond this machine and the string has no `sslmode`; with a sentence
    ///   that quotes nothing of the string.
    init(_ text: String, environment: [String: String] = ProcessInfo.processInfo.environment) throws {
        try LibpqConnection.load()
        guard !text.utf8.contains(0), !PostgresAddress.mixesUpParts(text),
            let parsed = LibpqConnection.options(of: text)
        else { throw PostgresAddress.malformed }
        options = parsed.filter { !["host", "hostaddr", "port"].contains($0.keyword) }
        secrets = parsed.filter { ["password", "sslpassword"].contains($0.keyword) }.map(\.value)
        hosts = try PostgresAddress.hosts { keyword in parsed.first { $0.keyword == keyword }?.value }
        let service = parsed.contains { $0.keyword == "service" } ? "its file" : environment["PGSERVICE"]
        isLocal = hosts.allSatisfy { PostgresAddress.isLocal($0, service: service, environment) }
        guard isLocal || parsed.contains(where: { $0.keyword == "sslmode" && !$0.value.isEmpty }) else {
            throw StoreFault(code: .storeTLS, reason: PostgresAddress.missesTLS)
        }
        if !isLocal, LibpqConnection.knowsRequireAuth, environment["PGREQUIREAUTH"] == nil,
            !parsed.contains(where: { $0.keyword == "require_auth" })
        {
            options.append(("require_auth", "scram-sha-256"))
        }
        let limit = parsed.first { $0.keyword == "connect_timeout" }?.value ?? environment["PGCONNECT_TIMEOUT"]
        connectTimeout = try limit.flatMap { text in
            guard let seconds = Int(text.trimmed()) else {
                throw StoreFault.configuration("connect_timeout of the PostgreSQL URL must be a number of seconds")
            }
            return seconds > 0 ? .seconds(min(seconds, 600)) : nil
        }
    }

    /// The parameters of a connection to one server, for PQconnectStartParams. `hostaddr` is a resolved address.
    func parameters(_ host: Host, hostaddr: String?) -> [(String, String)] {
        var parameters = [
            ("keepalives_idle", "30"), ("keepalives_interval", "10"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "60000"),
        ]
        // What the string says wins over what stands before it.
        parameters += options.map { ($0.keyword, $0.value) }
        if let name = host.name { parameters.append(("host", name)) }
        if let address = hostaddr ?? host.address { parameters.append(("hostaddr", address)) }
        if let port = host.port { parameters.append(("port", port)) }
        return parameters + [("fallback_application_name", "sealward"), ("client_encoding", "UTF8")]
    }

    /// A message of libpq or of the server in one line, without a password of the string.
    func safe(_ message: String) -> String {
        // libpq begins the lines of a hint with a tab.
        var text = message.split(whereSeparator: \.isNewline).map { String($0.drop(while: \.isWhitespace)) }
            .joined(separator: "; ")
        for secret in secrets where !secret.isEmpty { text = text.replacing(secret, with: "***") }
        return text.terminalSafe(limit: 300)
    }

    private static let missesTLS =
        "store.tls: PostgreSQL on another machine needs sslmode in its URL: sslmode=verify-full, or sslmode=disable if clear text is meant"

    /// Whether libpq connects to this machine for a host. It takes what the host leaves out from the environment, or from a service file.
    private static func isLocal(_ host: Host, service: String?, _ environment: [String: String]) -> Bool {
        func isHere(_ name: String) -> Bool {
            name.isEmpty || name.hasPrefix("/") || name.hasPrefix("@") || AddressKind.isLoopback(host: name)
        }
        func areHere(_ variable: String) -> Bool {
            (environment[variable] ?? "").split(separator: ",").allSatisfy { isHere(String($0)) }
        }
        if let address = host.address { return isHere(address) }
        // The address of a name is always given; that of a socket and of nothing is not.
        if let name = host.name, !name.hasPrefix("/"), !name.hasPrefix("@") { return isHere(name) }
        guard service == nil, areHere("PGHOSTADDR") else { return false }
        return host.name != nil || areHere("PGHOST")
    }

    private static let malformed = StoreFault.configuration(
        "the PostgreSQL URL cannot be read; percent-encode each / : ? # [ ] @ % in user, password and database, and name only parameters of this libpq (require_auth: 16 or later)"
    )

    /// Whether an `@` stands where none can: then a password was not encoded, and parts of it would be taken for a host or a
    /// database, and named in messages.
    private static func mixesUpParts(_ text: String) -> Bool {
        guard let scheme = text.firstRange(of: "://") else { return false }
        let rest = text[scheme.upperBound...].utf8
        let authority = rest.prefix { $0 != UInt8(ascii: "/") }
        let path = rest.dropFirst(authority.count).prefix { $0 != UInt8(ascii: "?") }
        return authority.count { $0 == UInt8(ascii: "@") } > 1 || path.contains(UInt8(ascii: "@"))
    }

    private static func hosts(_ value: (String) -> String?) throws -> [Host] {
        func list(_ keyword: String) -> [String?] {
            guard let text = value(keyword), !text.isEmpty else { return [] }
            return text.split(separator: ",", omittingEmptySubsequences: false).map {
                $0.isEmpty ? nil : String($0)
            }
        }
        let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        let count = max(1, names.count, addresses.count)
        guard names.isEmpty || names.count == count, addresses.isEmpty || addresses.count == count,
            ports.count <= 1 || ports.count == count
        else {
            throw StoreFault.configuration("the PostgreSQL URL must name one port, or as many ports as hosts")
        }
        for port in ports {
            if let port, UInt16(port) == nil {
                throw StoreFault.configuration("a port of the PostgreSQL URL is not a number from 1 to 65535")
            }
        }
        return (0..<count).map { index in
            Host(
                name: names.isEmpty ? nil : names[index], address: addresses.isEmpty ? nil : addresses[index],
                port: ports.count == 1 ? ports[0] : ports.isEmpty ? nil : ports[index])
        }
    }
}

extension PostgresAddress.Host {
    /// The addresses to try, in the resolver's order; one nil if libpq needs none or finds it itself.
    ///
    /// Resolved here and not by libpq, so that each address has its own share of time.
    func addresses() throws -> [String?] {
        guard address == nil, let name, !name.hasPrefix("/"), !name.hasPrefix("@") else { return [nil] }
        let addresses: [String]
        do {
            // A name with more addresses is cut; nobody runs as many servers of one database.
            addresses = try SystemLookUp.addresses(of: name, limit: 16)
        } catch {
            throw StoreFault.unavailable(
                "the name \(name.terminalSafe(limit: 100)) cannot be resolved: \(error.reason)")
        }
        return addresses.isEmpty ? [nil] : addresses
    }

    /// How a message names the server.
    var title: String { "\(name ?? address ?? "the default host"):\(port ?? "5432")".terminalSafe(limit: 120) }
}

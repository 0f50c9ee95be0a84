// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import AppleServices
import ArgumentParser
import ConnectionAdmission
import HTTPService
import TLSProbe
import Vocabulary

/// How every command that connects reaches its servers: name resolution, and the time for a connection.
struct ReachOptions: ParsableArguments {
    @Option(
        help: .value("Connect to ADDRESS for this host and port, as in curl; may be repeated.", "HOST:PORT:ADDRESS"))
    var resolve: [AddressOverride] = []

    @Option(help: .value("More --resolve entries, one per line; `-` is standard input.", "FILE"))
    var resolveFrom: String?

    @Option(help: .value("The timeout of one connection to a server, TLS included, in seconds.", "S"))
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
        let overrides = try overrides()
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

    /// Where to connect in place of what the resolver says: those of the file, then those of the command line: of two for one place the later one counts.
    func overrides() throws -> [AddressOverride] {
        let listed = try resolveFrom.map { path in
            try EntryFile.entries(of: path) { text throws(MalformedInput) in try AddressOverride(text) }
        }
        return (listed ?? []) + resolve
    }
}

/// A file with one entry a line; `#` begins a comment.
enum EntryFile {
    /// - Throws: `CommandFault` that names the line of what cannot be read.
    static func entries<Entry>(of path: String, _ read: (String) throws(MalformedInput) -> Entry) throws -> [Entry] {
        var entries: [Entry] = []
        try lines(of: path, limit: 64 << 20) { line, fault in
            let entry = String(decoding: line.utf8.prefix { $0 != 0x23 }, as: UTF8.self).trimmed()
            if entry.isEmpty { return }
            do throws(MalformedInput) {
                entries.append(try read(entry))
            } catch {
                throw fault(error.description)
            }
        }
        return entries
    }

    /// Calls `body` with each line, without the white space around it, and with what makes a fault of a reason.
    ///
    /// Neither the file nor a list of its lines is ever in memory as a whole.
    ///
    /// - Parameter limit: the most bytes of the file.
    /// - Throws: `CommandFault` that names the line, where it is no text; what `body` throws.
    static func lines(
        of path: String, limit: Int, _ body: (String, _ fault: (String) -> CommandFault) throws -> Void
    ) throws {
        var lines = try CommandIO.lines(of: path, limit: limit)
        var number = 0
        while let line = try CommandIO.named(path, { () throws(InputFault) in try lines.next()?.bytes }) {
            number += 1
            func fault(_ reason: String) -> CommandFault {
                CommandFault("\(CommandIO.name(of: path)): line \(number): \(reason).")
            }
            let isText = line.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 || $0 == 0x0D }
            guard isText, let text = String(validating: line, as: UTF8.self) else {
                throw fault("is not text; write one entry per line, in UTF-8")
            }
            try body(text.trimmed(), fault)
        }
    }
}

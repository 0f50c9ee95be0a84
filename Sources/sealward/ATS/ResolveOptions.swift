// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import Findings
import Foundation
public import TLSProbe

/// Where to connect in place of what the resolver says: what every command that connects has in common.
struct ResolveOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Connect to ADDRESS for this host and port, as in curl; may be repeated.",
            valueName: "HOST:PORT:ADDRESS"
        )
    )
    var resolve: [AddressOverride] = []

    @Option(help: ArgumentHelp("More of --resolve, one a line; `-` is standard input.", valueName: "FILE"))
    var resolveFrom: String?

    /// Those of the file, then those of the command line: of two for one place the later one counts.
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
        let bytes = try CommandIO.read(path, limit: 64 << 20)
        var entries: [Entry] = []
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let entry = String(decoding: line.prefix { $0 != 0x23 }, as: UTF8.self)
                .trimmingCharacters(in: .whitespacesAndNewlines)
            if entry.isEmpty { continue }
            do {
                entries.append(try read(entry))
            } catch {
                throw CommandFault("\(CommandIO.name(of: path)): line \(index + 1): \(error).")
            }
        }
        return entries
    }
}

extension AddressOverride: ExpressibleByArgument {
    public init?(argument: String) {
        guard let override = try? AddressOverride(argument) else { return nil }
        self = override
    }
}

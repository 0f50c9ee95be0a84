// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Formats
import Foundation
import TrustService
import Vocabulary

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "What backends and operators did: each accepted call that changed or read something, oldest first.",
        discussion: """
            Prints a page at a time: continue with --after and the number of the last entry.

            Example: sealward audit --url https://trust.example.com --token-file audit.token --after 1200
            """
    )

    @OptionGroup var target: OperatorTarget

    @Option(help: ArgumentHelp("Entries after this number.", valueName: "N"))
    var after: Int?

    @Option(help: ArgumentHelp("The maximum number of entries, up to 1000.", valueName: "N"))
    var limit = 100

    @Option(help: ArgumentHelp("Output format: text or json.", valueName: "FORMAT"))
    var format: TextOrJSON = .text

    @OptionGroup var shared: SharedOptions

    func validate() throws {
        try OperatorTarget.validate(limit: limit, upTo: AuditPage.largest)
        guard after ?? 0 >= 0 else { throw ValidationError("--after must be 0 or more.") }
    }

    func run() async throws {
        try await CommandIO.run {
            let query = [("limit", String(limit))] + (after.map { [("after", String($0))] } ?? [])
            guard let bytes = try await target.call("GET", "/v1/audit", query: query) else { return .findings }
            let entries = try bytes.split(separator: UInt8(ascii: "\n")).map { line throws(CommandFault) in
                guard let entry = try? JSONReader.read(Array(line)) else {
                    throw CommandFault("The answer is not JSON.")
                }
                return entry
            }
            let text =
                switch format {
                case .json:
                    JSONValue.object([.init("schema", "sealward.audit/1"), .init("entries", .array(entries))])
                        .rendered()
                        + "\n"
                case .text: entries.map { AuditCommand.line($0) + "\n" }.joined().fitted
                }
            try CommandIO.write(text, to: shared.output)
            return .clean
        }
    }

    private static func line(_ entry: JSONValue) -> String {
        let number = entry.member("number")?.rendered(pretty: false) ?? "-"
        let words = ["at", "name", "operation", "target", "outcome"].map { entry.member($0)?.text?.terminalSafe ?? "-" }
        return ([number] + words).joined(separator: " ")
    }
}

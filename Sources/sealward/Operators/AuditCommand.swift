// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Formats
import TrustService
import Vocabulary

struct AuditCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "What backends and operators did or were refused, and failed sign-ins, oldest first.",
        discussion: """
            Prints a page at a time: continue with --after and the number of the last entry. With --follow it prints every page and then new \
            entries as they happen, in JSON one object a line, until it is interrupted or the service cannot be asked. In JSON each line has the \
            hash of the one before (previous), so an exported audit shows later whether the store's was changed; 'store check' compares the \
            lines of a store.

            Example: sealward audit --url https://trust.example.com --token-file audit.token --after 1200
            """
    )

    @OptionGroup var target: OperatorTarget

    @Option(help: .value("Entries after this number.", "N"))
    var after: Int?

    @Option(help: .value("The maximum number of entries, up to 1000.", "N"))
    var limit = 100

    @Flag(help: "Go on with new entries as they happen, until interrupted.")
    var follow = false

    @OptionGroup var form: ResultForm

    func validate() throws {
        try target.validate(limit: limit, upTo: AuditPage.largest)
        guard after ?? 0 >= 0 else { throw ValidationError("--after must be 0 or more.") }
        guard !follow || form.shared.output == nil else {
            throw ValidationError("--follow never ends: redirect standard output instead of --output.")
        }
    }

    func outcome() async throws -> Outcome {
        if follow { return try await followed() }
        let entries = try await page(after: after)
        try form.format.write(
            ["schema": "sealward.audit/1", "entries": .array(entries)],
            text: entries.map { AuditCommand.line($0) + "\n" }.joined(), to: form.shared)
        return .clean
    }

    /// Entries after a number, oldest first.
    private func page(after number: Int?, access: OperatorTarget.Access? = nil) async throws -> [JSONValue] {
        if target.url == nil {
            return try await target.inStore { try await $0.audit(after: number.map(Int64.init), limit: limit) }
        }
        let query = [("limit", String(limit))] + (number.map { [("after", String($0))] } ?? [])
        return try await target.overHTTP("GET", "/v1/audit", query: query, access: access)
            .split(separator: UInt8(ascii: "\n")).map { try OperatorTarget.read(Array($0)) }
    }

    /// Prints each page, and asks once a second where there is no more.
    private func followed() async throws -> Outcome {
        let access = target.url == nil ? nil : try target.access()
        var last = after
        while true {
            let entries = try await page(after: last, access: access)
            for entry in entries {
                guard case .integer(let number)? = entry.member("number"), number > last ?? -1 else {
                    throw CommandFault("The answer is not a page of the audit.")
                }
                last = number
                let text = form.format == .json ? entry.rendered(pretty: false) : AuditCommand.line(entry)
                try CommandIO.write(text + "\n", to: nil)
            }
            if entries.count < limit { try await Task.sleep(for: .seconds(1)) }
        }
    }

    private static func line(_ entry: JSONValue) -> String {
        let number = entry.member("number")?.rendered(pretty: false) ?? "-"
        let words = ["at", "name", "operation", "target", "outcome"].map { entry.member($0)?.text?.terminalSafe ?? "-" }
        let more = ["address", "correlationId", "session", "reason"].compactMap { name in
            entry.member(name)?.text.map { "\(name)=\($0.terminalSafe)" }
        }
        return ([number] + words.map { $0.isEmpty ? "-" : $0 } + more).joined(separator: " ")
    }
}

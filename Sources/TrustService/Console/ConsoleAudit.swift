// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPService
import Reporting
import TrustStores
import Vocabulary

/// The audit as a page, the newest first.
struct ConsoleAudit: Sendable {
    let operators: OperatorService
    let record: AuditRecord

    /// The most entries of a page.
    private static let pageSize = 100

    @Sendable func page(_ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        guard visitor.seesAudit else { throw Problem(.callerUnauthorized) }
        let query = try StrictQuery(call.query, known: ["before"], blank: .absent)
        let newest = try await newestNumber()
        let before = try query.number("before", 1...9_999_999_999, default: 0)
        let last = before > 0 ? min(Int64(before) - 1, newest) : newest
        let after = max(0, last - Int64(ConsoleAudit.pageSize))
        let entries = try await visitor.does(AuditHandler.operation, .audit, call, record) { _ in
            let found = try await operators.entries(behind: after, limit: ConsoleAudit.pageSize, for: visitor.caller)
            return (found, AuditHandler.areReadings(found) ? nil : .app(nil))
        }
        let table = ConsoleTable(
            label: "Audit",
            head: ["When", "Who", "What", "On what", "Outcome", "From", "Request, session", "Why"],
            rows: entries.reversed().filter { $0.number <= last }.map(\.entry).map { entry in
                [
                    ConsoleText.instant(entry.at), "\(entry.name)", "\(entry.operation)",
                    "<code>\(entry.target)</code>", "\(entry.outcome)", "\(entry.address ?? "")",
                    "<code>\(entry.correlationId ?? "") \(entry.session ?? "")</code>", "\(entry.reason ?? "")",
                ]
            }, empty: "No entry here.", stacks: true
        ).html()
        let older: HTML = after > 0 ? "<a href=\"/console/audit?before=\(Int(after) + 1)\">Older</a> " : ""
        let newer: HTML = last < newest ? "<a href=\"/console/audit\">Newest</a>" : ""
        let body: HTML = """
            <h1>Audit</h1>
            <section><p class="dim">Calls of servers and operators, refused ones of operators, and failed sign-ins, newest first. Each line has the hash of the one before; <code>sealward store check</code> compares them.</p>
            \(table)<p class="deeds">\(older)\(newer)</p></section>

            """
        return ConsolePage(title: "Audit", place: .audit, visitor: visitor, body: body).answer()
    }

    /// The number of the newest entry; 0 if there is none. Numbers grow, so it is found by halving: about twice as many questions as the
    /// number has bits, each for one entry.
    private func newestNumber() async throws -> Int64 {
        guard try await isBehind(0) else { return 0 }
        // There is an entry behind `low`, and none behind `high`.
        var (low, high): (Int64, Int64) = (0, 1)
        while high < Int64.max / 2, try await isBehind(high) { (low, high) = (high, high * 2) }
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if try await isBehind(middle) { low = middle } else { high = middle }
        }
        return high
    }

    /// Whether there is an entry with a larger number.
    private func isBehind(_ number: Int64) async throws -> Bool {
        try await !operators.store.audit(after: number, limit: 1).isEmpty
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

/// One page of what servers and operators did.
package enum AuditPage {
    /// The most entries of an answer.
    package static let largest = 1000
}

/// Shows what servers and operators did.
struct AuditHandler: Handler {
    let store: any TrustStore
    let apps: AppDirectory
    let sources: SystemSources

    /// For so many seconds the entries of an app are looked for among those of others.
    private static let patience = 5.0

    static let operation = "readAudit"

    var routes: [Route] { [Route(AuditHandler.operation, "GET", "/v1/audit", .audit, readAudit)] }

    /// `GET /v1/audit?after=&limit=`: what servers and operators did, one JSON object per line, oldest first.
    @Sendable private func readAudit(_ call: Call) async throws -> Answer {
        let query = try StrictQuery(call.query, known: ["after", "limit"])
        let limit = try query.number("limit", 1...AuditPage.largest, default: 100)
        var after: Int64?
        if let text = query["after"] {
            guard let number = text.decimalNumber(digits: 19).map(Int64.init) else {
                throw Problem(.requestMalformed, evidence: "after is not the number of an entry")
            }
            after = number
        }
        let entries = try await entries(behind: after, limit: limit, for: call.caller)
        let text = entries.map { $0.line + "\n" }.joined()
        var answer = Answer.text(text, contentType: "application/jsonl").about(.app(nil))
        answer.isAudited = !AuditHandler.areReadings(entries)
        return answer
    }

    /// Whether entries are readings of the audit alone. Readers that follow it would otherwise read their own reading for ever.
    static func areReadings(_ entries: [NumberedAuditEntry]) -> Bool {
        entries.allSatisfy { $0.entry.operation == operation && $0.entry.outcome == "ok" }
    }

    /// The entries that a credential may see, oldest first; none only if there is none.
    ///
    /// A credential for some apps sees what was done to these. What was done to others is passed over until there are enough entries, because
    /// who reads on takes an answer without entries for the end of the audit.
    func entries(behind number: Int64?, limit: Int, for caller: Authority) async throws -> [NumberedAuditEntry] {
        if caller.permits(.audit, app: nil) { return try await store.audit(after: number, limit: limit) }
        let open = apps.all.keys.filter { caller.permits(.audit, app: $0) }
        let start = sources.uptime()
        var (found, last) = ([NumberedAuditEntry](), number)
        while true {
            let entries = try await store.audit(after: last, limit: AuditPage.largest)
            found += entries.filter { numbered in open.contains { AuditTarget.text(numbered.entry.target, isOf: $0) } }
            guard found.count < limit, let newest = entries.last, entries.count == AuditPage.largest else {
                return Array(found.prefix(limit))
            }
            last = newest.number
            guard sources.uptime() - start > AuditHandler.patience else { continue }
            if !found.isEmpty { return found }
            throw Problem(
                .storeUnavailable, retryAfterSeconds: 5, evidence: "looking for the app's entries took too long")
        }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

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
    let operators: OperatorService

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
        let entries = try await operators.entries(behind: after, limit: limit, for: call.caller)
        let text = entries.map { $0.line + "\n" }.joined()
        var answer = Answer.text(text, contentType: "application/jsonl").about(.app(nil))
        answer.isAudited = !AuditHandler.areReadings(entries)
        return answer
    }

    /// Whether entries are readings of the audit alone. Readers that follow it would otherwise read their own reading for ever.
    static func areReadings(_ entries: [NumberedAuditEntry]) -> Bool {
        entries.allSatisfy { $0.entry.operation == operation && $0.entry.outcome == "ok" }
    }
}

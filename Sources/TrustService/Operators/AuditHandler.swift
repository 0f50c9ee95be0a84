// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import StrictJSON
import TrustStores

/// Shows what servers and operators did.
struct AuditHandler: Handler {
    let store: any TrustStore
    let apps: AppDirectory

    var routes: [Route] { [Route("readAudit", "GET", "/v1/audit", .audit, readAudit)] }

    /// `GET /v1/audit?after=&limit=`: what servers and operators did, one JSON object per line, oldest first.
    @Sendable private func readAudit(_ call: Call) async throws -> Answer {
        let query = try StrictQuery(call.query, known: ["after", "limit"])
        let limit = try query.number("limit", 1...1000, default: 100)
        var after: Int64?
        if let text = query["after"] {
            guard text.utf8.count <= 19, let number = Int64(text), number >= 0 else {
                throw Problem(.requestMalformed, evidence: "after is not the number of an entry")
            }
            after = number
        }
        let entries = try await store.audit(after: after, limit: limit)
        let all = call.caller.permits(.audit, app: nil)
        var text = ""
        for numbered in entries {
            // A credential for some apps sees what was done to these.
            guard all || apps.all.keys.contains(where: { AuditHandler.concerns(numbered.entry, $0, call) }) else {
                continue
            }
            text += AuditHandler.line(numbered) + "\n"
        }
        return .text(text, contentType: "application/jsonl").about(.app(nil))
    }

    private static func concerns(_ entry: AuditEntry, _ app: String, _ call: Call) -> Bool {
        call.caller.permits(.audit, app: app) && AuditTarget.text(entry.target, isOf: app)
    }

    private static func line(_ numbered: NumberedAuditEntry) -> String {
        let entry = numbered.entry
        let document: JSONValue = [
            "number": .integer(Int(numbered.number)), "at": .string(Timestamps.text(entry.at)),
            "name": .string(entry.name), "operation": .string(entry.operation), "target": .string(entry.target),
            "outcome": .string(entry.outcome),
        ]
        return document.rendered(pretty: false)
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import HTTPTypes
import Logging
import TrustStores
import Vocabulary

/// Why an operator makes a call, for the audit.
package enum AuditReason {
    /// The most bytes of a reason.
    package static let limit = 256

    /// Whether a text may be a reason: not empty, one line, nothing that steers a terminal.
    package static func isReason(_ text: String) -> Bool {
        (1...limit).contains(text.utf8.count) && text.terminalSafe.hasSameBytes(as: text)
    }

    /// The reason of a request; nil if it gives none.
    static func of(_ headers: HTTPFields) throws(Problem) -> String? {
        guard let text = headers[.auditReason] else { return nil }
        guard isReason(text) else {
            throw Problem(
                .requestMalformed, evidence: "X-Audit-Reason must have 1 to \(limit) bytes and no control characters")
        }
        return text
    }
}

/// Writes what servers and operators did, and what was refused to operators and strangers.
struct AuditRecord: Sendable {
    let store: any TrustStore
    let observer: RequestObserver
    let refused: RefusedCalls
    let users: UserNames

    /// The route, whose calls are recorded if they are a server's or an operator's.
    func audited(_ route: Route) -> Route {
        guard case .role(let role) = route.access else { return route }
        return route.handled { call in
            try await does(call, role) {
                let answer = try await route.handler(call)
                return (answer, answer.isAudited ? answer.target ?? .app(call.parameters["app"]) : nil)
            }
        }
    }

    /// Does what a call asks for, and records it. Also if it was refused to an operator, and if it may have changed something before it failed:
    /// what Apple did with a request that it did not answer is not known, and keys of a user are deleted page by page.
    ///
    /// - Parameter body: also gives what the call was about; nil for what the audit need not have.
    func does<Value>(
        _ call: Call, _ role: Authority.Role, _ body: () async throws -> (Value, AuditTarget?)
    ) async throws -> Value {
        do {
            _ = try AuditReason.of(call.headers)
            let (value, target) = try await body()
            if let target { await record(call, by: call.caller, about: target) }
            return value
        } catch {
            let problem = Problem(error)
            if problem.status < 500 {
                if role != .server { await record(call, refusedWith: problem.code) }
            } else if role != .read, role != .audit {
                await record(call, by: call.caller, about: AuditTarget(asked: call), outcome: "unknown")
            }
            throw error
        }
    }

    /// Records a call that was refused: at once, or with others like it when their minute is over.
    ///
    /// - Parameter caller: nil for the call's own.
    func record(_ call: Call, by caller: Authority? = nil, refusedWith code: Code) async {
        let entry = entry(call, by: caller ?? call.caller, about: AuditTarget(asked: call), "refused:\(code)")
        await append(refused.add(entry, from: CallerAddress.bucket(of: call.address)), about: call.correlationId)
    }

    /// Records how often calls of a minute that is over were refused.
    func recordRepeated(at now: Date) async { await append(refused.repeated(before: now), about: "") }

    /// Records that somebody did what a call asks for. It has happened: a store that fails now makes it no failure, but the log says what is
    /// missing from the audit.
    ///
    /// Also if the call was canceled meanwhile: whoever goes away, or whose time is over, has been here.
    func record(_ call: Call, by caller: Authority, about target: AuditTarget, outcome: String = "ok") async {
        await append([entry(call, by: caller, about: target, outcome)], about: call.correlationId)
    }

    private func entry(
        _ call: Call, by caller: Authority, about target: AuditTarget, _ outcome: String
    ) -> AuditEntry {
        AuditEntry(
            at: call.now, name: caller.name, operation: call.operation,
            target: target.text(naming: users), outcome: outcome,
            address: call.address.isEmpty ? nil : call.address, correlationId: call.correlationId,
            session: call.session, reason: (try? AuditReason.of(call.headers)) ?? nil)
    }

    private func append(_ entries: [AuditEntry], about correlationId: String) async {
        guard let entry = entries.first else { return }
        do {
            try await Task { try await store.append(entries) }.value
        } catch {
            observer.count(.auditLost, by: entries.count)
            observer.log.error(
                "A call is missing from the audit: the store did not accept it.",
                metadata: [
                    "name": "\(entry.name.terminalSafe(limit: 64))", "operation": "\(entry.operation)",
                    "correlationId": "\(correlationId)",
                ]
            )
        }
    }
}

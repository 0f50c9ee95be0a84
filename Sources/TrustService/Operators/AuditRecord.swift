// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import Logging
import TrustStores
import Vocabulary

/// Writes what servers and operators did.
struct AuditRecord: Sendable {
    let store: any TrustStore
    let observer: RequestObserver
    let log: Logger

    /// The route, whose accepted calls are recorded if they are a server's or an operator's.
    func audited(_ route: Route) -> Route {
        switch route.access {
        case .open, .app, .metrics, .console: return route
        case .role:
            return route.handled { call in
                let answer: Answer
                do {
                    answer = try await route.handler(call)
                } catch {
                    if route.method != "GET", Problem(error).status >= 500 { await recordUnknown(call) }
                    throw error
                }
                await record(call, answer)
                return answer
            }
        }
    }

    /// Records a call that may have changed something before it failed: nobody knows what Apple did with a request that it did not answer,
    /// and keys of a user are deleted page by page.
    private func recordUnknown(_ call: Call) async {
        await record(call, by: call.caller, about: AuditTarget(asked: call), outcome: "unknown")
    }

    /// Records one accepted call of a server or an operator. The call has happened: a store that fails now makes it no failure, but the
    /// log says what is missing from the audit.
    private func record(_ call: Call, _ answer: Answer) async {
        guard answer.code == nil, answer.isAudited else { return }
        await record(call, by: call.caller, about: answer.target ?? .app(call.parameters["app"]))
    }

    /// Records that somebody did what a call asks for.
    ///
    /// Also if the call was canceled meanwhile: whoever goes away, or whose time is over, has been here.
    func record(_ call: Call, by caller: Authority, about target: AuditTarget, outcome: String = "ok") async {
        let entry = AuditEntry(
            at: call.now, name: caller.name, operation: call.operation, target: target.text, outcome: outcome)
        do {
            try await Task { try await store.append([entry]) }.value
        } catch {
            observer.count("audit.lost")
            log.error(
                "A call is missing from the audit: the store did not accept it.",
                metadata: [
                    "name": "\(entry.name.terminalSafe(limit: 64))", "operation": "\(entry.operation)",
                    "correlationId": "\(call.correlationId)",
                ]
            )
        }
    }
}

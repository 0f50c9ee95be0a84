// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import HTTPService
import HTTPTypes
package import Logging
package import TrustStores
import Vocabulary

/// The operators' routes over a store, without a service that listens: what `sealward keys --store` and `sealward audit --store` ask.
///
/// The same handlers answer, and the same audit is written, under the name `cli`. No app is configured, so nothing is said about whether a
/// key is trusted.
package struct OperatorSession: Sendable {
    private let routes: OperatorRoutes
    private let now: @Sendable () -> Date

    /// A session with an open store, which the caller closes.
    ///
    /// - Throws: `StoreFault`.
    package init(_ store: any TrustStore, log: Logger) async throws {
        let server = try await TrustServer(
            configuration: Configuration(), store: store, transport: nil, log: log, announce: { _ in })
        routes = OperatorRoutes(table: server.table)
        now = server.parts.sources.now
    }

    /// Asks one route.
    ///
    /// - Parameters:
    ///   - path: without the query.
    ///   - query: without its question mark, percent-encoded.
    ///   - reason: why, for the audit.
    /// - Returns: the answer as it would be sent.
    package func call(
        _ method: String, _ path: String, query: String = "", body: [UInt8] = [], reason: String? = nil
    ) async -> Answer {
        do {
            return try await routes.ask(
                OperatorRoutes.Question(method, path, query: query, body: body),
                as: OperatorRoutes.Asker(
                    caller: Authority(name: "cli", [.admin: .every]), correlationId: "cli", reason: reason),
                at: now())
        } catch {
            return .problem(Problem(error), correlationId: "cli")
        }
    }
}

/// The routes of servers and operators, asked from within: the same handlers, the same scopes, the same audit as over HTTP.
struct OperatorRoutes: Sendable {
    let table: RouteTable

    /// What is asked.
    struct Question: Sendable {
        let method: String
        /// Without the query.
        let path: String
        /// Without its question mark, percent-encoded.
        let query: String
        let body: [UInt8]

        init(_ method: String, _ path: String, query: String = "", body: [UInt8] = []) {
            (self.method, self.path, self.query, self.body) = (method, path, query, body)
        }
    }

    /// Who asks.
    struct Asker: Sendable {
        let caller: Authority
        let correlationId: String
        /// Empty for a command on the store.
        var address = ""
        /// The console's session.
        var session: String?
        var reason: String?
    }

    /// The answer of one route.
    ///
    /// - Throws: ``Problem`` as the route would answer; `path.unknown` for what has no route, `caller.unauthorized` for a credential that does
    ///   not open it.
    func ask(_ question: Question, as asker: Asker, at now: Date) async throws -> Answer {
        guard case .route(let route, let parameters) = table.match(method: question.method, path: question.path) else {
            throw Problem(.pathUnknown)
        }
        guard route.access.admits(asker.caller, app: parameters["app"]) else { throw Problem(.callerUnauthorized) }
        var headers = HTTPFields()
        headers[.auditReason] = asker.reason
        return try await route.handler(
            Call(
                operation: route.operation, parameters: parameters, query: question.query, headers: headers,
                body: question.body, address: asker.address, correlationId: asker.correlationId, caller: asker.caller,
                now: now, session: asker.session))
    }
}

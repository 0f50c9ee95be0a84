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
    /// - Returns: the answer as it would be sent.
    package func call(_ method: String, _ path: String, query: String = "", body: [UInt8] = []) async -> Answer {
        do {
            return try await routes.ask(
                OperatorRoutes.Question(method, path, query: query, body: body),
                as: Authority(name: "cli", [.admin: .every]), correlationId: "cli", at: now())
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

    /// The answer of one route.
    ///
    /// - Throws: ``Problem`` as the route would answer; `path.unknown` for what has no route, `caller.unauthorized` for a credential that does
    ///   not open it.
    func ask(_ question: Question, as caller: Authority, correlationId: String, at now: Date) async throws -> Answer {
        guard case .route(let route, let parameters) = table.match(method: question.method, path: question.path) else {
            throw Problem(.pathUnknown)
        }
        guard route.access.admits(caller, app: parameters["app"]) else { throw Problem(.callerUnauthorized) }
        return try await route.handler(
            Call(
                operation: route.operation, parameters: parameters, query: question.query, headers: HTTPFields(),
                body: question.body, address: "", correlationId: correlationId, caller: caller, now: now))
    }
}

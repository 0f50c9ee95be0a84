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
    private let table: RouteTable
    private let now: @Sendable () -> Date

    /// A session with an open store, which the caller closes.
    ///
    /// - Throws: `StoreFault`.
    package init(_ store: any TrustStore, log: Logger) async throws {
        var configuration = Configuration()
        configuration.users = nil
        let server = try await TrustServer(
            configuration: configuration, store: store, transport: nil, log: log, announce: { _ in })
        table = server.table
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
            return try await table.ask(
                method, path, query: query, body: body, reason: reason,
                as: Authority(name: "cli", [.admin: .every]), at: now())
        } catch {
            return .problem(Problem(error), correlationId: "cli")
        }
    }
}

extension RouteTable {
    /// The answer of one route, asked from within.
    ///
    /// - Throws: ``Problem`` as the route would answer; `path.unknown` for what has no route, `caller.unauthorized` for a credential that does
    ///   not open it.
    func ask(
        _ method: String, _ path: String, query: String = "", body: [UInt8] = [], reason: String? = nil,
        as caller: Authority, at now: Date
    ) async throws -> Answer {
        guard case .route(let route, let parameters) = match(method: method, path: path) else {
            throw Problem(.pathUnknown)
        }
        guard route.access.admits(caller, app: parameters["app"]) else { throw Problem(.callerUnauthorized) }
        var headers = HTTPFields()
        headers[.auditReason] = reason
        return try await route.handler(
            Call(
                operation: route.operation, parameters: parameters, query: query, headers: headers, body: body,
                address: "", correlationId: "cli", caller: caller, now: now))
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import HTTPTypes
package import Logging
package import TrustStores

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
        let server = try await TrustServer(
            configuration: Configuration(),
            store: store,
            transport: nil,
            log: log,
            announce: { _ in }
        )
        table = server.table
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
            guard case .route(let route, let parameters) = table.match(method: method, path: path) else {
                throw Problem(.pathUnknown)
            }
            return try await route.handler(
                Call(
                    operation: route.operation,
                    parameters: parameters,
                    query: query,
                    headers: HTTPFields(),
                    body: body,
                    address: "",
                    correlationId: "cli",
                    caller: Authority(name: "cli", [.admin: .every]),
                    now: now()
                )
            )
        } catch {
            return .problem(Problem(error), correlationId: "cli")
        }
    }
}

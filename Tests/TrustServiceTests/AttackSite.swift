// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import TestSupport
import Testing
import TrustStores
import TrustStoresPostgres

@testable import TrustService

/// Where the table of attacks is run: one node, or two nodes on one PostgreSQL to which requests go in turn.
enum AttackSite: String, Sendable, CustomTestStringConvertible {
    case oneNode = "one node"
    case twoNodes = "two nodes on one PostgreSQL"

    var testDescription: String { rawValue }

    static var available: [AttackSite] {
        // Where PostgreSQL is missing, `NodesTests` says so.
        PostgresServer.isAvailable ? [.oneNode, .twoNodes] : [.oneNode]
    }

    func run(
        _ configuration: Configuration = RunningService.configuration(),
        transport: any AppleTransport = LiveAppleTransport(), _ body: (RunningService) async throws -> Void
    ) async throws {
        guard self == .twoNodes else {
            try await RunningService.with(configuration, transport: transport, body)
            return
        }
        let url = try await PostgresServer.sharedWithEmptyStore().url
        let (first, second) = (try await SQLTrustStore.postgres(url), try await SQLTrustStore.postgres(url))
        try await RunningService.with(configuration, store: first, transport: transport) { left in
            try await RunningService.with(configuration, store: second, clock: left.clock, transport: transport) {
                right in
                var both = left
                both.peers = [right.base]
                try await body(both)
            }
        }
    }
}

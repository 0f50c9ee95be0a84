// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import BenchReport
import Foundation
import HTTPTypes
import NIOConcurrencyHelpers
import TLSProbe

/// What stays of a load when it is over: 20,000 loads with 64 in flight, and the bytes that are allocated more than before, by the C library's
/// own count, with the server's part of the connections in the same process. Descriptors must be as before.
struct Soak {
    let isSecure: Bool
    let isKept: Bool
    let port: Int

    private static let loads = 20_000
    /// Caches, pools and threads are there after these.
    private static let warmUp = 6_000
    /// Anything that is kept for each load is an object of its own, and needs more; free pieces of threads' caches count as allocated and
    /// need less.
    private static let bytes = 32.0

    /// - Returns: whether the figure keeps to its bound.
    func run(_ identity: Identity, _ tally: NIOLockedValueBox<ClientBench.Tally>) async throws -> Bool {
        var trust = TrustAnchors()
        try trust.add(file: identity.authority, kind: .installed)
        var configuration = ATSClient.Configuration()
        configuration.connectionsPerHost = 64
        configuration.totalTimeout = .seconds(40)
        let policy = try ATSPolicy(json: Array(#"{"NSAllowsArbitraryLoads": true}"#.utf8))
        let client = ATSClient(policy: policy, trust: trust, configuration: configuration)
        try await load(Soak.warmUp, client)
        tally.withLockedValue { $0 = ClientBench.Tally() }
        let (held, open) = (AllocatedBytes.now(), Soak.descriptors())
        try await load(Soak.loads, client)
        let (now, openNow) = (AllocatedBytes.now(), Soak.descriptors())
        let seen = tally.withLockedValue { $0 }
        await client.shutDown()
        guard let held, let now else {
            throw Unmeasured(description: "this C library does not count what is allocated")
        }
        guard seen.requests == Soak.loads, isKept ? seen.connections <= 64 : seen.connections >= Soak.loads else {
            throw Unmeasured(description: "\(seen.requests) requests on \(seen.connections) connections")
        }
        guard client.openConnections == 0, openNow <= open + 128 else {
            throw Unmeasured(
                description: "\(open) descriptors before, \(openNow) after, \(client.openConnections) connections"
            )
        }
        let name = "\(isSecure ? "HTTPS" : "HTTP"), \(isKept ? "kept" : "fresh") connections: bytes that stay of a load"
        return figure(name, Double(now - held) / Double(Soak.loads), .atMost(Soak.bytes))
    }

    private func load(_ count: Int, _ client: ATSClient) async throws {
        let url = "\(isSecure ? "https" : "http")://localhost:\(port)/"
        let fields: HTTPFields = isKept ? [:] : [.connection: "close"]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                if index >= 64 { try await group.next() }
                group.addTask {
                    let report = await client.load(url, headerFields: fields)
                    guard report.body.count == 1000 else { throw Unmeasured(description: "\(report)") }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func descriptors() -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }

    private struct Unmeasured: Error, CustomStringConvertible {
        let description: String
    }
}

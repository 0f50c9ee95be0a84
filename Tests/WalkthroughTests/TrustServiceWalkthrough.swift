// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Foundation
import Logging
import ServiceLifecycle
import TLSProbe
import Testing
import TrustPolicy
import TrustService
import TrustStores
import TrustStoresSQLite
import UnixSignals

@Test func `TrustService: the service inside a program of one's own`() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("walkthrough-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("trust.sqlite").path
    let lines = AsyncStream<String>.makeStream()

    // walkthrough: TrustService run
    let configuration = """
        {"listen": "127.0.0.1:0",
         "apps": [{"id": "shop", "teamId": "ABCDE12345", "bundleIds": ["com.example.shop"]}]}
        """
    let log = Logger(label: "trust")
    let server = try await TrustServer(
        json: Array(configuration.utf8),
        store: try SQLTrustStore.sqlite(at: path),
        log: log,
        announce: { line in lines.continuation.yield(line) }  // "listening on http://127.0.0.1:PORT"
    )
    let group = ServiceGroup(services: [server], gracefulShutdownSignals: [.sigterm], logger: log)
    async let running: Void = group.run()
    // end
    var address = ""
    for await line in lines.stream {
        address = line.split(separator: " ").last.map(String.init) ?? ""
        break
    }
    let client = ATSClient(
        policy: ATSPolicy(
            dictionary: ATSDictionary(.dictionary(["NSAllowsLocalNetworking": .boolean(true)])),
            profile: .standard
        ),
        trust: TrustAnchors()
    )
    let answer = await client.load(address + "/readyz")
    await client.shutDown()
    await group.triggerGracefulShutdown()
    try await running
    #expect(answer.status == 200, "\(address) \(answer)")
}

@Test func `TrustService: a configuration that cannot be says everything at once`() async throws {
    let error = await #expect(throws: TrustServer.InvalidConfiguration.self) {
        _ = try await TrustServer(
            json: Array(#"{"listen": 7, "apps": [{"id": ""}]}"#.utf8),
            store: InMemoryTrustStore(),
            log: Logger(label: "trust")
        )
    }
    #expect(error?.issues.count ?? 0 >= 2)
}

@Test func `TrustPolicy: a score of which every point has a reason`() {
    // walkthrough: TrustPolicy score
    var signals = RiskSignals()
    signals.keysOfUser = 40
    signals.largestCounterGap = 5_000
    let score = RiskScore(signals)
    for contribution in score.contributions { print(contribution.points, contribution.code, contribution.message) }
    print(score.points, score.tier)
    // end
    #expect(score.points > 0 && score.points == min(100, score.contributions.reduce(0) { $0 + $1.points }))
}

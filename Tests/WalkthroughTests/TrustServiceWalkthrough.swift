// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppAttest
import AppTransportSecurity
import Foundation
import Logging
import PropertyLists
import ServiceLifecycle
import TLSProbe
import Testing
import TrustService
import TrustStores
import TrustTokens
import UnixSignals

@Test func `TrustService: the service inside a program of one's own`() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("walkthrough-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("trust.sqlite").path
    let lines = AsyncStream<String>.makeStream()

    // walkthrough: TrustService configuration
    var configuration = TrustServer.Configuration()
    configuration.listen = ListenAddress(host: "127.0.0.1", port: 0)
    var shop = TrustServer.Configuration.App(id: "shop", teamId: "ABCDE12345", bundleIds: ["com.example.shop"])
    shop.environments = [.production, .development]
    configuration.apps = [shop]
    // end

    // walkthrough: TrustService run
    let log = Logger(label: "trust")
    let server = try await TrustServer(
        configuration: configuration,
        store: try Store.sqlite(at: path),
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
            dictionary: ATSDictionary(.dictionary(["NSAllowsLocalNetworking": .boolean(true)])), profile: .standard),
        trust: TrustAnchors())
    let answer = await client.load(address + "/readyz")
    await client.shutDown()
    await group.triggerGracefulShutdown()
    try await running
    #expect(answer.status == 200, "\(address) \(answer)")
}

@Test func `TrustService: a configuration that cannot be says everything at once`() async throws {
    #expect(throws: TrustServer.InvalidConfiguration.self) {
        _ = try TrustServer.Configuration(json: Array(#"{"listen": 7, "apps": [{"id": ""}]}"#.utf8))
    }
    var configuration = TrustServer.Configuration()
    configuration.challenges.ttl = .milliseconds(1500)
    configuration.limits.bodyBytes = 1 << 30
    configuration.adminTokens = CredentialSource(tokens: ["short"])
    configuration.apps = [
        .init(id: "", teamId: "ABCDE12345", bundleIds: []), .init(id: "", teamId: "T", bundleIds: ["b"]),
    ]
    configuration.tokens.keyPEMs = ["no key"]
    configuration.appleHosts.data = "ftp://apple.example"
    configuration.bits = [.init(bit: 2, name: "welcome")]
    let wrong = configuration
    let error = await #expect(throws: TrustServer.InvalidConfiguration.self) {
        _ = try await TrustServer(configuration: wrong, store: Store.inMemory(), log: Logger(label: "trust"))
    }
    for place in [
        "challenges.ttlSeconds", "limits.bodyBytes", "adminTokenFile", "apps[0].id", "apps[0].bundleIds", "apps[1].id",
        "tokens.keyFiles[0]", "apple.dataBaseURL", "deviceCheck.bits[0].bit",
    ] {
        #expect(error?.issues.contains { $0.hasPrefix("\(place): ") } == true, "\(place): \(error?.issues ?? [])")
    }
}

@Test func `TrustService: a document is one way to a configuration`() throws {
    // walkthrough: TrustService document
    let document = """
        {"listen": "127.0.0.1:0",
         "apps": [{"id": "shop", "teamId": "ABCDE12345", "bundleIds": ["com.example.shop"]}]}
        """
    let configuration = try TrustServer.Configuration(json: Array(document.utf8))
    // end
    #expect(configuration.apps.map(\.id) == ["shop"])
    #expect(configuration.apps.map(\.appIdPrefix) == ["ABCDE12345"])
    #expect(configuration.listen == ListenAddress(host: "127.0.0.1", port: 0))
}

@Test func `TrustPolicy: a score of which every point has a reason`() {
    // walkthrough: TrustTokens score
    var signals = RiskSignals()
    signals.keysOfUser = 40
    signals.largestCounterGap = 5_000
    let score = RiskScore(signals)
    for contribution in score.contributions { print(contribution.points, contribution.code, contribution.message) }
    print(score.points, score.tier)
    // end
    #expect(score.points > 0 && score.points == min(100, score.contributions.reduce(0) { $0 + $1.points }))
}

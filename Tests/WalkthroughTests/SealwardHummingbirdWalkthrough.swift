// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Foundation
import Hummingbird
import Logging
import NIOCore
import PropertyLists
import SealwardHummingbird
import ServiceLifecycle
import TLSProbe
import Testing
import TrustTokens

@Test func `SealwardHummingbird: a server that only real apps can use`() async throws {
    // walkthrough: SealwardHummingbird routes
    let gate = TokenGate(
        .init(
            service: "https://trust.example.com", issuer: "https://trust.example.com", audience: "shop-api",
            apps: ["ABCDE12345.com.example.shop"]))
    let router = Router(context: BasicAttestedRequestContext.self)
    router.addMiddleware { AttestationMiddleware(gate) }
    router.get("price") { _, context in
        try context.requireAttested().tier == .low ? "10.00" : "8.00"
    }
    // end
    let ports = AsyncStream<Int>.makeStream()
    let app = Application(
        router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { ports.continuation.yield($0.localAddress?.port ?? 0) })
    let group = ServiceGroup(services: [app], logger: Logger(label: "shop"))
    async let running: Void = group.run()
    var port = 0
    for await found in ports.stream {
        port = found
        break
    }
    let client = ATSClient(
        policy: ATSPolicy(
            dictionary: ATSDictionary(.dictionary(["NSAllowsLocalNetworking": .boolean(true)])), profile: .standard),
        trust: TrustAnchors())
    let answer = await client.load("http://127.0.0.1:\(port)/price")
    await client.shutDown()
    await group.triggerGracefulShutdown()
    try await running
    #expect(answer.status == 401, "\(answer)")
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import AppleSimulator
import Crypto
import DeviceCheckBits
import Foundation
import Logging
import Testing
import Vocabulary

/// The clients and the simulator over real sockets.
@Suite struct LiveAppleTransportTests {
    private func withSimulator(
        _ body: @Sendable (AppleEndpoint, AppleSimulator, LiveAppleTransport) async throws -> Void
    ) async throws {
        var configuration = AppleSimulatorConfiguration()
        let key = AppleSimulatorConfiguration.teamKey(seed: 1, team: "SIMTEAM001")
        configuration.teams = [.init(id: "SIMTEAM001", keyId: "SIMKEY0001", key: key.publicKey)]
        let simulator = try AppleSimulator(configuration: configuration)
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let server = AppleSimulatorServer(simulator, logger: logger) { continuation.yield($0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            var iterator = ports.makeAsyncIterator()
            let port = try #require(await iterator.next())
            let endpoint = try #require(AppleEndpoint("http://127.0.0.1:\(port)"))
            let transport = LiveAppleTransport()
            try await body(endpoint, simulator, transport)
            await transport.shutDown()
            group.cancelAll()
        }
    }

    private func authorization() async throws -> AppleAuthorization {
        let pem = AppleSimulatorConfiguration.teamKey(seed: 1, team: "SIMTEAM001").pemRepresentation
        return try await AppleAuthorization(teamId: "SIMTEAM001", keyId: "SIMKEY0001", privateKeyPEM: pem)
    }

    private func control(
        _ simulator: AppleSimulator, _ method: String, _ path: String, _ json: String
    ) async throws
        -> [String: Any]
    {
        let request = SimulatorRequest(method: method, path: path, body: Array(json.utf8))
        let answer = await simulator.answer(request, wall: Date())
        return (try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]) ?? [:]
    }

    @Test func bitsMakeTheRoundTrip() async throws {
        try await withSimulator { endpoint, simulator, transport in
            _ = try await control(simulator, "POST", "/device/v1/devices", #"{"device":"a"}"#)
            let made = try await control(simulator, "POST", "/device/v1/devices/a/token", #"{"app":"SIMTEAM001.x.y"}"#)
            let token = try #require(made["deviceToken"] as? String)
            let client = DeviceCheckClient(
                transport: transport, authorization: try await authorization(), endpoint: endpoint)
            #expect(try await client.query(deviceToken: token, transactionId: "1", at: Date()) == .neverSet)
            let pair = BitPair(bit0: true, bit1: false)
            try await client.update(pair, deviceToken: token, transactionId: "2", at: Date())
            let state = try await client.query(deviceToken: token, transactionId: "3", at: Date())
            #expect(state.bits == pair && state.isSet)
            try await client.validate(deviceToken: token, transactionId: "4", at: Date())
            let fault = await #expect(throws: DeviceCheckFault.self) {
                try await client.validate(deviceToken: "AAAA", transactionId: "5", at: Date())
            }
            #expect(fault?.code == "deviceToken.invalid")
        }
    }

    @Test(arguments: ["redirect", "oversized", "html"])
    func aSpoiledAnswerIsUnusableAndNothingIsFollowed(kind: String) async throws {
        try await withSimulator { endpoint, simulator, transport in
            let fault =
                #"[{"call":"attestationData","kind":"\#(kind)","location":"\#(endpoint.baseURL)/v1/validate_device_token"}]"#
            _ = try await control(simulator, "PUT", "/control/faults", fault)
            let client = ReceiptRefreshClient(
                transport: transport, authorization: try await authorization(), endpoint: endpoint)
            let outcome = try await client.refresh([1, 2, 3], at: Date())
            #expect(outcome.code == "receipt.refresh.unusable")
            let state = try await control(simulator, "GET", "/control/state", "")
            let answered = try #require(state["answered"] as? [String: Int])
            #expect(!answered.keys.contains { $0.contains("validate_device_token") })
        }
    }

    @Test func aDeadHostIsUnavailable() async throws {
        let endpoint = try #require(AppleEndpoint("http://127.0.0.1:1"))
        let client = ReceiptRefreshClient(
            transport: LiveAppleTransport(), authorization: try await authorization(), endpoint: endpoint)
        #expect(try await client.refresh([1], at: Date()) == .unavailable(status: nil, retryAfterSeconds: nil))
    }
}

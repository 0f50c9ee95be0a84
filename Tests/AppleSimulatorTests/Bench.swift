// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import AppleSimulator
import Crypto
import Foundation
import Testing

/// A simulated Apple at a fixed time, with one team, spoken to without a network.
struct Bench {
    static let team = "SIMTEAM001"
    static let keyId = "SIMKEY0001"
    static let app = "SIMTEAM001.com.example.shop"

    let simulator: AppleSimulator
    let wall = Date(timeIntervalSince1970: 1_795_250_000)
    let key: P256.Signing.PrivateKey

    init(_ change: (inout AppleSimulatorConfiguration) -> Void = { _ in }) throws {
        var configuration = AppleSimulatorConfiguration()
        configuration.seed = 7
        key = AppleSimulatorConfiguration.teamKey(seed: 7, team: Bench.team)
        configuration.teams = [.init(id: Bench.team, keyId: Bench.keyId, key: key.publicKey)]
        change(&configuration)
        simulator = try AppleSimulator(configuration: configuration)
    }

    /// One with the phone `a`.
    static func withPhone(_ change: (inout AppleSimulatorConfiguration) -> Void = { _ in }) async throws -> Bench {
        let bench = try Bench(change)
        _ = try await bench.phone("", #"{"device":"a"}"#, member: "device")
        return bench
    }

    func token(team: String = Bench.team, keyId: String = Bench.keyId, at instant: Date? = nil) async throws -> String {
        try await AppleAuthorization(teamId: team, keyId: keyId, privateKeyPEM: key.pemRepresentation)
            .token(at: instant ?? wall)
    }

    func ask(
        _ method: String, _ path: String, _ json: String = "", authorization: String? = nil, wall: Date? = nil
    ) async -> SimulatorAnswer {
        await simulator.answer(
            SimulatorRequest(method: method, path: path, authorization: authorization, body: Array(json.utf8)),
            wall: wall ?? self.wall)
    }

    /// What a server of the team is answered.
    func asTeam(_ path: String, _ json: String) async throws -> SimulatorAnswer {
        await ask("POST", path, json, authorization: "Bearer " + (try await token()))
    }

    /// A member of a JSON answer of a phone.
    func phone(_ path: String, _ json: String = "", member: String, wall: Date? = nil) async throws -> String {
        let answer = await ask("POST", "/device/v1/devices\(path)", json, wall: wall)
        return try #require(answer.object[member] as? String, "\(answer.status) \(answer.words)")
    }

    func deviceToken(
        _ device: String, app: String = Bench.app, environment: String = "production"
    ) async throws -> String {
        try await phone(
            "/\(device)/token", #"{"app":"\#(app)","environment":"\#(environment)"}"#, member: "deviceToken")
    }

    func bits(_ token: String, _ members: String = "") -> String {
        let milliseconds = Int(wall.timeIntervalSince1970 * 1000)
        return #"{"device_token":"\#(token)","transaction_id":"t","timestamp":\#(milliseconds)\#(members)}"#
    }
}

extension SimulatorAnswer {
    var words: String { String(decoding: body, as: UTF8.self) }
    var object: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]) ?? [:] }
}

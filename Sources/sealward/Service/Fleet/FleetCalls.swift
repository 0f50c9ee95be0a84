// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import Foundation

/// No usable answer came from the service or from Apple's side.
struct FleetFault: Error, CustomStringConvertible {
    let description: String
}

/// An answer in JSON: the members that the fleet reads, of whichever call.
struct FleetReply: Sendable {
    let status: Int
    let body: Body

    struct Body: Decodable, Sendable {
        var challenge: String?
        var code: String?
        var retryAfterSeconds: Double?
        var keyId: String?
        var attestation: String?
        var assertion: String?
        var deviceToken: String?
        var tier: String?
        var token: String?
        var enforcement: Enforcement?
        var error: String?
        var alerts: [Alert]?
        var metrics: [Metric]?
        var granted: Bool?
        var firstClaim: Bool?
    }

    struct Enforcement: Decodable, Sendable {
        var decision: String?
        var code: String?
    }

    /// A line of the risk's distribution: so many keys have this metric.
    struct Metric: Decodable, Sendable {
        var metric: Int
        var keys: Int
    }

    struct Alert: Decodable, Sendable {
        var code: String?
        var message: String?
    }

    var isSuccess: Bool { (200...299).contains(status) && enforcementCode == nil }

    /// The code of a would-be refusal in monitor mode.
    private var enforcementCode: String? { body.enforcement?.decision == "refuse" ? body.enforcement?.code ?? "" : nil }

    /// The code of a refusal, or the bare status where there is none.
    var code: String { enforcementCode ?? body.code ?? body.error ?? "status \(status)" }
}

/// The HTTP calls of the fleet: to the service as an app, and to simulated Apple as a phone.
struct FleetCalls: Sendable {
    let transport: any AppleTransport
    /// The address of the service without a slash at its end.
    let service: String
    /// The address of simulated Apple without a slash at its end.
    let apple: String
    /// The `id` of the app in the service's configuration.
    let app: String
    let serverToken: String?
    let adminToken: String?
    let tally: FleetTally

    /// A call to the service below the app's path; waits and repeats where the service asks for it with 429.
    func app(_ path: String, _ body: [String: String?], asServer: Bool = false) async throws -> FleetReply {
        for _ in 0..<100 {
            let start = ContinuousClock.now
            let reply = try await send(
                "POST",
                "\(service)/v1/apps/\(app)/\(path)",
                body,
                token: asServer ? serverToken : nil
            )
            await tally.answered(path, in: ContinuousClock.now - start, throttled: reply.status == 429)
            guard reply.status == 429 else { return reply }
            let seconds = min(max(reply.body.retryAfterSeconds ?? 0.1, 0.02), 5)
            try await Task.sleep(for: .seconds(seconds))
        }
        throw FleetFault(description: "the service answers 429 again and again")
    }

    /// What an operator sees of the app's risk, where the fleet has an operator's token.
    func risk() async throws -> FleetReply {
        try await send("GET", "\(service)/v1/apps/\(app)/risk", nil, token: adminToken)
    }

    /// A call that a phone makes to its own hardware or to Apple.
    func phone(_ path: String, _ body: [String: String?]) async throws -> FleetReply {
        try await send("POST", "\(apple)/device/v1/devices\(path)", body, token: nil)
    }

    /// What a gateway asks about a token.
    func authorize(_ token: String, simulatedAllowed: Bool) async throws -> Int {
        let query = simulatedAllowed ? "?simulated=allow" : ""
        return try await send("GET", "\(service)/v1/authorize\(query)", nil, token: token).status
    }

    private func send(
        _ method: String,
        _ url: String,
        _ body: [String: String?]?,
        token: String?
    ) async throws -> FleetReply {
        var headers = [AppleRequest.Header("Accept", "application/json")]
        if let token { headers.append(.init("Authorization", "Bearer \(token)")) }
        var bytes: [UInt8] = []
        if let body {
            headers.append(.init("Content-Type", "application/json"))
            bytes = Array(try JSONEncoder().encode(body.compactMapValues { $0 }))
        }
        let answer = try await transport.send(AppleRequest(method: method, url: url, headers: headers, body: bytes))
        // At most 64 KiB, which the transport sees to; what is no such object counts as an answer without members.
        let reply = answer.body.isEmpty ? nil : try? JSONDecoder().decode(FleetReply.Body.self, from: Data(answer.body))
        return FleetReply(status: answer.status, body: reply ?? FleetReply.Body())
    }
}

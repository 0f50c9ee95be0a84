// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import DeviceCheckBits
import Formats
import FoundationEssentials
import HTTPService

/// DeviceCheck for backends.
struct DeviceCheckHandler: Handler {
    let parts: ServiceParts

    var routes: [Route] {
        [
            Route("queryBits", "POST", "/v1/devicecheck/query", .server, asksApple: true, queryBits),
            Route("updateBits", "POST", "/v1/devicecheck/update", .server, asksApple: true, updateBits),
            Route("validateDevice", "POST", "/v1/devicecheck/validate", .server, asksApple: true, validateDevice),
        ]
    }

    /// What every body says: the token, the transaction, and the app, whose environments are asked.
    private func question(_ body: RequestBody, _ call: Call) throws(Problem) -> Question {
        let (token, transaction) = (try body.string("deviceToken"), try body.string("transactionId", limit: 128))
        let app = try parts.apps.app(try body.string("app", limit: 256), call, as: .server)
        let environments = try parts.device.environments(
            named: try body.optionalString("environment", limit: 16), of: app)
        return (token, transaction, environments, .app(app.settings.id))
    }

    private typealias Question = (
        token: String, transaction: String, environments: [AttestationEnvironment], target: AuditTarget
    )

    @Sendable private func queryBits(_ call: Call) async throws -> Answer {
        let (token, transaction, environments, target) = try question(try RequestBody(call.body), call)
        let (state, _, environment) = try await parts.device.first(environments) {
            try await $0.query(deviceToken: token, transactionId: transaction, at: call.now)
        }
        return .json(document(state, environment, at: call.now)).about(target)
    }

    /// `POST /v1/devicecheck/update`: named bits change, the other keeps the value that counts.
    @Sendable private func updateBits(_ call: Call) async throws -> Answer {
        let body = try RequestBody(call.body)
        let (token, transaction, environments, target) = try question(body, call)
        guard let members = body.value("bits")?.members, !members.isEmpty else {
            throw Problem(.requestMalformed, evidence: "bits must be an object that is not empty")
        }
        var changes: [String: Bool] = [:]
        for member in members {
            guard case .bool(let value) = member.value, let name = parts.device.registry[member.name]?.name,
                changes[name] == nil
            else {
                throw Problem(
                    .requestMalformed,
                    evidence: "bits contains an unknown or repeated name, or a value that is not true or false")
            }
            changes[name] = value
        }
        let month = YearMonth(containing: call.now)
        // Reads first also where both bits are written, if the token may be of either environment: a write is never tried to find that out.
        let readsFirst = changes.count < 2 || environments.count > 1
        var (state, client, environment) = try await parts.device.first(environments) {
            readsFirst
                ? try await $0.query(deviceToken: token, transactionId: transaction, at: call.now) : .neverSet
        }
        for _ in 0..<DeviceBits.attempts {
            guard let bits = parts.device.registry.bits(changing: changes, of: state, now: month) else {
                throw Problem(.requestMalformed)
            }
            try Task.checkCancellation()
            try await client.update(bits, deviceToken: token, transactionId: transaction, at: call.now)
            // Whoever read before this write and writes after it takes the bit back without knowing.
            state = try await client.query(deviceToken: token, transactionId: transaction, at: call.now)
            if changes.allSatisfy({ name, value in
                parts.device.registry[name].map { state.bits[$0.bit] == value } ?? false
            }) {
                return .json(document(.set(bits, lastUpdate: month), environment, at: call.now)).about(target)
            }
        }
        throw DeviceBits.overwritten
    }

    @Sendable private func validateDevice(_ call: Call) async throws -> Answer {
        let (token, transaction, environments, target) = try question(try RequestBody(call.body), call)
        _ = try await parts.device.first(environments) {
            try await $0.validate(deviceToken: token, transactionId: transaction, at: call.now)
        }
        return Answer.empty(204).about(target)
    }

    private func document(_ state: DeviceBitState, _ environment: AttestationEnvironment, at now: Date) -> JSONValue {
        let bits = parts.device.registry.named(state, now: YearMonth(containing: now))
        return [
            "bits": .object(bits.map { JSONValue.Member($0.name, .bool($0.value)) }),
            "lastUpdate": .optional(state.lastUpdate?.description), "set": .bool(state.isSet),
            "environment": .string(environment.rawValue),
        ]
    }
}

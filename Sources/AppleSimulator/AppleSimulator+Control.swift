// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// The control interface: clock, faults, limits, teams.
extension AppleSimulator {
    func controlAnswer(_ request: SimulatorRequest, _ path: [String], wall: Date) -> SimulatorAnswer {
        switch (request.method, path.joined(separator: "/")) {
        case ("GET", "state"): return SimulatorAnswer(200, json: state(wall: wall))
        case ("PUT", "clock"): return read({ try ClockBody.read($0) }, request) { setClock($0, wall: wall) }
        case ("PUT", "faults"):
            return read(Fault.readList, request) { faults in
                guard faults.count <= FaultPlan.limit, faults.allSatisfy(\.isWithinBounds) else {
                    return .invalidInput()
                }
                plan.faults = faults
                return SimulatorAnswer(200, json: plan.faults)
            }
        case ("PUT", "limits"): return read({ try LimitsBody.read($0) }, request, setLimits)
        case ("PUT", "device-tokens"):
            return read({ try TokenBody.read($0) }, request) { body in
                tokens.singleUse = body.singleUse
                return SimulatorAnswer(200, json: ["singleUse": body.singleUse])
            }
        case ("POST", "teams"): return read({ try TeamBody.read($0) }, request, addTeam)
        case ("DELETE", "teams"):
            return read({ try TeamBody.read($0, members: [.teamId, .keyId]) }, request, removeTeam)
        default: return .unknownPath
        }
    }

    private func read<Body>(
        _ body: ([UInt8]) throws -> Body, _ request: SimulatorRequest, _ act: (Body) -> SimulatorAnswer
    ) -> SimulatorAnswer {
        do {
            return act(try body(request.body))
        } catch {
            return .invalidInput((error as? UnknownMember)?.detail)
        }
    }

    private func setClock(_ body: ClockBody, wall: Date) -> SimulatorAnswer {
        // About 317 years; a number that is not finite is none either.
        if let seconds = body.advanceSeconds, !(abs(seconds) <= 1e10) { return .invalidInput() }
        if let text = body.now {
            guard let instant = Timestamp.read(text) else { return .invalidInput() }
            if body.stopped ?? false { clock.stop(at: instant) } else { clock.run(from: instant, wall: wall) }
        } else if body.follow ?? false {
            clock.follow()
        } else if body.stopped ?? false {
            clock.stop(at: clock.now(wall: wall))
        }
        if let seconds = body.advanceSeconds { clock.advance(seconds: seconds) }
        return SimulatorAnswer(200, json: ["now": Timestamp.text(clock.now(wall: wall))])
    }

    private func setLimits(_ body: LimitsBody) -> SimulatorAnswer {
        guard body.numbers.values.allSatisfy((0...1e6).contains) else { return .invalidInput() }
        plan.limit(body.numbers)
        var answer: [String: Double] = [:]
        for (call, number) in body.numbers { answer[call.rawValue] = number }
        return SimulatorAnswer(200, json: answer)
    }

    /// Registers the public key that is given, or the key that the seed gives to the team; the private half of that one is in the answer.
    private func addTeam(_ body: TeamBody) -> SimulatorAnswer {
        if let pem = body.publicKey {
            guard let key = try? P256.Signing.PublicKey(pemRepresentation: pem) else { return .invalidInput() }
            authorizations.register(team: body.teamId, keyId: body.keyId, key: key)
            return SimulatorAnswer(201, json: ["teamId": body.teamId, "keyId": body.keyId])
        }
        let key = AppleSimulatorConfiguration.teamKey(seed: configuration.seed, team: body.teamId)
        authorizations.register(team: body.teamId, keyId: body.keyId, key: key.publicKey)
        return SimulatorAnswer(
            201, json: ["teamId": body.teamId, "keyId": body.keyId, "privateKey": key.pemRepresentation])
    }

    private func removeTeam(_ body: TeamBody) -> SimulatorAnswer {
        authorizations.remove(team: body.teamId, keyId: body.keyId)
        return SimulatorAnswer(200, json: ["teamId": body.teamId, "keyId": body.keyId])
    }

    private func state(wall: Date) -> StateBody {
        StateBody(
            now: Timestamp.text(clock.now(wall: wall)), teams: authorizations.teamIds,
            devices: phones.count, faults: plan.faults, answered: answered)
    }

    private struct ClockBody: KnownMembers {
        let now: String?
        let advanceSeconds: Double?
        let stopped: Bool?
        let follow: Bool?

        enum CodingKeys: CodingKey, CaseIterable {
            case now, advanceSeconds, stopped, follow
        }
    }

    /// Requests a second, by call.
    private struct LimitsBody: KnownMembers {
        let numbers: [Call: Double]

        typealias CodingKeys = Call

        init(from decoder: any Decoder) throws {
            numbers = try [Call: Double](from: decoder)
        }
    }

    private struct TokenBody: KnownMembers {
        let singleUse: Bool

        enum CodingKeys: CodingKey, CaseIterable {
            case singleUse
        }
    }

    private struct TeamBody: KnownMembers {
        let teamId: String
        let keyId: String
        let publicKey: String?

        enum CodingKeys: CodingKey, CaseIterable {
            case teamId, keyId, publicKey
        }
    }

    private struct StateBody: Encodable {
        let now: String
        let teams: [String]
        let devices: Int
        let faults: [Fault]
        let answered: [String: Int]
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation

/// The control interface: clock, faults, limits, teams.
extension AppleSimulator {
    func controlAnswer(_ request: SimulatorRequest, _ path: [String], wall: Date) -> SimulatorAnswer {
        switch (request.method, path.joined(separator: "/")) {
        case ("GET", "state"): return SimulatorAnswer(200, json: state(wall: wall))
        case ("PUT", "clock"): return read(ClockWish.self, request) { setClock($0, wall: wall) }
        case ("PUT", "faults"):
            return read([Fault].self, request) { faults in
                plan.set(faults)
                return SimulatorAnswer(200, json: plan.faults)
            }
        case ("PUT", "limits"): return read([String: Double].self, request, setLimits)
        case ("PUT", "device-tokens"):
            return read(TokenWish.self, request) { wish in
                tokens.require(singleUse: wish.singleUse)
                return SimulatorAnswer(200, json: ["singleUse": wish.singleUse])
            }
        case ("POST", "teams"): return read(TeamWish.self, request, addTeam)
        case ("DELETE", "teams"): return read(TeamWish.self, request, removeTeam)
        case (_, "state"), (_, "clock"), (_, "faults"), (_, "limits"), (_, "device-tokens"), (_, "teams"):
            return SimulatorAnswer(405, json: Problem(error: "method"))
        default: return SimulatorAnswer(404, json: Problem(error: "unknownPath"))
        }
    }

    private func read<Wish: Decodable>(
        _ type: Wish.Type,
        _ request: SimulatorRequest,
        _ act: (Wish) -> SimulatorAnswer
    ) -> SimulatorAnswer {
        guard let wish = try? JSONDecoder().decode(type, from: Data(request.body)) else {
            return SimulatorAnswer(400, json: Problem(error: "invalidInput"))
        }
        return act(wish)
    }

    private func setClock(_ wish: ClockWish, wall: Date) -> SimulatorAnswer {
        if let text = wish.now {
            guard let instant = Timestamp.read(text) else {
                return SimulatorAnswer(400, json: Problem(error: "invalidInput"))
            }
            if wish.stopped ?? false { clock.stop(at: instant) } else { clock.run(from: instant, wall: wall) }
        } else if wish.follow ?? false {
            clock.follow()
        } else if wish.stopped ?? false {
            clock.stop(at: clock.now(wall: wall))
        }
        if let seconds = wish.advanceSeconds, seconds.isFinite, abs(seconds) < 1e10 { clock.advance(seconds: seconds) }
        return SimulatorAnswer(200, json: ["now": Timestamp.text(clock.now(wall: wall))])
    }

    private func setLimits(_ wishes: [String: Double]) -> SimulatorAnswer {
        var limits: [Call: Double] = [:]
        for (name, number) in wishes {
            guard let call = Call(rawValue: name), number >= 0 else {
                return SimulatorAnswer(400, json: Problem(error: "invalidInput"))
            }
            limits[call] = number
        }
        plan.limit(limits)
        return SimulatorAnswer(200, json: wishes)
    }

    /// Registers the public key that is given, or the key that the seed gives to the team; the private half of that one is in the answer.
    private func addTeam(_ wish: TeamWish) -> SimulatorAnswer {
        if let pem = wish.publicKey {
            guard let key = try? P256.Signing.PublicKey(pemRepresentation: pem) else {
                return SimulatorAnswer(400, json: Problem(error: "invalidInput"))
            }
            authorizations.register(team: wish.teamId, keyId: wish.keyId, key: key)
            return SimulatorAnswer(201, json: ["teamId": wish.teamId, "keyId": wish.keyId])
        }
        let key = AppleSimulatorConfiguration.teamKey(seed: configuration.seed, team: wish.teamId)
        authorizations.register(team: wish.teamId, keyId: wish.keyId, key: key.publicKey)
        return SimulatorAnswer(
            201,
            json: ["teamId": wish.teamId, "keyId": wish.keyId, "privateKey": key.pemRepresentation]
        )
    }

    private func removeTeam(_ wish: TeamWish) -> SimulatorAnswer {
        authorizations.remove(team: wish.teamId, keyId: wish.keyId)
        return SimulatorAnswer(200, json: ["teamId": wish.teamId, "keyId": wish.keyId])
    }

    private func state(wall: Date) -> StateBody {
        StateBody(
            now: Timestamp.text(clock.now(wall: wall)),
            seed: configuration.seed,
            teams: authorizations.teamIds,
            devices: phones.phones.count,
            faults: plan.faults,
            answered: answered
        )
    }

    private struct ClockWish: Decodable {
        let now: String?
        let advanceSeconds: Double?
        let stopped: Bool?
        let follow: Bool?
    }

    private struct TokenWish: Decodable {
        let singleUse: Bool
    }

    private struct TeamWish: Decodable {
        let teamId: String
        let keyId: String
        let publicKey: String?
    }

    private struct StateBody: Encodable {
        let now: String
        let seed: UInt64
        let teams: [String]
        let devices: Int
        let faults: [Fault]
        let answered: [String: Int]
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceCheckBits
import DeviceSimulator
public import FoundationEssentials

/// Apple's side of App Attest and DeviceCheck, with virtual phones, for tests and demonstrations.
///
/// The calls of Apple's interfaces are at the root for production and below `/development` for development. `/device/v1` lets a client play a
/// phone; `/control` sets the clock and injects faults and limits; `/roots` serves the certificates to trust; `/openapi.yaml` is the contract. Nothing here is real: its roots are
/// its own, derived from the seed, and a service trusts them only if its configuration names them.
public actor AppleSimulator {
    private(set) var configuration: AppleSimulatorConfiguration
    let seed: Seed
    let authority: SimulatedAuthority
    var clock = SimulatedClock()
    var authorizations = AuthorizationVerifier()
    var phones = SimulatedPhones()
    var tokens: DeviceTokenIssuer
    var bits = BitStore()
    var receipts = IssuedReceipts()
    var plan = FaultPlan()
    var answered: [String: Int] = [:]

    /// A new Apple with no devices yet.
    public init(configuration: AppleSimulatorConfiguration = AppleSimulatorConfiguration()) throws {
        self.configuration = configuration
        seed = Seed(value: configuration.seed)
        var random = SimulatorRandom(digest: seed.bytes("authority"))
        authority = try SimulatedAuthority(random: &random)
        tokens = DeviceTokenIssuer(seed: seed, singleUse: configuration.singleUseDeviceTokens)
        for team in configuration.teams {
            authorizations.register(team: team.id, keyId: team.keyId, key: team.key)
        }
    }

    /// Receipts from now on may be refreshed no sooner than this.
    package func renewReceipts(after interval: Duration) { configuration.refreshAfter = interval }

    /// The root certificate of simulated attestations, as PEM.
    public nonisolated var attestationRootPEM: String { authority.attestationRootPEM }

    /// The root certificate of simulated receipts, as PEM.
    public nonisolated var receiptRootPEM: String { authority.receiptRootPEM }

    /// Answers one request.
    ///
    /// - Parameter wall: The time on the wall clock; the simulator never reads it itself.
    public func answer(_ request: SimulatorRequest, wall: Date) -> SimulatorAnswer {
        let answer = route(request, wall: wall)
        answered[
            "\(request.method) \(String(decoding: request.path.utf8.prefix(64), as: UTF8.self)) \(answer.status)",
            default: 0
        ] += 1
        if answered.count > 4096 { answered = [:] }
        return answer
    }

    private func route(_ request: SimulatorRequest, wall: Date) -> SimulatorAnswer {
        guard BodyNames.areBounded(request.body) else {
            let detail =
                "the name of a member has more than \(BodyNames.nameLimit) bytes, or a text more than \(BodyNames.textLimit)"
            return .invalidInput(detail)
        }
        // No path that there is is longer, and one that is may take long to compare.
        guard request.path.utf8.count <= 1024 else { return SimulatorAnswer(404, "Not Found") }
        var path = request.path.split(separator: "/").map(String.init)
        let isJSON = ["control", "device"].contains(path.first)
        guard let methods = SimulatorRoutes.methods(of: path) else {
            return isJSON ? .unknownPath : SimulatorAnswer(404, "Not Found")
        }
        guard methods.contains(request.method) else {
            // RFC 9110 section 15.5.6: a 405 names what is allowed.
            var answer: SimulatorAnswer = isJSON ? SimulatorAnswer(405, json: Problem(error: "method")) : .apple(405)
            answer.headers["Allow"] = methods.joined(separator: ", ")
            return answer
        }
        switch path.removeFirst() {
        case "openapi.yaml": return SimulatorAnswer(200, SimulatorRoutes.document, contentType: "application/yaml")
        case "roots":
            let root = path == ["receipt.pem"] ? receiptRootPEM : attestationRootPEM
            return SimulatorAnswer(200, root, contentType: "application/x-pem-file")
        case "control": return controlAnswer(request, path, wall: wall)
        case "device": return deviceAnswer(request, path, wall: wall)
        case let first:
            guard let call = path.last.flatMap(Call.init(rawValue:)) else { return SimulatorAnswer(404, "Not Found") }
            return appleAnswer(request, call, first == "development" ? .development : .production, wall: wall)
        }
    }
}

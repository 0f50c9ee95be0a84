// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Foundation

/// The phone's side: what an app asks of its device, over HTTP, so that a client in any language can be an app.
extension AppleSimulator {
    func deviceAnswer(_ request: SimulatorRequest, _ path: [String], wall: Date) -> SimulatorAnswer {
        guard path.first == "v1", path.count >= 2, path[1] == "devices", path.count <= 4 else {
            return SimulatorAnswer(404, json: Problem(error: "unknownPath"))
        }
        do {
            if path.count == 2 {
                guard request.method == "POST" else { return SimulatorAnswer(405, json: Problem(error: "method")) }
                return try makeDevice(request)
            }
            if path.count == 3 {
                guard request.method == "GET" else { return SimulatorAnswer(405, json: Problem(error: "method")) }
                return SimulatorAnswer(200, json: DeviceBody(try phones.phone(path[2])))
            }
            guard request.method == "POST" else { return SimulatorAnswer(405, json: Problem(error: "method")) }
            return try act(request, on: path[2], verb: path[3], wall: wall)
        } catch let error as PhoneError {
            return SimulatorAnswer(error.status, json: Problem(error: error.name))
        } catch {
            return SimulatorAnswer(400, json: Problem(error: PhoneError.invalidInput.name))
        }
    }

    private func act(
        _ request: SimulatorRequest,
        on device: String,
        verb: String,
        wall: Date
    ) throws -> SimulatorAnswer {
        let action = try JSONDecoder().decode(
            DeviceAction.self,
            from: Data(request.body.isEmpty ? Array("{}".utf8) : request.body)
        )
        switch verb {
        case "keys":
            let key = try phones.makeKey(
                device,
                app: action.app ?? "",
                environment: action.environment ?? .production,
                clip: action.clip ?? false
            )
            return SimulatorAnswer(201, json: ["keyId": key.id])
        case "attest": return try attest(action, device, wall: wall)
        case "assert": return try assert(action, device)
        case "token":
            guard let app = action.app, AppId.isValid(app) else { throw PhoneError.invalidInput }
            _ = try phones.phone(device)
            let token = tokens.make(
                device: device,
                team: AppId.team(of: app),
                environment: action.environment ?? .production,
                at: clock.now(wall: wall)
            )
            return SimulatorAnswer(200, json: ["deviceToken": token])
        case "reinstall":
            try phones.remove(app: action.app ?? "", clipOnly: action.clip ?? false, from: device)
            return SimulatorAnswer(200, json: DeviceBody(try phones.phone(device)))
        case "erase":
            try phones.erase(device)
            return SimulatorAnswer(200, json: DeviceBody(try phones.phone(device)))
        default: return SimulatorAnswer(404, json: Problem(error: "unknownPath"))
        }
    }

    private func makeDevice(_ request: SimulatorRequest) throws -> SimulatorAnswer {
        let body = request.body.isEmpty ? Array("{}".utf8) : request.body
        let new = try JSONDecoder().decode(NewDevice.self, from: Data(body))
        let phone = try phones.make(id: new.device, os: new.os ?? "17.6", isSupported: new.supported ?? true)
        return SimulatorAnswer(201, json: DeviceBody(phone))
    }

    /// `attestKey`: once for each key. After `serverUnavailable` the same key and the same hash may be tried again.
    private func attest(_ action: DeviceAction, _ device: String, wall: Date) throws -> SimulatorAnswer {
        guard let keyId = action.keyId, let hash = action.clientDataHash, hash.count >= 16 else {
            throw PhoneError.invalidInput
        }
        var key = try phones.key(keyId, on: device)
        guard key.attestedHash == nil else { throw PhoneError.invalidKey }
        guard plan.admits(.attest, wall: wall) else { throw PhoneError.serverUnavailable }
        let fault = plan.next(.attest, seed: seed)
        if let fault, fault.kind != nil || fault.status != nil { throw PhoneError.serverUnavailable }
        let now = clock.now(wall: wall)
        let issued = try issuer.attest(
            key,
            phone: try phones.phone(device),
            build: try build(action),
            clientDataHash: Array(hash),
            at: now,
            fault: try action.fault.map { try named($0) }
        )
        key.attestedHash = Array(hash)
        phones.keep(key, on: device)
        receipts.attest(issued.subject, receipt: issued.receipt, at: now)
        var answer = SimulatorAnswer(200, json: ["attestation": Data(issued.attestation).base64EncodedString()])
        if let delay = fault?.delayMilliseconds { answer.delay = .milliseconds(min(max(delay, 0), 60_000)) }
        return answer
    }

    /// `generateAssertion`: never asks Apple; the counter grows by one each time.
    private func assert(_ action: DeviceAction, _ device: String) throws -> SimulatorAnswer {
        guard let keyId = action.keyId, let hash = action.clientDataHash, hash.count >= 16 else {
            throw PhoneError.invalidInput
        }
        var key = try phones.key(keyId, on: device)
        guard key.attestedHash != nil, key.counter < .max else { throw PhoneError.invalidKey }
        key.counter += 1
        phones.keep(key, on: device)
        let phone = try phones.phone(device)
        let bytes = try issuer.assertion(
            key,
            phone: phone,
            build: try build(action),
            clientDataHash: Array(hash),
            fault: try action.fault.map { try named($0) }
        )
        return SimulatorAnswer(200, json: ["assertion": Data(bytes).base64EncodedString()])
    }

    /// A fault of the software phone by its name.
    private func named<Fault: RawRepresentable>(_ name: String) throws -> Fault where Fault.RawValue == String {
        guard let fault = Fault(rawValue: name) else { throw PhoneError.invalidInput }
        return fault
    }

    private func build(_ action: DeviceAction) throws -> AppBuild {
        var build = AppBuild()
        if let version = action.bundleVersion { build.version = version }
        guard let category = action.validationCategory else { return build }
        guard let distribution = SimulatedApp.Distribution(rawValue: category) else { throw PhoneError.invalidInput }
        build.distribution = distribution
        return build
    }

    private struct NewDevice: Decodable {
        let device: String?
        let os: String?
        let supported: Bool?
    }

    private struct DeviceAction: Decodable {
        let app: String?
        let environment: SimulatedEnvironment?
        let clip: Bool?
        let keyId: String?
        let clientDataHash: Data?
        let bundleVersion: String?
        let validationCategory: Int?
        /// The name of a fault of the software phone, for objects that must be refused.
        let fault: String?
    }

    private struct DeviceBody: Encodable {
        let device: String
        let os: String
        let supported: Bool
        let keys: [String]

        init(_ phone: Phone) {
            device = phone.id
            os = phone.os
            supported = phone.isSupported
            keys = phone.keys.keys.sorted()
        }
    }

    struct Problem: Encodable {
        let error: String
    }
}

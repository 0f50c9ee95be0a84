// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import FoundationEssentials

/// The phone's side: what an app asks of its device, over HTTP, so that a client in any language can be an app.
extension AppleSimulator {
    /// - Parameter path: one of ``SimulatorRoutes``, without its first part.
    func deviceAnswer(_ request: SimulatorRequest, _ path: [String], wall: Date) -> SimulatorAnswer {
        do {
            switch path.count {
            case 2: return try makeDevice(request)
            case 3: return SimulatorAnswer(200, json: DeviceBody(try phones.phone(path[2])))
            default: return try act(request, on: path[2], verb: path[3], wall: wall)
            }
        } catch let error as PhoneError {
            return SimulatorAnswer(error.status, json: Problem(error: error.name))
        } catch let error as UnknownMember {
            return .invalidInput(error.detail)
        } catch {
            let error = error as? SimulatedServiceError ?? .invalidInput
            return SimulatorAnswer(AppleSimulator.statuses[error] ?? 500, json: Problem(error: error.name))
        }
    }

    /// What the errors of App Attest are over HTTP.
    private static let statuses: [SimulatedServiceError: Int] = [
        .featureUnsupported: 403, .invalidInput: 400, .invalidKey: 409, .serverUnavailable: 503,
    ]

    private func act(_ request: SimulatorRequest, on device: String, verb: String, wall: Date) throws -> SimulatorAnswer
    {
        let action = try DeviceAction.read(
            request.body.isEmpty ? Array("{}".utf8) : request.body, members: DeviceAction.members[verb] ?? [])
        switch verb {
        case "keys":
            let app = SimulatedApp(
                action.app ?? "", distribution: action.environment == .development ? .development : .appStore,
                isAppClip: action.clip ?? false)
            let seed = seed
            return SimulatorAnswer(
                201, json: ["keyId": try phones.change(device) { try $0.makeKey(for: app, seed: seed) }])
        case "attest": return try attest(action, device, wall: wall)
        case "assert": return try assert(action, device)
        case "token":
            guard let app = action.app, AppId.isValid(app) else { throw SimulatedServiceError.invalidInput }
            _ = try phones.phone(device)
            let token = tokens.make(
                device: device, team: AppId.team(of: app), environment: action.environment ?? .production,
                at: clock.now(wall: wall))
            return SimulatorAnswer(200, json: ["deviceToken": token])
        case "reinstall":
            guard let id = action.app, AppId.isValid(id) else { throw SimulatedServiceError.invalidInput }
            let app = SimulatedApp(id, isAppClip: action.clip ?? false)
            return try phones.change(device) { phone in
                if phone.device.hasInstalled(app) {
                    phone.device.delete(app)
                    phone.device.install(app)
                }
                return SimulatorAnswer(200, json: DeviceBody(phone))
            }
        case "erase":
            return try phones.change(device) { phone in
                phone.device.erase()
                return SimulatorAnswer(200, json: DeviceBody(phone))
            }
        default: return .unknownPath
        }
    }

    private func makeDevice(_ request: SimulatorRequest) throws -> SimulatorAnswer {
        let body = request.body.isEmpty ? Array("{}".utf8) : request.body
        let new = try NewDevice.read(body)
        let isMac = new.platform == .macos
        let phone = try phones.make(
            id: new.device, os: new.os ?? (isMac ? "27.0" : "17.6"), isMac: isMac, isSupported: new.supported ?? true)
        return SimulatorAnswer(201, json: DeviceBody(phone))
    }

    /// `attestKey`: once for each key. After `serverUnavailable` the same key and the same hash may be tried again.
    private func attest(_ action: DeviceAction, _ device: String, wall: Date) throws -> SimulatorAnswer {
        let (keyId, hash) = try action.signed()
        let objectFault: AttestationFault? = try action.fault.map { try named($0) }
        let phone = try phones.phone(device)
        let app = try action.build(of: try phone.device.app(of: keyId))
        let request = try phone.device.request(keyId, clientDataHash: hash, for: app)
        guard plan.admits(.attest, wall: wall) else { throw SimulatedServiceError.serverUnavailable }
        let fault = plan.next(.attest, seed: seed)
        if let fault, fault.kind != nil || fault.status != nil { throw SimulatedServiceError.serverUnavailable }
        let now = clock.now(wall: wall)
        let issued = try authority.attest(request, at: now, fault: objectFault)
        try phones.change(device) { try $0.device.certify(keyId) }
        let subject = IssuedReceipts.Subject(
            keyId: keyId, device: device, app: app.applicationId,
            environment: app.isProduction ? .production : .development, publicKey: request.publicKey,
            certificate: issued.leafCertificate, clientDataHash: hash)
        receipts.attest(subject, receipt: issued.receipt, at: now)
        var answer = SimulatorAnswer(200, json: ["attestation": Data(issued.object).base64EncodedString()])
        if let delay = fault?.delayMilliseconds { answer.delay = .milliseconds(delay) }
        return answer
    }

    /// `generateAssertion`: never asks Apple; the counter grows by one each time.
    private func assert(_ action: DeviceAction, _ device: String) throws -> SimulatorAnswer {
        let (keyId, hash) = try action.signed()
        let fault: AssertionFault? = try action.fault.map { try named($0) }
        let bytes = try phones.change(device) { phone in
            let app = try action.build(of: try phone.device.app(of: keyId))
            return try phone.device.generateAssertion(keyId, clientDataHash: hash, for: app, fault: fault)
        }
        return SimulatorAnswer(200, json: ["assertion": Data(bytes).base64EncodedString()])
    }

    /// A fault of the software phone by its name.
    private func named<Fault: RawRepresentable>(_ name: String) throws -> Fault where Fault.RawValue == String {
        guard let fault = Fault(rawValue: name) else { throw SimulatedServiceError.invalidInput }
        return fault
    }

    private enum Platform: String, Decodable {
        case ios, macos
    }

    private struct NewDevice: KnownMembers {
        let device: String?
        let platform: Platform?
        let os: String?
        let supported: Bool?

        enum CodingKeys: CodingKey, CaseIterable {
            case device, platform, os, supported
        }
    }

    private struct DeviceAction: KnownMembers {
        let app: String?
        let environment: SimulatedEnvironment?
        let clip: Bool?
        let keyId: String?
        let clientDataHash: Data?
        let bundleVersion: String?
        let validationCategory: Int?
        /// The name of a fault of the software phone, for objects that must be refused.
        let fault: String?

        enum CodingKeys: CodingKey, CaseIterable {
            case app, environment, clip, keyId, clientDataHash, bundleVersion, validationCategory, fault
        }

        /// What each verb reads.
        static let members: [String: [CodingKeys]] = [
            "keys": [.app, .environment, .clip], "attest": signing, "assert": signing, "token": [.app, .environment],
            "reinstall": [.app, .clip],
        ]
        private static let signing: [CodingKeys] = [
            .keyId, .clientDataHash, .bundleVersion, .validationCategory, .fault,
        ]

        /// The key and the hash that a signature needs.
        func signed() throws(SimulatedServiceError) -> (keyId: String, hash: [UInt8]) {
            guard let keyId, let clientDataHash else { throw .invalidInput }
            return (keyId, Array(clientDataHash))
        }

        /// The build of the app that runs: what iOS 27 puts into attestations and assertions. A development build has another category.
        func build(of app: SimulatedApp) throws(SimulatedServiceError) -> SimulatedApp {
            var app = app
            if let bundleVersion { app.bundleVersion = bundleVersion }
            guard let validationCategory else { return app }
            guard let distribution = SimulatedApp.Distribution(rawValue: validationCategory) else {
                throw .invalidInput
            }
            if app.isProduction { app.distribution = distribution }
            return app
        }
    }

    private struct DeviceBody: Encodable {
        let device: String
        let os: String
        let supported: Bool
        let keys: [String]

        init(_ phone: Phone) {
            device = phone.id
            os = phone.device.system.version
            supported = phone.device.supportsAppAttest
            keys = phone.device.keyIds
        }
    }

    struct Problem: Encodable {
        let error: String
        /// What is wrong in words, if the name alone does not say it.
        var detail: String?
    }
}

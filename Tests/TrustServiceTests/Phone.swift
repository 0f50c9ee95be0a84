// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import DeviceSimulator
import Formats
import Foundation
import NIOConcurrencyHelpers
import Vocabulary

@testable import TrustService

/// A simulated device that talks to a running service as an app would.
struct Phone {
    let device: SimulatedDevice
    let service: RunningService
    var app: SimulatedApp
    let faults: Faults

    /// Lets a test spoil the next attestation.
    final class Faults: SimulatedAttestationService, Sendable {
        let next = NIOLockedValueBox<AttestationFault?>(nil)

        func certify(_ request: SimulatedAttestationRequest, at instant: Date) async throws -> SimulatedAttestation {
            try RunningService.authority.attest(request, at: instant, fault: next.withLockedValue { $0 })
        }
    }

    init(
        _ service: RunningService, system: SimulatedSystem = .iOS("27.0"), app: SimulatedApp = RunningService.app,
        random: SimulatorRandom = SimulatorRandom()
    )
        async
    {
        self.service = service
        self.app = app
        faults = Faults()
        device = SimulatedDevice(system: system, random: random, service: faults)
        await device.install(app)
    }

    func challenge(
        _ purpose: String, keyId: String? = nil, user: String? = nil, app: String = "shop"
    ) async throws
        -> [UInt8]
    {
        var body: [JSONValue.Member] = [.init("purpose", .string(purpose))]
        if let keyId { body.append(.init("keyId", .string(keyId))) }
        if let user { body.append(.init("user", .string(user))) }
        let reply = try await service.post(
            "/v1/apps/\(app)/challenges", .object(body), token: user == nil ? nil : RunningService.serverToken)
        guard reply.status == 201, let bytes = reply["challenge"]?.text.flatMap(Base64.decode) else {
            throw Failure("no challenge: \(reply.verdict)")
        }
        return bytes
    }

    /// A body for the attestation of a new key.
    func attestation(
        user: String? = nil, challenge given: [UInt8]? = nil
    ) async throws -> (keyId: String, body: JSONValue) {
        let challenge: [UInt8]
        if let given { challenge = given } else { challenge = try await self.challenge("attest", user: user) }
        let keyId = try await device.generateKey(for: app)
        let object = try await device.attestKey(
            keyId, clientDataHash: SHA256.hash(data: challenge).map { $0 }, for: app, at: service.clock.now)
        var members: [JSONValue.Member] = [
            .init("keyId", .string(keyId)), .init("attestation", .string(Base64.encode(object))),
            .init("challenge", .string(Base64.encode(challenge))),
        ]
        if let user { members.append(.init("user", .string(user))) }
        return (keyId, .object(members))
    }

    /// A phone with an attested key.
    static func attested(_ service: RunningService, user: String? = nil) async throws -> (phone: Phone, keyId: String) {
        let phone = await Phone(service)
        return (phone, try await phone.attested(user: user))
    }

    /// Attests a new key and gives its id.
    func attested(user: String? = nil) async throws -> String {
        let (keyId, body) = try await attestation(user: user)
        let reply = try await service.post("/v1/apps/shop/attestations", body)
        guard reply.status == 201 else { throw Failure("not attested: \(reply.verdict)") }
        return keyId
    }

    /// A body for an assertion over client data that holds the challenge.
    func assertion(
        _ keyId: String, challenge given: [UInt8]? = nil, extra: [JSONValue.Member] = [], fault: AssertionFault? = nil
    ) async throws -> JSONValue {
        let challenge: [UInt8]
        if let given { challenge = given } else { challenge = try await self.challenge("assert") }
        let clientData = JSONValue.object([.init("challenge", .string(Base64.encode(challenge)))] + extra)
        let bytes = Array(clientData.rendered(pretty: false).utf8)
        return try await signed(keyId, bytes, over: bytes, fault: fault)
    }

    /// A body for an assertion, with the bytes that are sent and those that are signed.
    func signed(
        _ keyId: String, _ clientData: [UInt8], over bytes: [UInt8], challenge: [UInt8]? = nil,
        fault: AssertionFault? = nil
    ) async throws -> JSONValue {
        let assertion = try await device.generateAssertion(
            keyId, clientDataHash: SHA256.hash(data: bytes).map { $0 }, for: app, fault: fault)
        var members: [JSONValue.Member] = [
            .init("keyId", .string(keyId)), .init("assertion", .string(Base64.encode(assertion))),
            .init("clientData", .string(Base64.encode(clientData))),
        ]
        if let challenge { members.append(.init("challenge", .string(Base64.encode(challenge)))) }
        return .object(members)
    }

    /// A token of the key.
    func token(_ keyId: String, singleUse: Bool = false) async throws -> String {
        let wish = try await assertion(keyId).adding(singleUse ? [.init("singleUse", true)] : [])
        let reply = try await service.post("/v1/apps/shop/tokens", wish)
        guard let token = reply["token"]?.text else { throw Failure("no token: \(reply.verdict)") }
        return token
    }

    func assert(_ body: JSONValue) async throws -> Reply { try await service.post("/v1/apps/shop/assertions", body) }
}

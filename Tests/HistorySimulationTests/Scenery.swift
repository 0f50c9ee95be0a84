// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import DeviceSimulator
import Foundation
import Testing
import TrustStores

@testable import TrustService

/// What all simulations share: the authority, the phones with their keys, and the configuration.
enum Scenery {
    /// When every simulation starts: 2026-11-10 12:00 UTC, in milliseconds.
    static let start: Int64 = 1_794_312_000_000

    static let app = SimulatedApp("TEAM123456.com.example.shop")

    static let authority: SimulatedAuthority = {
        var random = SimulatorRandom(seed: 42)
        // The authority of all tests; a failure here fails each of them.
        // swift-format-ignore: NeverUseForceTry
        return try! SimulatedAuthority(random: &random)
    }()

    private static let appleKey = P256.Signing.PrivateKey().pemRepresentation

    static func configuration(isStrict: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.serverTokens = CredentialSource(tokens: ["server-token-of-the-tests-0123456789"])
        configuration.trustSimulator = SimulatorTrust(
            attestationRootPEM: authority.attestationRootPEM, receiptRootPEM: authority.receiptRootPEM)
        var shop = Configuration.App(
            id: "shop", teamId: "TEAM123456", appIdPrefix: "TEAM123456", bundleIds: ["com.example.shop"])
        shop.counterMode = isStrict ? .strict : .challenge
        configuration.apps = [shop]
        configuration.quotas = [
            Configuration.Quota(
                name: "calls", per: .key, limit: QuotaState.limit, window: .seconds(QuotaState.window),
                costHeader: "X-Cost")
        ]
        configuration.bits = [Configuration.Bit(bit: 0, name: "welcome", resetAfterMonths: nil)]
        configuration.apple = Configuration.AppleAccount(teamId: "TEAM123456", keyId: "KEY1234567", keyPEM: appleKey)
        return configuration
    }

    /// A phone with one key, which is the same for the same number.
    struct Phone: Sendable {
        var state = DeviceState(system: .iOS("27.0"), isSupported: true)
        let keyId: String
        /// How many assertions it has made: the counter of the last one.
        var assertions = 0

        init(_ number: Int) throws {
            var random = SimulatorRandom(seed: 1000 + UInt64(number))
            state.install(app)
            keyId = try state.generateKey(for: app) { random.p256() }
        }

        mutating func attest(_ challenge: [UInt8], at instant: Date) throws -> [UInt8] {
            let hash = Array(SHA256.hash(data: challenge))
            let request = try state.request(keyId, clientDataHash: hash, for: app)
            let object = try authority.attest(request, at: instant).object
            try state.certify(keyId)
            return object
        }
    }

    /// A key that was attested before the simulations start, by the true verifier.
    struct AttestedPhone: Sendable {
        let phone: Phone
        let registration: KeyRegistration

        init(_ number: Int, at instant: Date) async throws {
            var phone = try Phone(number)
            let challenge = Array("before the start \(number)".utf8)
            let bytes = try phone.attest(challenge, at: instant)
            let configuration = Scenery.configuration(isStrict: true)
            let verifiers = try AppVerifiers(configuration.apps[0], simulator: configuration.trustSimulator)
            let proven = try await verifiers.attest(
                AttestationObject(decoding: bytes), keyId: try #require(KeyIdentifier(strictBase64: phone.keyId)),
                hash: ClientDataHash(hashing: challenge), at: instant
            ).get()
            registration = try #require(
                KeyRegistration(
                    proven.key, app: "shop", simulatedRoots: proven.simulatedRoots, user: nil, attestation: bytes,
                    refreshAt: nil))
            self.phone = phone
        }
    }

    private static let attested = Task {
        var phones: [AttestedPhone] = []
        for number in 0..<Plan.attestedKeys {
            phones.append(try await AttestedPhone(number, at: Date(milliseconds: start)))
        }
        return phones
    }

    static func attestedPhones() async throws -> [AttestedPhone] { try await attested.value }
}

extension Date {
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Formats
import Foundation
import Testing
import TrustStores
import Vocabulary

@testable import TrustService

/// Which builds of an app are the app: environments apart, the App Clip as its full app.
@Suite struct IdentityTests {
    private static let development = SimulatedApp(RunningService.app.applicationId, distribution: .development)

    /// `shop` takes production keys, `beta` development keys of the same app.
    private static var configuration: Configuration {
        RunningService.configuration { settings in
            settings.apps[0].environments = [.production]
            settings.apps.append(settings.apps[0])
            settings.apps[1].id = "beta"
            settings.apps[1].environments = [.development]
        }
    }

    @Test func aDevelopmentKeyIsNothingAtTheProductionApp() async throws {
        try await RunningService.with(Self.configuration) { service in
            let phone = await Phone(service, app: Self.development)
            let (keyId, body) = try await phone.attestation()
            #expect(
                try await service.post("/v1/apps/shop/attestations", body).verdict == "403 attest.environment.mismatch")
            #expect(try await service.store.key(try #require(KeyIdentifier(strictBase64: keyId))) == nil)
            // The other way round as well.
            let released = await Phone(service)
            let challenge = try await released.challenge("attest", app: "beta")
            let (_, shipped) = try await released.attestation(challenge: challenge)
            #expect(
                try await service.post("/v1/apps/beta/attestations", shipped).verdict
                    == "403 attest.environment.mismatch")
        }
    }

    @Test func anAssertionByADevelopmentKeyIsRefusedAtTheProductionApp() async throws {
        try await RunningService.with(Self.configuration) { service in
            let phone = await Phone(service, app: Self.development)
            let (keyId, body) = try await phone.attestation(challenge: try await phone.challenge("attest", app: "beta"))
            let attested = try await service.post("/v1/apps/beta/attestations", body)
            #expect(attested.status == 201)
            #expect(attested["environment"]?.text == "development")
            #expect(attested["validationCategory"] == .integer(3))
            #expect(try await phone.assert(try await phone.assertion(keyId)).verdict == "404 key.unknown")
            let own = try await phone.assertion(keyId, challenge: try await phone.challenge("assert", app: "beta"))
            #expect(try await service.post("/v1/apps/beta/assertions", own).status == 200)
        }
    }

    @Test func anAppClipAndItsAppAreOneIdentity() async throws {
        try await RunningService.with { service in
            let clip = await Phone(service, app: RunningService.app.clip)
            let keyId = try await clip.attested()
            let byClip = try await clip.assert(try await clip.assertion(keyId))
            #expect(byClip["counter"] == .integer(1))
            // The full app takes over the clip's key, and the service sees no difference.
            await clip.device.install(RunningService.app)
            let challenge = try await clip.challenge("assert")
            let data = Array(#"{"challenge":"\#(Base64.encode(challenge))"}"#.utf8)
            let assertion = try await clip.device.generateAssertion(
                keyId, clientDataHash: SignedInput.assertion(challenge: nil, clientData: data).get().hash.bytes,
                for: RunningService.app)
            let byApp = try await service.post(
                "/v1/apps/shop/assertions",
                [
                    "keyId": .string(keyId), "assertion": .string(Base64.encode(assertion)),
                    "clientData": .string(Base64.encode(data)),
                ]
            )
            #expect(byApp.status == 200)
            #expect(byApp["counter"] == .integer(2))
        }
    }
}

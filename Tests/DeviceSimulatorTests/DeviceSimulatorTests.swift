// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import DeviceSimulator
import Foundation
import TestSupport
import Testing

/// The rules of a device, as `DCAppAttestService` has them.
@Suite struct DeviceSimulatorTests {
    let app = SimulatedApp("ABCDE12345.com.example.app")
    let hash = Array(SHA256.hash(data: Array("challenge".utf8)))
    let now = Date(timeIntervalSince1970: 1_795_262_400)

    private func authority() throws -> SimulatedAuthority {
        var random = SimulatorRandom(seed: 11)
        return try SimulatedAuthority(random: &random)
    }

    private func device(
        _ system: SimulatedSystem = .iOS("27.0"), isSupported: Bool = true
    ) async throws
        -> SimulatedDevice
    {
        let device = SimulatedDevice(
            system: system, isSupported: isSupported, random: SimulatorRandom(seed: 3), service: try authority())
        await device.install(app)
        return device
    }

    @Test func aKeyIsAttestedOnceAndThenAsserts() async throws {
        let device = try await device()
        let keyId = try await device.generateKey(for: app)
        #expect(Data(base64Encoded: keyId)?.count == 32)
        await #expect(throws: SimulatedServiceError.invalidKey) {
            try await device.generateAssertion(keyId, clientDataHash: hash, for: app)
        }
        _ = try await device.attestKey(keyId, clientDataHash: hash, for: app, at: now)
        await #expect(throws: SimulatedServiceError.invalidKey) {
            try await device.attestKey(keyId, clientDataHash: hash, for: app, at: now)
        }
        let first = try await device.generateAssertion(keyId, clientDataHash: hash, for: app)
        let second = try await device.generateAssertion(keyId, clientDataHash: hash, for: app)
        #expect(first != second)
    }

    @Test func shortHashesAreInvalidInput() async throws {
        let device = try await device()
        let keyId = try await device.generateKey(for: app)
        await #expect(throws: SimulatedServiceError.invalidInput) {
            try await device.attestKey(keyId, clientDataHash: [UInt8](repeating: 0, count: 15), for: app, at: now)
        }
        _ = try await device.attestKey(keyId, clientDataHash: [UInt8](repeating: 0, count: 16), for: app, at: now)
    }

    @Test(arguments: [(SimulatedSystem.iOS("13.7"), true), (.macOS("26.4"), true), (.iOS("27.0"), false)])
    func unsupportedDevicesSaySo(_ system: SimulatedSystem, _ isSupported: Bool) async throws {
        let device = try await device(system, isSupported: isSupported)
        await #expect(throws: SimulatedServiceError.featureUnsupported) { try await device.generateKey(for: app) }
    }

    @Test func keysSurviveUpdatesButNotReinstallation() async throws {
        let device = try await device(.iOS("26.1"))
        let keyId = try await device.generateKey(for: app)
        _ = try await device.attestKey(keyId, clientDataHash: hash, for: app, at: now)
        await device.update(to: .iOS("27.0"))
        await device.install(SimulatedApp(app.applicationId, bundleVersion: "2"))
        _ = try await device.generateAssertion(keyId, clientDataHash: hash, for: app)
        await device.reinstall(app)
        await #expect(throws: SimulatedServiceError.invalidKey) {
            try await device.generateAssertion(keyId, clientDataHash: hash, for: app)
        }
    }

    @Test func aRestoredDeviceHasTheAppsButNotTheKeys() async throws {
        let device = try await device()
        let keyId = try await device.generateKey(for: app)
        _ = try await device.attestKey(keyId, clientDataHash: hash, for: app, at: now)
        let other = await device.restored()
        await #expect(throws: SimulatedServiceError.invalidKey) {
            try await other.generateAssertion(keyId, clientDataHash: hash, for: app)
        }
        _ = try await other.generateKey(for: app)
        _ = try await device.generateAssertion(keyId, clientDataHash: hash, for: app)
    }

    @Test func aClipSharesItsKeysWithTheAppAndTakesThemAlongWhenDeletedAlone() async throws {
        let device = SimulatedDevice(system: .iOS("27.0"), random: SimulatorRandom(seed: 5), service: try authority())
        await device.install(app.clip)
        let keyId = try await device.generateKey(for: app.clip)
        _ = try await device.attestKey(keyId, clientDataHash: hash, for: app.clip, at: now)
        await device.install(app)
        await device.delete(app.clip)
        _ = try await device.generateAssertion(keyId, clientDataHash: hash, for: app)

        await device.install(app.clip)
        await device.delete(app)
        await device.delete(app.clip)
        await device.install(app.clip)
        await #expect(throws: SimulatedServiceError.invalidKey) {
            try await device.generateAssertion(keyId, clientDataHash: hash, for: app.clip)
        }
    }

    @Test func anAppCannotUseTheKeyOfAnother() async throws {
        let device = try await device()
        let other = SimulatedApp("ABCDE12345.com.example.other")
        await device.install(other)
        let keyId = try await device.generateKey(for: app)
        await #expect(throws: SimulatedServiceError.invalidKey) {
            try await device.attestKey(keyId, clientDataHash: hash, for: other, at: now)
        }
        await #expect(throws: SimulatedServiceError.invalidInput) {
            try await device.generateKey(for: SimulatedApp("ABCDE12345.com.example.absent"))
        }
    }

    /// Apple does not answer at first; the same key and hash succeed later.
    actor Outage: SimulatedAttestationService {
        let authority: SimulatedAuthority
        var remaining: Int

        init(_ authority: SimulatedAuthority, failures: Int) {
            self.authority = authority
            remaining = failures
        }

        func certify(_ request: SimulatedAttestationRequest, at instant: Date) async throws -> SimulatedAttestation {
            if remaining > 0 {
                remaining -= 1
                throw SimulatedServiceError.serverUnavailable
            }
            return try authority.attest(request, at: instant)
        }
    }

    @Test func serverUnavailableKeepsTheKey() async throws {
        let device = SimulatedDevice(
            system: .iOS("27.0"), random: SimulatorRandom(seed: 6), service: Outage(try authority(), failures: 2))
        await device.install(app)
        let keyId = try await device.generateKey(for: app)
        for _ in 0..<2 {
            await #expect(throws: SimulatedServiceError.serverUnavailable) {
                try await device.attestKey(keyId, clientDataHash: hash, for: app, at: now)
            }
        }
        _ = try await device.attestKey(keyId, clientDataHash: hash, for: app, at: now)
    }

    @Test func theSameSeedMakesTheSameKeysAndAuthority() async throws {
        let first = try await device()
        let second = try await device()
        #expect(try await first.generateKey(for: app) == second.generateKey(for: app))
        #expect(try authority().token(for: [1]) == authority().token(for: [1]))
        #expect(try await first.generateKey(for: app) != first.generateKey(for: app))
    }

    @Test func everySubjectSaysSimulated() throws {
        let pem = try authority().rootsPEM
        let text = pem.split(separator: "-----").compactMap { Data(base64Encoded: $0.filter { $0 != "\n" }) }
        #expect(text.count >= 2)
        for der in text where der.count > 100 { #expect(String(decoding: der, as: UTF8.self).contains("SIMULATED")) }
    }

    /// Both sides must not share a mistake: no file of the simulator imports the verifier or its CBOR.
    @Test func theSimulatorSharesNoCodeWithTheVerifier() throws {
        let folder = BuiltProgram.repository.appending(path: "Sources/DeviceSimulator")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "swift" }
        #expect(files.count > 5)
        for file in files {
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(
                !text.contains("import AppAttest") && !text.contains("import StrictCBOR"), "\(file.lastPathComponent)")
        }
    }
}

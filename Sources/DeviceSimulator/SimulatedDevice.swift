// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
public import FoundationEssentials

/// A phone in software: apps are installed on it, and each has an App Attest service with the names, errors and rules of
/// `DCAppAttestService`.
///
///     let device = SimulatedDevice(system: .iOS("27.0"), random: SimulatorRandom(seed: 7), service: authority)
///     await device.install(app)
///     let keyId = try await device.generateKey(for: app)
///     let attestation = try await device.attestKey(keyId, clientDataHash: hash, for: app, at: now)
///     let assertion = try await device.generateAssertion(keyId, clientDataHash: hash, for: app)
///
/// A software P-256 key replaces the Secure Enclave.
public actor SimulatedDevice {
    private var state: DeviceState
    private let service: any SimulatedAttestationService
    private var random: SimulatorRandom
    private var attestations: [String: SimulatedAttestation] = [:]

    /// Whether the device has App Attest at all; Apple's Simulator does not.
    public let isSupported: Bool
    /// The system that runs on it.
    public var system: SimulatedSystem { state.system }

    /// A new device without apps or keys.
    public init(
        system: SimulatedSystem, isSupported: Bool = true, random: SimulatorRandom = SimulatorRandom(),
        service: any SimulatedAttestationService
    ) {
        state = DeviceState(system: system, isSupported: isSupported)
        self.isSupported = isSupported
        self.random = random
        self.service = service
    }

    // MARK: What happens to a device

    /// Installs an app or an App Clip. A full app takes over the keys of its clip.
    public func install(_ app: SimulatedApp) { state.install(app) }

    /// Deletes an app or a clip. Its keys are gone, unless clip and full app were both there.
    public func delete(_ app: SimulatedApp) { state.delete(app) }

    /// Deletes and installs an app: its keys are gone.
    public func reinstall(_ app: SimulatedApp) {
        delete(app)
        install(app)
    }

    /// Updates the system; keys and apps stay.
    public func update(to system: SimulatedSystem) { state.system = system }

    /// A new device with this one's backup: the apps are there, the keys are not.
    public func restored(
        on system: SimulatedSystem? = nil, random: SimulatorRandom = SimulatorRandom()
    ) async -> SimulatedDevice {
        let device = SimulatedDevice(
            system: system ?? self.system, isSupported: isSupported, random: random, service: service)
        for app in state.apps { await device.install(app) }
        return device
    }

    // MARK: DCAppAttestService

    /// Makes a key pair and returns its identifier: base64 of the hash of the public key.
    ///
    /// - Throws: `featureUnsupported`; `invalidInput` if the app is not installed.
    public func generateKey(for app: SimulatedApp) throws -> String {
        try state.generateKey(for: app) { random.p256() }
    }

    /// Has Apple certify the key, once. After `serverUnavailable` call again with the same key and the same hash.
    ///
    /// - Throws: `featureUnsupported`, `invalidInput` for a hash under 16 bytes, `invalidKey` for an unknown key or one that was
    ///   attested before, and what the service throws.
    public func attestKey(
        _ keyId: String, clientDataHash: some Sequence<UInt8> & Sendable, for app: SimulatedApp, at instant: Date
    ) async throws -> [UInt8] {
        let request = try state.request(keyId, clientDataHash: Array(clientDataHash), for: app)
        let attestation = try await service.certify(request, at: instant)
        try state.certify(keyId)
        attestations[keyId] = attestation
        return attestation.object
    }

    /// Signs client data with an attested key. Every call increments the counter, even if its result is never delivered.
    ///
    /// - Throws: `featureUnsupported`, `invalidInput` for a hash under 16 bytes, `invalidKey` for a key that is unknown or was not attested.
    public func generateAssertion(
        _ keyId: String, clientDataHash: some Sequence<UInt8> & Sendable, for app: SimulatedApp,
        fault: AssertionFault? = nil
    ) throws -> [UInt8] {
        try state.generateAssertion(keyId, clientDataHash: Array(clientDataHash), for: app, fault: fault)
    }

    /// The result of certifying a key, for tests that continue from there.
    public func attestation(of keyId: String) -> SimulatedAttestation? {
        state.publicKey(of: keyId) == nil ? nil : attestations[keyId]
    }

    /// The public key, 65 bytes.
    public func publicKey(of keyId: String) -> [UInt8]? { state.publicKey(of: keyId) }
}

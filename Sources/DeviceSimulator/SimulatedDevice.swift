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
/// A software P-256 key stands in for the Secure Enclave.
public actor SimulatedDevice {
    private struct Key {
        let key: P256.Signing.PrivateKey
        let applicationId: String
        let isFromClip: Bool
        var attestation: SimulatedAttestation?
        var counter: UInt32 = 0
    }

    /// Whether the device has App Attest at all; a simulator of Apple's, or an old Mac, has not.
    public let isSupported: Bool
    /// The system that runs on it.
    public private(set) var system: SimulatedSystem
    private let service: any SimulatedAttestationService
    private var random: SimulatorRandom
    private var installed: [String: Set<Bool>] = [:]
    private var keys: [String: Key] = [:]

    /// A new device without apps and keys.
    public init(
        system: SimulatedSystem,
        isSupported: Bool = true,
        random: SimulatorRandom = SimulatorRandom(),
        service: any SimulatedAttestationService
    ) {
        self.system = system
        self.isSupported = isSupported
        self.random = random
        self.service = service
    }

    // MARK: What happens to a device

    /// Installs an app or an App Clip. A full app takes over the keys of its clip.
    public func install(_ app: SimulatedApp) {
        installed[app.applicationId, default: []].insert(app.isAppClip)
    }

    /// Deletes an app or a clip. Its keys are gone, unless clip and full app were both there.
    public func delete(_ app: SimulatedApp) {
        installed[app.applicationId]?.remove(app.isAppClip)
        if installed[app.applicationId]?.isEmpty ?? true {
            installed[app.applicationId] = nil
            keys = keys.filter { $0.value.applicationId != app.applicationId }
        }
    }

    /// Deletes and installs an app: its keys are gone.
    public func reinstall(_ app: SimulatedApp) {
        delete(app)
        install(app)
    }

    /// Updates the system; keys and apps stay.
    public func update(to system: SimulatedSystem) { self.system = system }

    /// A new device with this one's backup: the apps are there, the keys are not.
    public func restored(
        on system: SimulatedSystem? = nil,
        random: SimulatorRandom = SimulatorRandom()
    ) async -> SimulatedDevice {
        let device = SimulatedDevice(
            system: system ?? self.system,
            isSupported: isSupported,
            random: random,
            service: service
        )
        for (applicationId, kinds) in installed {
            for isClip in kinds { await device.install(SimulatedApp(applicationId, isAppClip: isClip)) }
        }
        return device
    }

    // MARK: DCAppAttestService

    /// Makes a key pair and gives its identifier: base64 of the hash of the public key.
    ///
    /// - Throws: `featureUnsupported`; `invalidInput` where the app is not installed.
    public func generateKey(for app: SimulatedApp) throws -> String {
        try checkSupport(app)
        let key = random.p256()
        let keyId = Data(SHA256.hash(data: key.publicKey.x963Representation)).base64EncodedString()
        keys[keyId] = Key(key: key, applicationId: app.applicationId, isFromClip: app.isAppClip)
        return keyId
    }

    /// Has Apple certify the key, once. After `serverUnavailable` call again with the same key and the same hash.
    ///
    /// - Throws: `featureUnsupported`, `invalidInput` for a hash under 16 bytes, `invalidKey` for an unknown key or one that was
    ///   attested before, and what the service throws.
    public func attestKey(
        _ keyId: String,
        clientDataHash: some Sequence<UInt8> & Sendable,
        for app: SimulatedApp,
        at instant: Date
    ) async throws -> [UInt8] {
        let hash = Array(clientDataHash)
        try checkSupport(app)
        guard hash.count >= 16 else { throw SimulatedServiceError.invalidInput }
        guard let key = keys[keyId], key.applicationId == app.applicationId, key.attestation == nil else {
            throw SimulatedServiceError.invalidKey
        }
        let request = SimulatedAttestationRequest(
            publicKey: Array(key.key.publicKey.x963Representation),
            app: app,
            system: system,
            clientDataHash: hash
        )
        let attestation = try await service.certify(request, at: instant)
        guard keys[keyId] != nil, keys[keyId]?.attestation == nil else { throw SimulatedServiceError.invalidKey }
        keys[keyId]?.attestation = attestation
        return attestation.object
    }

    /// Signs client data with an attested key. Every call counts, also when its result is never delivered.
    ///
    /// - Throws: `featureUnsupported`, `invalidInput` for a hash under 16 bytes, `invalidKey` for a key that is unknown or was not attested.
    public func generateAssertion(
        _ keyId: String,
        clientDataHash: some Sequence<UInt8> & Sendable,
        for app: SimulatedApp,
        fault: AssertionFault? = nil
    ) throws -> [UInt8] {
        let hash = Array(clientDataHash)
        try checkSupport(app)
        guard hash.count >= 16 else { throw SimulatedServiceError.invalidInput }
        guard var key = keys[keyId], key.applicationId == app.applicationId, key.attestation != nil else {
            throw SimulatedServiceError.invalidKey
        }
        key.counter += key.counter == .max ? 0 : 1
        keys[keyId] = key
        return try SimulatedAssertion.make(
            key: key.key,
            app: app,
            system: system,
            counter: key.counter,
            clientDataHash: hash,
            fault: fault
        )
    }

    /// What the certification of a key gave, for tests that go on from there.
    public func attestation(of keyId: String) -> SimulatedAttestation? { keys[keyId]?.attestation }

    /// The public key, 65 bytes.
    public func publicKey(of keyId: String) -> [UInt8]? {
        keys[keyId].map { Array($0.key.publicKey.x963Representation) }
    }

    private func checkSupport(_ app: SimulatedApp) throws {
        guard isSupported, !system.isMac || system.major >= 27, system.major >= 14 else {
            throw SimulatedServiceError.featureUnsupported
        }
        guard installed[app.applicationId]?.contains(app.isAppClip) == true else {
            throw SimulatedServiceError.invalidInput
        }
    }
}

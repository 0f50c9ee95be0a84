// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Crypto
import FoundationEssentials

/// The rules of a device: what is installed on it, which keys it has, and what an app may do with them.
///
/// ``SimulatedDevice`` and the phones of a simulated Apple follow these and no others.
package struct DeviceState: Sendable {
    private struct Key {
        let key: P256.Signing.PrivateKey
        let app: SimulatedApp
        var isAttested = false
        var counter: UInt32 = 0

        var point: [UInt8] { Array(key.publicKey.x963Representation) }
    }

    /// Whether the device has the hardware at all.
    package var isSupported: Bool
    package var system: SimulatedSystem
    private var installed: [String: Set<Bool>] = [:]
    private var keys: [String: Key] = [:]

    package init(system: SimulatedSystem, isSupported: Bool) {
        self.system = system
        self.isSupported = isSupported
    }

    // MARK: Apps

    /// The apps and App Clips on the device, one for each kind of an identifier.
    package var apps: [SimulatedApp] {
        installed.flatMap { id, kinds in kinds.map { SimulatedApp(id, isAppClip: $0) } }
    }

    package mutating func install(_ app: SimulatedApp) {
        installed[app.applicationId, default: []].insert(app.isAppClip)
    }

    /// Keys are gone with the last of app and clip.
    package mutating func delete(_ app: SimulatedApp) {
        installed[app.applicationId]?.remove(app.isAppClip)
        guard installed[app.applicationId]?.isEmpty ?? true else { return }
        installed[app.applicationId] = nil
        keys = keys.filter { $0.value.app.applicationId != app.applicationId }
    }

    package func hasInstalled(_ app: SimulatedApp) -> Bool {
        installed[app.applicationId]?.contains(app.isAppClip) ?? false
    }

    /// Every app and every key is gone.
    package mutating func erase() {
        installed = [:]
        keys = [:]
    }

    // MARK: DCAppAttestService

    /// What `isSupported` says: App Attest came with iOS 14 and macOS 27.
    package var supportsAppAttest: Bool { isSupported && system.major >= (system.isMac ? 27 : 14) }

    package func checkSupport() throws(SimulatedServiceError) {
        guard supportsAppAttest else { throw .featureUnsupported }
    }

    /// - Parameter draw: makes the key, once everything else is known to be right.
    package mutating func generateKey(
        for app: SimulatedApp, _ draw: () -> P256.Signing.PrivateKey
    ) throws(SimulatedServiceError) -> String {
        try check(app)
        let key = draw()
        let keyId = Data(SHA256.hash(data: key.publicKey.x963Representation)).base64EncodedString()
        keys[keyId] = Key(key: key, app: app)
        return keyId
    }

    /// What Apple is asked to certify.
    package func request(
        _ keyId: String, clientDataHash: [UInt8], for app: SimulatedApp
    ) throws(SimulatedServiceError) -> SimulatedAttestationRequest {
        let key = try key(keyId, clientDataHash, app)
        guard !key.isAttested else { throw .invalidKey }
        return SimulatedAttestationRequest(
            publicKey: key.point, app: app, system: system, clientDataHash: clientDataHash)
    }

    /// Apple has certified the key. It may have gone meanwhile, or been certified by another call.
    package mutating func certify(_ keyId: String) throws(SimulatedServiceError) {
        guard let key = keys[keyId], !key.isAttested else { throw .invalidKey }
        keys[keyId]?.isAttested = true
    }

    package mutating func generateAssertion(
        _ keyId: String, clientDataHash: [UInt8], for app: SimulatedApp, fault: AssertionFault?
    ) throws -> [UInt8] {
        let key = try key(keyId, clientDataHash, app)
        guard key.isAttested, key.counter < .max else { throw SimulatedServiceError.invalidKey }
        keys[keyId]?.counter += 1
        return try SimulatedAssertion.make(
            key: key.key, app: app, system: system, counter: key.counter + 1, clientDataHash: clientDataHash,
            fault: fault)
    }

    // MARK: Keys

    package var keyCount: Int { keys.count }
    package var keyIds: [String] { keys.keys.sorted() }

    /// The app that made a key.
    package func app(of keyId: String) throws(SimulatedServiceError) -> SimulatedApp {
        try checkSupport()
        guard let key = keys[keyId] else { throw .invalidKey }
        return key.app
    }

    /// The public key, 65 bytes.
    package func publicKey(of keyId: String) -> [UInt8]? { keys[keyId]?.point }

    private func check(_ app: SimulatedApp) throws(SimulatedServiceError) {
        try checkSupport()
        guard hasInstalled(app) else { throw .invalidInput }
    }

    private func key(
        _ keyId: String, _ clientDataHash: [UInt8], _ app: SimulatedApp
    ) throws(SimulatedServiceError) -> Key {
        try check(app)
        guard clientDataHash.count >= 16 else { throw .invalidInput }
        guard let key = keys[keyId], key.app.applicationId == app.applicationId else { throw .invalidKey }
        return key
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Foundation
import Synchronization

@testable import AppAttestClient

/// The simulated device under the names of DCAppAttestService. It writes down what it was asked, and fails as it is told.
final class SimulatedPhone: AttestingDevice {
    enum Verb: Hashable { case generate, attest, assert }

    struct Calls {
        var generated: [String] = []
        /// Key and hash of each call of attestKey, those that failed too.
        var attested: [String] = []
        /// The keys that Apple certified.
        var certified: [String] = []
        var assertions = 0
        var failures: [Verb: [DeviceFailure]] = [:]
    }

    private struct State {
        var device: SimulatedDevice
        var app: SimulatedApp
        var calls = Calls()
    }

    private let state: Mutex<State>
    let supported: Bool

    init(_ app: SimulatedApp = ServiceProcess.app, isSupported: Bool = true) async {
        let device = SimulatedDevice(system: .iOS("27.0"), isSupported: isSupported, service: ServiceProcess.authority)
        await device.install(app)
        supported = isSupported
        state = Mutex(State(device: device, app: app))
    }

    var device: SimulatedDevice { state.withLock { $0.device } }
    var calls: Calls { state.withLock { $0.calls } }

    /// What the next calls throw, first the first.
    func fail(_ verb: Verb, _ failures: DeviceFailure...) { fail(verb, failures) }
    func fail(_ verb: Verb, _ failures: [DeviceFailure]) { state.withLock { $0.calls.failures[verb] = failures } }

    /// A new device with this one's backup.
    func restoreBackup() async {
        let other = await device.restored()
        state.withLock { $0.device = other }
    }

    /// From now on this app asks: the full app after its clip.
    func use(_ app: SimulatedApp) { state.withLock { $0.app = app } }

    var isSupported: Bool { get async { supported } }

    func generateKey() async throws(DeviceFailure) -> String {
        let (device, app) = try next(.generate)
        do {
            let keyId = try await device.generateKey(for: app)
            state.withLock { $0.calls.generated.append(keyId) }
            return keyId
        } catch { throw SimulatedPhone.failure(error) }
    }

    func attestKey(_ keyId: String, clientDataHash: Data) async throws(DeviceFailure) -> Data {
        state.withLock { $0.calls.attested.append("\(keyId) \(clientDataHash.base64EncodedString())") }
        let (device, app) = try next(.attest)
        do {
            // Apple's clock, which is right, whatever the device's says.
            let object = try await device.attestKey(keyId, clientDataHash: clientDataHash, for: app, at: Date())
            state.withLock { $0.calls.certified.append(keyId) }
            return Data(object)
        } catch { throw SimulatedPhone.failure(error) }
    }

    func generateAssertion(_ keyId: String, clientDataHash: Data) async throws(DeviceFailure) -> Data {
        let (device, app) = try next(.assert)
        do {
            let assertion = try await device.generateAssertion(keyId, clientDataHash: clientDataHash, for: app)
            state.withLock { $0.calls.assertions += 1 }
            return Data(assertion)
        } catch { throw SimulatedPhone.failure(error) }
    }

    private func next(_ verb: Verb) throws(DeviceFailure) -> (SimulatedDevice, SimulatedApp) {
        let (device, app, failure) = state.withLock { state in
            let list = state.calls.failures[verb] ?? []
            state.calls.failures[verb] = Array(list.dropFirst())
            return (state.device, state.app, list.first)
        }
        if let failure { throw failure }
        return (device, app)
    }

    private static func failure(_ error: any Error) -> DeviceFailure {
        switch error as? SimulatedServiceError {
        case .featureUnsupported: .featureUnsupported
        case .invalidInput: .invalidInput
        case .invalidKey: .invalidKey
        case .serverUnavailable: .serverUnavailable
        default: .unknownSystemFailure
        }
    }
}

/// A clock that stands still unless somebody waits or a test moves it. The time of day is as wrong as wanted.
final class ManualClock: Sendable {
    private struct State {
        var uptime = Duration.seconds(1_000)
        var slept: [Duration] = []
        var error: Double
    }

    private let state: Mutex<State>

    /// - Parameter error: seconds that the time of day is off.
    init(error: Double = 0) { state = Mutex(State(error: error)) }

    func advance(_ duration: Duration) { state.withLock { $0.uptime += duration } }
    func setError(_ seconds: Double) { state.withLock { $0.error = seconds } }
    /// The pauses that were waited.
    var slept: [Duration] { state.withLock { $0.slept } }

    var clock: SessionClock {
        SessionClock(
            uptime: { self.state.withLock { $0.uptime } },
            secondsSince1970: {
                self.state.withLock { 1_790_000_000 + Double($0.uptime.components.seconds) + $0.error }
            },
            sleep: { pause in
                try Task.checkCancellation()
                self.state.withLock {
                    $0.uptime += pause
                    $0.slept.append(pause)
                }
            },
            random: { 1 }
        )
    }
}

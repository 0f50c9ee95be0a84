// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// The part of `DCAppAttestService` that a session uses, under the same names.
///
/// ``AppAttestDevice`` is the real one; tests put a simulated device in its place.
public protocol AttestingDevice: Sendable {
    /// Whether the device has App Attest.
    var isSupported: Bool { get async }
    /// Makes a key pair and gives its identifier.
    func generateKey() async throws(DeviceFailure) -> String
    /// Has Apple certify the key, once in its life.
    func attestKey(_ keyId: String, clientDataHash: Data) async throws(DeviceFailure) -> Data
    /// Signs with a certified key.
    func generateAssertion(_ keyId: String, clientDataHash: Data) async throws(DeviceFailure) -> Data
}

/// What a call of `DCAppAttestService` threw: the cases of `DCError`.
public struct DeviceFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the case of `DCError`.
    public let name: String

    private init(_ name: String) { self.name = name }

    /// Something failed on the device.
    public static let unknownSystemFailure = DeviceFailure("unknownSystemFailure")
    /// This device, or this kind of process, has no App Attest.
    public static let featureUnsupported = DeviceFailure("featureUnsupported")
    /// The key identifier or the hash is not what the service expects.
    public static let invalidInput = DeviceFailure("invalidInput")
    /// The key is not on the device (reinstalled, restored), was attested before, or was not attested yet.
    public static let invalidKey = DeviceFailure("invalidKey")
    /// Apple's server did not answer.
    public static let serverUnavailable = DeviceFailure("serverUnavailable")

    public var description: String { "DCError.\(name)" }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// What the device's App Attest service throws: the cases of `DCError`, with its numbers.
public struct SimulatedServiceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The number of DCError.
    public let code: Int
    /// The case of DCError.
    package let name: String

    private init(_ code: Int, _ name: String) {
        self.code = code
        self.name = name
    }

    /// Something failed on the device.
    public static let unknownSystemFailure = SimulatedServiceError(0, "unknownSystemFailure")
    /// The device does not support App Attest.
    public static let featureUnsupported = SimulatedServiceError(1, "featureUnsupported")
    /// The client data hash is too short.
    public static let invalidInput = SimulatedServiceError(2, "invalidInput")
    /// The key does not exist, was attested before, or was not attested yet. Discard the key.
    public static let invalidKey = SimulatedServiceError(3, "invalidKey")
    /// Apple's server did not answer. Try again later with the same key and the same client data hash.
    public static let serverUnavailable = SimulatedServiceError(4, "serverUnavailable")

    public var description: String { "DCError.\(name) (\(code))" }
}

/// Certifies the keys of simulated devices: an authority in this process, or a server that simulates Apple.
public protocol SimulatedAttestationService: Sendable {
    /// Certifies a key.
    ///
    /// - Throws: ``SimulatedServiceError/serverUnavailable`` if the device should try again.
    func certify(_ request: SimulatedAttestationRequest, at instant: Date) async throws -> SimulatedAttestation
}

extension SimulatedAuthority: SimulatedAttestationService {
    public func certify(_ request: SimulatedAttestationRequest, at instant: Date) async throws -> SimulatedAttestation {
        try attest(request, at: instant)
    }
}

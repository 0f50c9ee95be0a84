// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

// Compiled where DeviceCheck is, which is not Linux: nothing here was compiled or run by the tests of this repository.
#if canImport(DeviceCheck)
    import DeviceCheck
    public import Foundation

    /// The device's own App Attest.
    package struct AppAttestDevice: AttestingDevice {

        package var isSupported: Bool { DCAppAttestService.shared.isSupported }

        package func generateKey() async throws(DeviceFailure) -> String {
            do { return try await DCAppAttestService.shared.generateKey() } catch { throw DeviceFailure(error) }
        }

        package func attestKey(_ keyId: String, clientDataHash: Data) async throws(DeviceFailure) -> Data {
            do {
                return try await DCAppAttestService.shared.attestKey(keyId, clientDataHash: clientDataHash)
            } catch { throw DeviceFailure(error) }
        }

        package func generateAssertion(_ keyId: String, clientDataHash: Data) async throws(DeviceFailure) -> Data {
            do {
                return try await DCAppAttestService.shared.generateAssertion(keyId, clientDataHash: clientDataHash)
            } catch { throw DeviceFailure(error) }
        }
    }

    extension DeviceFailure {
        /// The failure that an error of `DCAppAttestService` is.
        init(_ error: any Error) {
            switch (error as? DCError)?.code {
            case .featureUnsupported: self = .featureUnsupported
            case .invalidInput: self = .invalidInput
            case .invalidKey: self = .invalidKey
            case .serverUnavailable: self = .serverUnavailable
            default: self = .unknownSystemFailure
            }
        }
    }
#endif

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import DeviceSimulator
import Foundation
import Testing

/// Devices leave out the leading zeros of a coordinate in the COSE key, so one key of 128 has a shorter one; seen in
/// <https://github.com/passwordless-lib/fido2-net-lib/issues/552>: an x of 31 bytes, and a credential ID that is the hash of 32.
@Suite struct ShortCoordinateTests {
    /// Scalars of keys whose x or y begins with a zero.
    enum Coordinate: Int, CaseIterable {
        case x = 379
        case y = 43

        /// Where the coordinate is in a point, and its label in a COSE key.
        var place: (start: Int, label: Int) { self == .x ? (1, 1) : (33, 2) }
    }

    /// The verdict on a key with a leading zero, whose coordinate is written as `change` says.
    private func verdict(
        _ coordinate: Coordinate, _ change: @escaping @Sendable (ArraySlice<UInt8>) -> [UInt8]
    ) async throws -> AttestationVerdict {
        let scalar =
            [UInt8](repeating: 0, count: 30) + [UInt8(coordinate.rawValue >> 8), UInt8(coordinate.rawValue & 0xFF)]
        let key = try P256.Signing.PrivateKey(rawRepresentation: scalar)
        let point = Array(key.publicKey.x963Representation)
        #expect(point[coordinate.place.start] == 0)
        let stage = try Stage()
        let request = SimulatedAttestationRequest(
            publicKey: point, app: stage.app, system: stage.system, clientDataHash: stage.hash.bytes)
        let object = try stage.authority.attest(request, at: stage.instant) { recipe in
            let coordinates = [Coordinate.x, .y].map { each in
                let bytes = point[each.place.start..<each.place.start + 32]
                return (CBOR.negative(each.place.label), CBOR.bytes(each == coordinate ? change(bytes) : Array(bytes)))
            }
            recipe.coseKey = CBOR.map(
                [
                    (CBOR.unsigned(1), CBOR.unsigned(2)), (CBOR.unsigned(3), CBOR.negative(6)),
                    (CBOR.negative(0), CBOR.unsigned(1)),
                ] + coordinates)
        }.object
        return try await stage.verifier().verify(
            object, keyId: try AttestationPublicKey(x963Representation: point).keyId, clientDataHash: stage.hash,
            at: stage.instant)
    }

    @Test(arguments: Coordinate.allCases) func withOrWithoutItsZeroTheKeyIsAccepted(
        _ coordinate: Coordinate
    ) async throws {
        #expect(try await verdict(coordinate) { Array($0) }.code == nil)
        #expect(try await verdict(coordinate) { Array($0.dropFirst()) }.code == nil)
    }

    @Test(arguments: Coordinate.allCases) func otherLengthsAreNot(_ coordinate: Coordinate) async throws {
        for change: @Sendable (ArraySlice<UInt8>) -> [UInt8] in [
            { [0] + $0 }, { Array($0.dropLast()) }, { _ in [] }, { [0] + $0.dropFirst(2) },
        ] {
            #expect(try await verdict(coordinate, change).code == "malformed.authenticator-data")
        }
        // A coordinate that is shorter at its front is that of another key.
        #expect(try await verdict(coordinate) { Array($0.dropFirst(2)) }.code == "attest.public-key.mismatch")
    }
}

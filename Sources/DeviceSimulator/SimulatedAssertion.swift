// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Crypto
import FoundationEssentials

/// Every part of an assertion on its way to becoming one.
package struct SimulatedAssertion: Sendable {
    package var relyingPartyIdHash: [UInt8]
    package var flags: UInt8
    package var counter: UInt32
    package var trailer: [UInt8]
    package var clientDataHash: [UInt8]
    /// Signs the nonce as if it were the digest: the classic mistake.
    package var hashesOnce = false
    /// Another key signs: always the same one for a key.
    package var isByOtherKey = false
    package var adjustSignature: @Sendable ([UInt8]) -> [UInt8] = { $0 }
    package var adjustAuthenticatorData: @Sendable ([UInt8]) -> [UInt8] = { $0 }
    package var adjustObject: @Sendable ([UInt8]) -> [UInt8] = { $0 }

    package init(app: SimulatedApp, system: SimulatedSystem, counter: UInt32, clientDataHash: [UInt8]) {
        relyingPartyIdHash = sha256(app.applicationId)
        flags = system.sendsExtensions ? 0xC0 : 0x40
        self.counter = counter
        trailer = system.sendsExtensions ? AttestationRecipe.extensionMap(app) : []
        self.clientDataHash = clientDataHash
    }

    /// Makes the assertion of a key, as `generateAssertion` does.
    ///
    /// - Parameters:
    ///   - counter: 1 for the first assertion of a key.
    ///   - clientDataHash: what the app hands over, 16 bytes or more.
    package static func make(
        key: P256.Signing.PrivateKey, app: SimulatedApp, system: SimulatedSystem, counter: UInt32,
        clientDataHash: [UInt8], fault: AssertionFault? = nil
    ) throws -> [UInt8] {
        var assertion = SimulatedAssertion(app: app, system: system, counter: counter, clientDataHash: clientDataHash)
        try fault?.row.change(&assertion)
        return try assertion.object(signedBy: key)
    }

    /// Another key, always the same one for a key.
    static func otherKey(than key: P256.Signing.PrivateKey) -> P256.Signing.PrivateKey {
        var random = SimulatorRandom(digest: SHA256.hash(data: Array("another key".utf8) + key.rawRepresentation))
        return random.p256()
    }

    package func object(signedBy key: P256.Signing.PrivateKey) throws -> [UInt8] {
        let key = isByOtherKey ? SimulatedAssertion.otherKey(than: key) : key
        let data = adjustAuthenticatorData(relyingPartyIdHash + [flags] + counter.bigEndianBytes + trailer)
        let nonce = SHA256.hash(data: data + clientDataHash)
        let signature = hashesOnce ? try key.signature(for: nonce) : try key.signature(for: Data(nonce))
        return adjustObject(
            CBOR.map([
                (CBOR.text("signature"), CBOR.bytes(adjustSignature(Array(signature.derRepresentation)))),
                (CBOR.text("authenticatorData"), CBOR.bytes(data)),
            ])
        )
    }
}

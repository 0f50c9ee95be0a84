// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// Named faults of assertions.
public enum AssertionFault: String, Sendable, CaseIterable {
    /// The counter is lower than the last.
    case counterGoesBack = "counter-goes-back"
    /// The counter is 0.
    case counterIsZero = "counter-is-zero"
    /// The signature is over the data itself instead of its nonce.
    case singleHashing = "single-hashing"
    /// Made for another app.
    case otherApp = "other-app"
    /// Signed by another key.
    case otherKey = "other-key"
    /// Made over other client data.
    case otherClientData = "other-client-data"
    /// One bit of the signature is changed.
    case corruptedSignature = "corrupted-signature"
    /// The signature is r and s side by side instead of DER.
    case rawSignature = "raw-signature"
    /// The signature has the high s, which is as valid as the low one.
    case highSignature = "high-signature"
    /// The authenticator data ends early.
    case truncatedData = "truncated-data"
    /// Bytes follow the authenticator data.
    case junkAfterData = "junk-after-data"
    /// The extensions are a text instead of a map.
    case extensionsAreText = "extensions-are-text"
    /// The extension map is present but its flag is clear, as Apple's systems send it.
    case mapWithoutExtensionFlag = "map-without-extension-flag"
    /// A byte follows the object.
    case trailingByte = "trailing-byte"

    /// The code with which a correct verifier refuses; nil if the assertion is accepted.
    public var expectedCode: String? { row.code }
}

extension AssertionFault: CataloguedFault {
    /// The row of the catalogue: group, code and change.
    package var row: NegativeCase<SimulatedAssertion> {
        switch self {
        case .counterGoesBack:
            row(58, "assert.counter.replayed") { $0.counter = $0.counter > 0 ? $0.counter - 1 : 0 }
        case .counterIsZero: row(58, "assert.counter.replayed") { $0.counter = 0 }
        case .singleHashing: row(56, "assert.signature.invalid") { $0.hashesOnce = true }
        case .otherApp: row(60, "assert.app-id.mismatch") { $0.relyingPartyIdHash = sha256(SimulatedApp.other) }
        case .otherKey: row(61, "assert.signature.invalid") { $0.isByOtherKey = true }
        case .otherClientData:
            row(62, "assert.signature.invalid") { $0.clientDataHash = sha256($0.clientDataHash) }
        case .corruptedSignature: row(55, "assert.signature.invalid") { $0.adjustSignature = lastBitFlipped }
        case .rawSignature:
            row(57, "assert.signature.invalid") {
                $0.adjustSignature = { der in
                    let signature = try? P256.Signing.ECDSASignature(derRepresentation: der)
                    return signature.map { Array($0.rawRepresentation) } ?? der
                }
            }
        case .highSignature: row(57, nil) { $0.adjustSignature = AssertionFault.highForm }
        case .truncatedData:
            row(65, "malformed.authenticator-data") { $0.adjustAuthenticatorData = { Array($0.prefix(36)) } }
        case .junkAfterData:
            row(65, "malformed.authenticator-data") {
                $0.trailer = []
                $0.adjustAuthenticatorData = { $0 + [0xFF] }
            }
        case .extensionsAreText:
            row(nil, "assert.extensions.unknown-shape") { $0.trailer = CBOR.text("extensions") }
        case .mapWithoutExtensionFlag:
            row(nil, nil) {
                $0.flags = 0x40
                $0.trailer = AttestationRecipe.extensionMap(SimulatedApp("ABCDE12345.com.example.app"))
            }
        case .trailingByte: row(nil, "malformed.cbor") { $0.adjustObject = { $0 + [0x00] } }
        }
    }

    /// The other one of the two signatures that mean the same: n - s in place of s, the greater of the two.
    @Sendable private static func highForm(_ der: [UInt8]) -> [UInt8] {
        guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: der) else { return der }
        let raw = Array(signature.rawRepresentation)
        let order: [UInt8] =
            [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 8)
            + [0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51]
        let low = Array(raw.suffix(32))
        var difference = [UInt8](repeating: 0, count: 32)
        var borrow = 0
        for index in (0..<32).reversed() {
            let digit = Int(order[index]) - Int(low[index]) - borrow
            difference[index] = UInt8(truncatingIfNeeded: digit)
            borrow = digit < 0 ? 1 : 0
        }
        let high = difference.lexicographicallyPrecedes(low) ? low : difference
        guard let changed = try? P256.Signing.ECDSASignature(rawRepresentation: Array(raw.prefix(32)) + high) else {
            return der
        }
        return Array(changed.derRepresentation)
    }
}

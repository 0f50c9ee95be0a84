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
    public var expectedCode: String? {
        switch self {
        case .counterGoesBack, .counterIsZero: "assert.counter.replayed"
        case .singleHashing, .otherKey, .otherClientData, .corruptedSignature, .rawSignature: "assert.signature.invalid"
        case .otherApp: "assert.app-id.mismatch"
        case .truncatedData, .junkAfterData: "malformed.authenticator-data"
        case .extensionsAreText: "assert.extensions.unknown-shape"
        case .trailingByte: "malformed.cbor"
        case .highSignature, .mapWithoutExtensionFlag: nil
        }
    }

    func apply(to assertion: inout SimulatedAssertion) {
        switch self {
        case .counterGoesBack: assertion.counter = assertion.counter > 0 ? assertion.counter - 1 : 0
        case .counterIsZero: assertion.counter = 0
        case .singleHashing: assertion.hashesOnce = true
        case .otherApp:
            assertion.relyingPartyIdHash = Array(SHA256.hash(data: Array("OTHER12345.com.example.other".utf8)))
        case .otherKey: break
        case .otherClientData: assertion.clientDataHash = Array(SHA256.hash(data: assertion.clientDataHash))
        case .corruptedSignature: assertion.adjustSignature = { $0.dropLast() + [($0.last ?? 0) ^ 1] }
        case .rawSignature:
            assertion.adjustSignature = { der in
                guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: der) else { return der }
                return Array(signature.rawRepresentation)
            }
        case .highSignature: assertion.adjustSignature = AssertionFault.highForm
        case .truncatedData: assertion.adjustAuthenticatorData = { $0.prefix(36).map { $0 } }
        case .junkAfterData:
            assertion.trailer = []
            assertion.adjustAuthenticatorData = { $0 + [0xFF] }
        case .extensionsAreText: assertion.trailer = CBOR.text("extensions")
        case .mapWithoutExtensionFlag:
            assertion.flags = 0x40
            assertion.trailer = AttestationRecipe.extensionMap(SimulatedApp("ABCDE12345.com.example.app"))
        case .trailingByte: assertion.adjustObject = { $0 + [0x00] }
        }
    }

    /// The other one of the two signatures that mean the same: n - s in place of s, the greater of the two.
    private static func highForm(_ der: [UInt8]) -> [UInt8] {
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

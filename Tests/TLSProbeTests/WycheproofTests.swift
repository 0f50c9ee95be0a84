// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import TLSModel
import TestSupport
import Testing

@testable import TLSProbe

/// Wycheproof's sets through the code that verifies certificates and handshakes, and agrees on keys.
struct WycheproofTests {
    struct Set: Sendable, CustomTestStringConvertible {
        let name: String
        let count: Int
        let curve: String
        let bits: Int
        let hash: SignatureFacts.Hash
        let scheme: SignatureScheme
        var testDescription: String { name }
    }

    static let sets = [
        Set(
            name: "ecdsa_secp256r1_sha256", count: 484, curve: "P-256", bits: 256, hash: .sha256,
            scheme: .ecdsaSECP256R1SHA256),
        Set(
            name: "ecdsa_secp384r1_sha384", count: 504, curve: "P-384", bits: 384, hash: .sha384,
            scheme: .ecdsaSECP384R1SHA384),
    ]

    @Test(
        "ECDSA: signatures of certificates and of handshakes",
        .enabled(
            if: sets.allSatisfy { SharedVectors.wycheproof($0.name) != nil },
            "a set of ../shared/vectors/wycheproof is not there"), arguments: sets)
    func signatures(_ set: Set) throws {
        let cases = try WycheproofCase.all(try #require(SharedVectors.wycheproof(set.name)))
        #expect(cases.count == set.count)
        for test in cases {
            let (der, signature, message) = (
                try #require(test.bytes["publicKeyDer"]), try #require(test.bytes["sig"]),
                try #require(test.bytes["msg"])
            )
            let key = PublicKeyFacts(
                kind: .ellipticCurve(curve: set.curve, bits: set.bits), sha256: Array(SHA256.hash(data: der)), der: der)
            let isValid = test.result == "valid"
            let place = "\(set.name) \(test.identifier): \(test.comment)"
            #expect(
                VerificationKey(key).check(signature, over: message, family: .ecdsa, hash: set.hash)
                    == (isValid ? .valid : .invalid), "\(place)")
            #expect(
                HandshakeSignature.check(set.scheme, signature[...], over: message, key)
                    == (isValid ? .proven : .refuted), "\(place)")
        }
    }

    /// Acceptable is what RFC 7748 computes from odd public keys: the secret must be right. All-zero secrets are refused, as RFC 8446
    /// section 7.4.2 wants.
    @Test(
        "X25519: the key agreement of handshakes",
        .enabled(if: SharedVectors.wycheproof("x25519") != nil, "../shared/vectors/wycheproof is not there"))
    func keyAgreement() throws {
        let cases = try WycheproofCase.all(try #require(SharedVectors.wycheproof("x25519")))
        #expect(cases.count == 518)
        var refused = 0
        for test in cases {
            let key = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: try #require(test.bytes["private"]))
            let shared = try #require(test.bytes["shared"])
            let secret = KeyShare.x25519(key).secret(with: try #require(test.bytes["public"]))
            if shared.allSatisfy({ $0 == 0 }) {
                refused += 1
                #expect(secret == nil && test.result != "valid", "\(test.identifier): \(test.comment)")
            } else {
                #expect(secret == shared && test.result != "invalid", "\(test.identifier): \(test.comment)")
            }
        }
        #expect(refused > 0)
    }
}

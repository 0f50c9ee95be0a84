// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import TestSupport
import Testing

@testable import AppAttest

/// Wycheproof's ECDSA sets through the code that verifies assertions, attestation certificates and receipts.
struct WycheproofTests {
    @Test(
        "P-256 with SHA-256: assertions and certificates",
        .enabled(
            if: SharedVectors.wycheproof("ecdsa_secp256r1_sha256") != nil, "../shared/vectors/wycheproof is not there"))
    func assertions() throws {
        let cases = try WycheproofCase.all(try #require(SharedVectors.wycheproof("ecdsa_secp256r1_sha256")))
        #expect(cases.count == 484)
        for test in cases {
            let key = try P256.Signing.PublicKey(derRepresentation: try #require(test.bytes["publicKeyDer"]))
            let (signature, message) = (try #require(test.bytes["sig"]), try #require(test.bytes["msg"]))
            // The reader of assertions, step for step as AssertionVerifier uses it.
            let parsed = try? P256.Signing.ECDSASignature(derRepresentation: signature)
            let isGood = parsed.map { key.isValidSignature($0, for: SHA256.hash(data: message)) } ?? false
            #expect(isGood == (test.result == "valid"), "\(test.identifier): \(test.comment)")
            #expect(
                SigningKey.p256(key).isValid(signature[...], for: message[...], algorithm: OID.ecdsaWithSHA256[...])
                    == (test.result == "valid"), "\(test.identifier): \(test.comment)")
        }
    }

    @Test(
        "P-384 with SHA-384: attestation certificates",
        .enabled(
            if: SharedVectors.wycheproof("ecdsa_secp384r1_sha384") != nil, "../shared/vectors/wycheproof is not there"))
    func certificates() throws {
        let cases = try WycheproofCase.all(try #require(SharedVectors.wycheproof("ecdsa_secp384r1_sha384")))
        #expect(cases.count == 504)
        for test in cases {
            let key = try P384.Signing.PublicKey(derRepresentation: try #require(test.bytes["publicKeyDer"]))
            let (signature, message) = (try #require(test.bytes["sig"]), try #require(test.bytes["msg"]))
            #expect(
                SigningKey.p384(key).isValid(signature[...], for: message[...], algorithm: OID.ecdsaWithSHA384[...])
                    == (test.result == "valid"), "\(test.identifier): \(test.comment)")
        }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Foundation
import TestSupport
import Testing
import Vocabulary

/// A valid object with one bit flipped: refused, outside the receipt; inside it the key stands and the receipt falls.
///
/// By default two objects: every bit of the authenticator data and of what is neither certificate nor receipt, one bit of each byte of
/// the certificates, and of every 16th byte of the receipt. `SEALWARD_LONG=1` takes all their bits; `every-bit` of `Fuzz/` takes all bits
/// of all objects that are there, optimised.
@Suite struct BitFlipTests {
    @Test func applesSample() async throws {
        let vector = try #require(AppleVector.all.first { $0.name == "apple-guide-2026-ios27" })
        try await flip(vector)
    }

    @Test func simulated() async throws {
        let stage = try Stage()
        let object = try stage.authority.attest(stage.request, at: stage.instant).object
        try await flip(
            object, verifier: try stage.verifier(), keyId: try stage.attestationKey.keyId, hash: stage.hash,
            at: stage.instant)
    }

    @Test func assertions() throws {
        for system in [SimulatedSystem.iOS("18.5"), .iOS("27.0")] {
            let stage = try Stage(system)
            let object = try stage.assertion(counter: 7)
            for index in object.indices {
                for bit in 0..<8 {
                    var changed = object
                    changed[index] ^= 1 << UInt8(bit)
                    let verdict = try stage.assertionVerdict(changed, previous: 0)
                    if verdict.code == nil { Issue.record("bit \(bit) of byte \(index) changes nothing") }
                }
            }
        }
    }

    private func flip(_ vector: AppleVector) async throws {
        let verifier = AttestationVerifier(
            apps: [try vector.app], environments: [try vector.world], roots: .apple, receiptRoots: .apple)
        try await flip(
            try vector.bytes(vector.attestation), verifier: verifier, keyId: try vector.keyIdentifier,
            hash: try vector.hash, at: try vector.instant,
            receiptIsGood: vector.verification.attestationReceipt?.problems.isEmpty ?? true)
    }

    private func flip(
        _ object: [UInt8], verifier: AttestationVerifier, keyId: KeyIdentifier, hash: ClientDataHash, at instant: Date,
        receiptIsGood: Bool = true
    ) async throws {
        let parsed = try AttestationObject(decoding: object)
        let receipt = try #require(parsed.receipt.isEmpty ? nil : parsed.receipt.startIndex..<parsed.receipt.endIndex)
        let certificates = parsed.certificates.map { $0.startIndex..<$0.endIndex }
        let first = await verifier.verify(object, keyId: keyId, clientDataHash: hash, at: instant)
        #expect(first.code == nil)
        var count = 0
        for index in object.indices {
            let isReceipt = receipt.contains(index)
            let isCertificate = certificates.contains { $0.contains(index) }
            if isReceipt, !LongForm.isAsked, index % 16 != 0 { continue }
            let bits = (isReceipt || isCertificate) && !LongForm.isAsked ? index % 8..<index % 8 + 1 : 0..<8
            for bit in bits {
                var changed = object
                changed[index] ^= 1 << UInt8(bit)
                let verdict = await verifier.verify(changed, keyId: keyId, clientDataHash: hash, at: instant)
                count += 1
                if isReceipt {
                    let falls = verdict.accepted?.receiptVerdict?.code != nil
                    if !falls, receiptIsGood {
                        Issue.record("bit \(bit) of byte \(index), in the receipt: \(verdict)")
                    }
                    if verdict.code != nil { Issue.record("the key falls with byte \(index) of the receipt") }
                } else if verdict.code == nil {
                    Issue.record("bit \(bit) of byte \(index) changes nothing")
                }
            }
        }
        #expect(count > 1500)
    }
}

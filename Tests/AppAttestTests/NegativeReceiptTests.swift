// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import Foundation
import Testing
import Vocabulary

@testable import DeviceSimulator

/// Groups 55 to 84 of the negative list, as far as verifiers judge them. What has a name is in `FaultTests`.
@Suite struct NegativeReceiptTests {
    /// Groups 65 and 61: lengths of authenticator data, and another key.
    @Test(arguments: [0, 1, 36, 38])
    func group65Lengths(_ length: Int) throws {
        let stage = try Stage(.iOS("18.5"))
        var assertion = stage.assertion
        assertion.adjustAuthenticatorData = { Array(($0 + [0xF6]).prefix(length)) }
        let verdict = try stage.assertionVerdict(try assertion.object(signedBy: stage.key), previous: 0)
        #expect(verdict.code == "malformed.authenticator-data")
    }

    @Test(
        arguments: [
            (0x00, nil), (0x40, nil), (0x41, "malformed.authenticator-data"), (0x80, "malformed.authenticator-data"),
        ]
            as [(UInt8, String?)]
    )
    func assertionFlags(_ flags: UInt8, _ code: String?) throws {
        let stage = try Stage(.iOS("18.5"))
        var assertion = stage.assertion
        assertion.flags = flags
        #expect(try stage.assertionVerdict(try assertion.object(signedBy: stage.key), previous: 0).code == code)
    }

    /// Groups 55, 58 and 67: a bad signature is named before the counter is looked at.
    @Test func theSignatureComesBeforeTheCounter() throws {
        let stage = try Stage()
        let object = try stage.assertion(counter: 7, fault: .corruptedSignature)
        #expect(try stage.assertionVerdict(object, previous: 9).code == "assert.signature.invalid")
    }

    /// No limit of age, however odd, ends the process.
    @Test(arguments: [300, 1e300, -1e300, -.infinity, .infinity, .nan])
    func theLimitOfAgeIsAnyNumber(_ limit: TimeInterval) async throws {
        let stage = try Stage()
        var expected = try stage.expectations
        expected.maximumAge = limit
        let receipt = try stage.refreshedReceipt()
        let verdict = await ReceiptVerifier(roots: try ReceiptRoots(pem: stage.authority.receiptRootPEM))
            .verify(try Receipt(decoding: receipt), expected, at: stage.instant)
        #expect((verdict.refusal?.code == .receiptTooOld) == (limit < 0))
    }

    @Test(arguments: NegativeCases.receipts)
    func hasItsVerdict(_ item: NegativeCase<ReceiptRecipe>) async throws {
        let stage = try Stage()
        let leaf = try stage.authority.attest(stage.request, at: stage.instant).leafCertificate
        let content = SimulatedReceipt(
            type: .receipt, applicationId: stage.app.applicationId, certificate: leaf, clientHash: stage.hash.bytes,
            token: "token", isProduction: true, creation: stage.instant, riskMetric: 3, refreshNotBefore: stage.instant,
            expiration: stage.instant.addingTimeInterval(86_400))
        let receipt = try stage.authority.receipt(content) { try item.change(&$0) }
        let verdict = try await stage.receiptVerdict(receipt)
        #expect(verdict.code == item.code, "\(verdict)")
    }

    /// Those of the App Store are of the same kind, with DER in each field.
    @Test func aReceiptOfTheAppStoreIsNamed() throws {
        let stage = try Stage()
        let leaf = try stage.authority.attest(stage.request, at: stage.instant).leafCertificate
        let content = SimulatedReceipt(
            type: .receipt, applicationId: stage.app.applicationId, certificate: leaf, clientHash: stage.hash.bytes,
            token: "token", isProduction: true, creation: stage.instant, riskMetric: 3, refreshNotBefore: stage.instant,
            expiration: stage.instant.addingTimeInterval(86_400))
        let receipt = try stage.authority.receipt(content) {
            $0.adjustFields = { _ in [(2, ASN1.node(0x0C, Array("com.example.app".utf8)))] }
        }
        let fault = #expect(throws: MalformedInput.self) { try Receipt(decoding: receipt) }
        #expect(fault?.code == .malformedReceipt && fault?.reason.contains("StoreKit") == true)
    }

    /// Group 77: the age, to the second.
    @Test(
        arguments: [
            (0.0, nil), (300.0, nil), (300.5, "receipt.too-old"), (-60.0, nil), (-60.5, "receipt.from-the-future"),
        ] as [(TimeInterval, String?)]
    )
    func group77Age(_ age: TimeInterval, _ code: String?) async throws {
        let stage = try Stage()
        let receipt = try stage.refreshedReceipt()
        let verifier = ReceiptVerifier(roots: try ReceiptRoots(pem: stage.authority.receiptRootPEM))
        let verdict = await verifier.verify(receipt, try stage.expectations, at: stage.instant.addingTimeInterval(age))
        #expect(verdict.code == code)
    }

    /// Groups 75 and 76, from the other side: another app and another key are expected.
    @Test func groups75And76OtherExpectations() async throws {
        let stage = try Stage()
        let receipt = try stage.refreshedReceipt()
        let verifier = ReceiptVerifier(roots: try ReceiptRoots(pem: stage.authority.receiptRootPEM))
        var expected = try stage.expectations
        expected.app = try AppIdentity("ABCDE12345.com.example.app2")
        #expect(await verifier.verify(receipt, expected, at: stage.instant).code == "receipt.app-id.mismatch")
        expected = try stage.expectations
        expected.publicKey = try AttestationPublicKey(
            x963Representation: P256.Signing.PrivateKey().publicKey.x963Representation)
        #expect(await verifier.verify(receipt, expected, at: stage.instant).code == "receipt.public-key.mismatch")
    }

    /// An authority that signs its root anew stays the same authority; the same name with another key, and a root that changed by a bit, do not.
    @Test func group71ARootThatWasSignedAnew() async throws {
        let stage = try Stage()
        var (same, other) = (SimulatorRandom(seed: 4), SimulatorRandom(seed: 5))
        let again = try SimulatedAuthority(random: &same)
        let stranger = try SimulatedAuthority(random: &other)
        #expect(again.receiptRoot.certificate != stage.authority.receiptRoot.certificate)
        let first = try ReceiptVerifier(roots: ReceiptRoots(pem: stage.authority.receiptRootPEM))
        func code(_ root: [UInt8]) async throws -> String? {
            let leaf = try again.attest(stage.request, at: stage.instant)
            let content = SimulatedReceipt(
                type: .receipt, applicationId: stage.app.applicationId, certificate: leaf.leafCertificate,
                clientHash: stage.hash.bytes, token: "token", isProduction: true, creation: stage.instant,
                riskMetric: 1, expiration: stage.instant.addingTimeInterval(86_400))
            let receipt = try again.receipt(content) { $0.adjustCertificates = { $0.prefix(2) + [root] } }
            return await first.verify(receipt, try stage.expectations, at: stage.instant).code
        }
        let root = again.receiptRoot.certificate
        #expect(try await code(root) == nil)
        #expect(try await code(stage.authority.receiptRoot.certificate) == nil)
        // The same name, another key.
        #expect(stranger.receiptRoot.subject == again.receiptRoot.subject)
        #expect(try await code(stranger.receiptRoot.certificate) == "receipt.chain.untrusted")
        // The same name and key, signed by somebody else.
        var recipe = CertificateRecipe(
            serialNumber: [0x51], issuer: again.receiptRoot.subject, subject: again.receiptRoot.subject,
            notBefore: again.validity.lowerBound, notAfter: again.validity.upperBound,
            keyInfo: again.receiptRoot.key.keyInfo, extensions: [.basicConstraints(authority: true), .keyUsage(0x06)],
            usesSHA384: true)
        #expect(try await code(recipe.signed(by: again.receiptRoot.key)) == nil)
        #expect(try await code(recipe.signed(by: stranger.receiptRoot.key)) == "receipt.chain.untrusted")
        // The authority's own key, but no authority.
        recipe.extensions = [.basicConstraints(authority: false)]
        #expect(try await code(recipe.signed(by: again.receiptRoot.key)) == "receipt.chain.untrusted")
        // One bit in each eighth byte.
        for index in stride(from: 0, to: root.count, by: 8) {
            var changed = root
            changed[index] ^= 1 << UInt8(index / 8 % 8)
            let found = try await code(changed)
            #expect(
                found == "receipt.chain.untrusted" || found == "malformed.receipt", "\(index): \(found ?? "accepted")")
        }
    }

    /// Apple's root is not the simulator's.
    @Test func applesRootTrustsNoSimulator() async throws {
        let stage = try Stage()
        let verdict = await ReceiptVerifier(roots: .apple)
            .verify(try stage.refreshedReceipt(), try stage.expectations, at: stage.instant)
        #expect(verdict.code == "receipt.chain.untrusted")
        let verifier = AttestationVerifier(
            apps: [try stage.identity], environments: [.production], roots: .apple, receiptRoots: .apple)
        let attestation = try await stage.verdict(by: verifier)
        #expect(attestation.code == "attest.chain.untrusted")
    }
}

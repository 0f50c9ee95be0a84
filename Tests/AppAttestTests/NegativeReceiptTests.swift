// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import DeviceSimulator
import Foundation
import Testing

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

    struct Case: Sendable, CustomTestStringConvertible {
        let group: Int
        let what: String
        let code: String?
        let change: @Sendable (inout ReceiptRecipe) -> Void
        var testDescription: String { "\(group) \(what)" }

        init(_ group: Int, _ what: String, _ code: String?, _ change: @escaping @Sendable (inout ReceiptRecipe) -> Void)
        {
            self.group = group
            self.what = what
            self.code = code
            self.change = change
        }
    }

    /// Two authorities with the names of the signer's authority and its root, each of which signed the other.
    private static let circle: [[UInt8]] = {
        let keys = [SimulatorKey.p256(P256.Signing.PrivateKey()), .p256(P256.Signing.PrivateKey())]
        let authority = try? Stage.sharedAuthority.get()
        let names = [authority?.receiptCA.subject ?? [], authority?.receiptRoot.subject ?? []]
        return [0, 1].compactMap { index in
            let recipe = CertificateRecipe(
                serialNumber: [0x77, UInt8(index)],
                issuer: names[1 - index],
                subject: names[index],
                notBefore: SimulatedAuthority.defaultValidity.lowerBound,
                notAfter: SimulatedAuthority.defaultValidity.upperBound,
                keyInfo: keys[index].keyInfo,
                extensions: [
                    .basicConstraints(authority: true), .keyUsage(0x06),
                    CertificateExtension(ASN1.apple(6, 2, 3), ASN1.null),
                ]
            )
            return try? recipe.signed(by: keys[1 - index])
        }
    }()

    static let cases: [Case] = [
        Case(68, "an empty signature", "receipt.signature.invalid") { $0.adjustSignature = { _ in [] } },
        Case(70, "an authority without its marker", "receipt.chain.untrusted") {
            $0.adjustCertificates = { Array($0.prefix(1)) }
        },
        Case(71, "no certificates", "receipt.signature.invalid") { $0.adjustCertificates = { _ in [] } },
        Case(71, "no root", nil) { $0.adjustCertificates = { Array($0.prefix(2)) } },
        Case(74, "the signer's certificate twice", nil) { $0.adjustCertificates = { [$0[0]] + $0 } },
        Case(74, "authorities that certify each other", "receipt.chain.untrusted") { recipe in
            recipe.adjustCertificates = { [$0[0]] + circle }
        },
        Case(74, "the signer certifies itself", "receipt.chain.untrusted") { recipe in
            recipe.adjustCertificates = { [$0[0], $0[0]] }
        },
        Case(74, "certificates in another order", nil) { $0.adjustCertificates = { $0.reversed() } },
        Case(74, "17 certificates", "malformed.receipt") {
            $0.adjustCertificates = { $0 + [[UInt8]](repeating: $0[0], count: 14) }
        },
        Case(79, "no app", "receipt.field.missing") { $0.content.omittedFields = [2] },
        Case(79, "no key", "receipt.field.missing") { $0.content.omittedFields = [3] },
        Case(79, "no creation", "receipt.field.missing") { $0.content.omittedFields = [12] },
        Case(79, "no environment", nil) { $0.content.omittedFields = [7] },
        Case(79, "a key that is no certificate", "receipt.field.invalid") { $0.content.otherFields[3] = [1, 2, 3] },
        Case(79, "an unknown type", "receipt.field.invalid") { $0.content.otherFields[6] = Array("OTHER".utf8) },
        Case(79, "an unknown environment", "receipt.field.invalid") { $0.content.otherFields[7] = Array("test".utf8) },
        Case(79, "an app that is not UTF-8", "receipt.field.invalid") { $0.content.otherFields[2] = [0xFF] },
        Case(79, "a creation that is no time", "receipt.field.invalid") {
            $0.content.otherFields[12] = Array("2026-13-01T00:00:00Z".utf8)
        },
        Case(79, "an expiration that is no time", "receipt.field.invalid") {
            $0.content.otherFields[21] = Array("tomorrow".utf8)
        },
        Case(79, "an empty metric", "receipt.field.invalid") { $0.content.otherFields[17] = [] },
        Case(79, "a metric with a sign", "receipt.field.invalid") { $0.content.otherFields[17] = Array("+1".utf8) },
        Case(79, "a metric of zeros", nil) { $0.content.otherFields[17] = Array("000000000".utf8) },
        Case(80, "a first receipt with a metric", "receipt.type.mismatch") {
            $0.content.type = .attest
            $0.content.riskMetric = 3
        },
        Case(81, "the other environment", "receipt.environment.mismatch") { $0.content.isProduction = false },
        Case(82, "a chunk that claims more", "malformed.receipt") {
            $0.adjustMessage = { message in
                var message = message
                if let start = message.indices.first(where: { message[$0...].starts(with: [0x24, 0x80, 0x04, 0x82]) }) {
                    message[start + 4] = 0xFF
                }
                return message
            }
        },
        Case(82, "a chunk that claims less", "malformed.receipt") {
            $0.adjustMessage = { message in
                var message = message
                if let start = message.indices.first(where: { message[$0...].starts(with: [0x24, 0x80, 0x04, 0x82]) }) {
                    message[start + 5] -= 1
                }
                return message
            }
        },
        Case(82, "no end of the contents", "malformed.receipt") { $0.adjustMessage = { $0.dropLast(2) } },
        Case(82, "one end of the contents too many", "malformed.receipt") { $0.adjustMessage = { $0 + [0, 0] } },
        Case(82, "a byte after the end", "malformed.receipt") { $0.adjustMessage = { $0 + [0] } },
        Case(82, "the content is nested deeper", "malformed.receipt") {
            $0.adjustMessage = { message in
                guard let start = message.indices.first(where: { message[$0...].starts(with: [0x24, 0x80]) }) else {
                    return []
                }
                return message[..<start] + [UInt8](repeating: 0x24, count: 1) + [0x80] + message[start...]
            }
        },
        Case(82, "empty", "malformed.receipt") { $0.adjustMessage = { _ in [] } },
        Case(82, "more than 64 KiB", "malformed.too-large") {
            $0.adjustMessage = { _ in [UInt8](repeating: 0x30, count: 65537) }
        },
        Case(84, "DER with signed attributes", nil) {
            $0.content.encoding = .der
            $0.content.signsAttributes = true
        },
    ]

    @Test(arguments: cases)
    func hasItsVerdict(_ item: Case) async throws {
        let stage = try Stage()
        let leaf = try stage.authority.attest(stage.request, at: stage.instant).leafCertificate
        let content = SimulatedReceipt(
            type: .receipt,
            applicationId: stage.app.applicationId,
            certificate: leaf,
            clientHash: stage.hash.bytes,
            token: "token",
            isProduction: true,
            creation: stage.instant,
            riskMetric: 3,
            refreshNotBefore: stage.instant,
            expiration: stage.instant.addingTimeInterval(86_400)
        )
        let receipt = try stage.authority.receipt(content) { item.change(&$0) }
        let verdict = try await stage.receiptVerdict(receipt)
        #expect(verdict.code == item.code, "\(verdict)")
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
            x963Representation: P256.Signing.PrivateKey().publicKey.x963Representation
        )
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
                type: .receipt,
                applicationId: stage.app.applicationId,
                certificate: leaf.leafCertificate,
                clientHash: stage.hash.bytes,
                token: "token",
                isProduction: true,
                creation: stage.instant,
                riskMetric: 1,
                expiration: stage.instant.addingTimeInterval(86_400)
            )
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
            serialNumber: [0x51],
            issuer: again.receiptRoot.subject,
            subject: again.receiptRoot.subject,
            notBefore: again.validity.lowerBound,
            notAfter: again.validity.upperBound,
            keyInfo: again.receiptRoot.key.keyInfo,
            extensions: [.basicConstraints(authority: true), .keyUsage(0x06)],
            usesSHA384: true
        )
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
                found == "receipt.chain.untrusted" || found == "malformed.receipt",
                "\(index): \(found ?? "accepted")"
            )
        }
    }

    /// Apple's root is not the simulator's.
    @Test func applesRootTrustsNoSimulator() async throws {
        let stage = try Stage()
        let verdict = await ReceiptVerifier(roots: .apple)
            .verify(try stage.refreshedReceipt(), try stage.expectations, at: stage.instant)
        #expect(verdict.code == "receipt.chain.untrusted")
        let object = try stage.authority.attest(stage.request, at: stage.instant).object
        let verifier = AttestationVerifier(
            apps: [try stage.identity],
            environments: [.production],
            roots: .apple,
            receiptRoots: .apple
        )
        let attestation = await verifier.verify(
            object,
            keyId: try stage.attestationKey.keyId,
            clientDataHash: stage.hash,
            at: stage.instant
        )
        #expect(attestation.code == "attest.chain.untrusted")
    }
}

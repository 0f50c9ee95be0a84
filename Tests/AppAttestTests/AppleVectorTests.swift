// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import Foundation
import TestSupport
import Testing

/// Real objects give the expected verdict at their time, and with anything else the right refusal.
@Suite struct AppleVectorTests {
    @Test func applesSampleIsThere() {
        #expect(AppleVector.all.contains { $0.name == "apple-guide-2026-ios27" })
    }

    @Test(.enabled(if: AppleVector.areComplete, "the objects of ../shared/vectors are not there"))
    func theOthersAreThere() {
        #expect(AppleVector.attestations.count >= 10)
    }

    @Test(arguments: AppleVector.attestations)
    func isAccepted(_ vector: AppleVector) async throws {
        let verdict = try await verify(vector)
        let key = try #require(verdict.accepted, "\(verdict)")
        #expect(key.publicKey == (try vector.key))
        #expect(key.keyId == (try vector.keyIdentifier))
        #expect(key.app == (try vector.app))
        #expect(key.environment == (try vector.world))
        #expect(key.leaf.osVersion != nil)
        // Two of the published receipts are broken; the key is good all the same.
        let problems = vector.verification.attestationReceipt?.problems ?? []
        #expect((key.receiptVerdict?.code == nil) == problems.isEmpty)
    }

    @Test func applesSampleHasExtensionsWithTheFlagClear() async throws {
        let vector = try #require(AppleVector.all.first { $0.name == "apple-guide-2026-ios27" })
        let key = try #require(try await verify(vector).accepted)
        #expect(key.extensions?.bundleVersion == "1")
        #expect(key.extensions?.validationCategory == .platform)
        #expect(key.extensions?.unknown == [])
        #expect(key.leaf.osVersion == "27.0")
        #expect(key.leaf.osBuild == "24A325b")
        #expect(key.leaf.accessControl?.count == 69)
    }

    @Test(arguments: AppleVector.attestations)
    func anythingElseIsRefused(_ vector: AppleVector) async throws {
        let other = try AppIdentity("X" + vector.appId.dropFirst())
        let world: AttestationEnvironment = try vector.world == .production ? .development : .production
        let keyId = try #require(KeyIdentifier(bytes: [UInt8](repeating: 7, count: 32)))
        #expect(try await verify(vector, app: other).code == "attest.app-id.mismatch")
        #expect(try await verify(vector, environment: world).code == "attest.environment.mismatch")
        #expect(try await verify(vector, keyId: keyId).code == "attest.key-id.mismatch")
        #expect(
            try await verify(vector, hash: ClientDataHash(hashing: Array("other".utf8))).code == "attest.nonce.mismatch"
        )
        #expect(
            try await verify(vector, at: Date(timeIntervalSince1970: 1_600_000_000 - 86_400 * 400)).code
                == "attest.chain.not-yet-valid")
        #expect(try await verify(vector, at: Date(timeIntervalSince1970: 1_900_000_000)).code == "attest.chain.expired")
        let hashed = try ClientDataHash(hashing: vector.hash.bytes)
        #expect(try await verify(vector, hash: hashed).code == "attest.nonce.mismatch")
    }

    /// Both ends of the leaf's validity belong to it, and not a second more.
    @Test(arguments: AppleVector.attestations)
    func theEdgesOfValidityAreInside(_ vector: AppleVector) async throws {
        let leaf = try #require(try await verify(vector).accepted).leaf
        #expect(try await verify(vector, at: leaf.notBefore).code == nil)
        #expect(try await verify(vector, at: leaf.notAfter).code == nil)
        #expect(
            try await verify(vector, at: leaf.notBefore.addingTimeInterval(-1)).code == "attest.chain.not-yet-valid")
        #expect(try await verify(vector, at: leaf.notAfter.addingTimeInterval(1)).code == "attest.chain.expired")
    }

    /// The intermediate ends in March 2030; a leaf that went on longer would not be accepted with it.
    @Test func theIntermediateExpires() async throws {
        let vector = try #require(AppleVector.attestations.first)
        let verdict = try await verify(vector, at: Date(timeIntervalSince1970: 1_899_763_200))
        #expect(verdict.code == "attest.chain.expired")
        #expect("\(verdict)".contains("intermediate"))
    }

    @Test(arguments: AppleVector.attestations)
    func anotherRootIsRefused(_ vector: AppleVector) async throws {
        let pem = try String(
            contentsOf: BuiltProgram.repository.appending(path: "Tests/Vectors/appattest/Apple_Root_CA_G3.pem"),
            encoding: .utf8)
        #expect(try await verify(vector, roots: AttestationRoots(pem: pem)).code == "attest.chain.untrusted")
    }

    @Test(.enabled(if: AppleVector.areComplete), arguments: AppleVector.withAssertions)
    func assertionsAreAccepted(_ vector: AppleVector) throws {
        let verifier = AssertionVerifier(app: try vector.app)
        for assertion in vector.assertions {
            let bytes = try vector.bytes(assertion.assertion)
            let hash = try ClientDataHash(precomputed: vector.bytes(assertion.clientDataHash))
            let counter = assertion.counter
            func code(_ bytes: [UInt8], _ hash: ClientDataHash, _ previous: UInt32) throws -> String? {
                try verifier.verify(bytes, publicKey: vector.key, clientDataHash: hash, previousCounter: previous).code
            }
            #expect(try code(bytes, hash, counter - 1) == nil)
            #expect(try code(bytes, hash, counter) == "assert.counter.replayed")
            #expect(try code(bytes, hash, .max) == "assert.counter.replayed")
            #expect(try code(bytes, ClientDataHash(hashing: hash.bytes), 0) == "assert.signature.invalid")
            let other = AssertionVerifier(app: try AppIdentity("X" + vector.appId.dropFirst()))
            let verdict = try other.verify(bytes, publicKey: vector.key, clientDataHash: hash, previousCounter: 0)
            #expect(verdict.code == "assert.app-id.mismatch")
            for length in 0..<bytes.count {
                #expect(try code(Array(bytes.prefix(length)), hash, 0)?.hasPrefix("malformed.") == true)
            }
        }
    }

    @Test(.enabled(if: AppleVector.areComplete), arguments: AppleVector.withReceipts)
    func receiptsAreAccepted(_ vector: AppleVector) async throws {
        let verifier = ReceiptVerifier(roots: .apple)
        for dated in vector.receipts {
            let bytes = try vector.bytes(dated.receipt)
            let receipt = try Receipt(decoding: bytes)
            let creation = try #require(receipt.creationTime)
            var expected = ReceiptExpectations(
                app: try vector.app, publicKey: try vector.key, environment: try vector.world)
            expected.maximumAge = 300
            func code(_ expected: ReceiptExpectations, _ instant: Date) async -> String? {
                await verifier.verify(bytes, expected, at: instant).code
            }
            let verdict = await verifier.verify(bytes, expected, at: creation)
            let accepted = try #require(verdict.accepted, "\(verdict)")
            #expect(accepted.type.rawValue == dated.type)
            #expect(accepted.riskMetric.map(String.init) == dated.fields["17"]?.value)
            #expect(await code(expected, creation.addingTimeInterval(300)) == nil)
            #expect(await code(expected, creation.addingTimeInterval(301)) == "receipt.too-old")
            #expect(await code(expected, creation.addingTimeInterval(-60)) == nil)
            #expect(await code(expected, creation.addingTimeInterval(-61)) == "receipt.from-the-future")
            expected.maximumAge = nil
            let expiration = try #require(accepted.expirationTime)
            #expect(await code(expected, expiration) == nil)
            #expect(await code(expected, expiration.addingTimeInterval(1)) == "receipt.expired")
            expected.environment = .production
            #expect(await code(expected, creation) == "receipt.environment.mismatch")
            expected.publicKey = try AttestationPublicKey(
                x963Representation: P256.Signing.PrivateKey().publicKey.x963Representation)
            #expect(await code(expected, creation) == "receipt.public-key.mismatch")
            expected.app = try AppIdentity("X" + vector.appId.dropFirst())
            #expect(await code(expected, creation) == "receipt.app-id.mismatch")
        }
    }

    @Test func theEmbeddedRootsAreApples() throws {
        for (name, pin) in [
            ("Apple_App_Attestation_Root_CA", "1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932"),
            ("Apple_Root_CA_G3", "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"),
        ] {
            let file = BuiltProgram.repository.appending(path: "Tests/Vectors/appattest/\(name).pem")
            let pem = try String(contentsOf: file, encoding: .utf8)
            let body = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
            let der = try #require(Data(base64Encoded: body))
            #expect(SHA256.hash(data: der).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == pin)
        }
    }

    private func verify(
        _ vector: AppleVector, app: AppIdentity? = nil, environment: AttestationEnvironment? = nil,
        keyId: KeyIdentifier? = nil, hash: ClientDataHash? = nil, at instant: Date? = nil,
        roots: AttestationRoots = .apple
    ) async throws -> AttestationVerdict {
        let verifier = AttestationVerifier(
            apps: [try app ?? vector.app], environments: [try environment ?? vector.world], roots: roots,
            receiptRoots: .apple)
        return await verifier.verify(
            try vector.bytes(vector.attestation), keyId: try keyId ?? vector.keyIdentifier,
            clientDataHash: try hash ?? vector.hash, at: try instant ?? vector.instant)
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import Foundation
import Testing

@testable import DeviceSimulator

/// Groups 20 to 48 of the negative list: certificates, authenticator data, extensions. What has a name is in `FaultTests`.
@Suite struct NegativeChainTests {
    static let instant = Date(timeIntervalSince1970: 1_795_262_400)

    /// To the second at which a leaf begins and ends.
    static let times: [NegativeCase<AttestationRecipe>] = [
        NegativeCase(27, "ended a second ago", "attest.chain.expired") {
            $0.leaf.notAfter = instant.addingTimeInterval(-1)
        },
        NegativeCase(27, "begins in a second", "attest.chain.not-yet-valid") {
            $0.leaf.notBefore = instant.addingTimeInterval(1)
        },
        NegativeCase(27, "ends now", nil) { $0.leaf.notAfter = instant },
        NegativeCase(27, "begins now", nil) { $0.leaf.notBefore = instant },
    ]

    @Test(arguments: NegativeCases.chains + times + NegativeCases.data)
    func hasItsVerdict(_ item: NegativeCase<AttestationRecipe>) async throws {
        let stage = try Stage()
        let verdict = try await stage.verdict { try item.change(&$0) }
        #expect(verdict.code == item.code, "\(verdict)")
    }

    /// Group 45: the key identifier of another key.
    @Test func group45OtherKeyIdentifier() async throws {
        let stage = try Stage()
        let other = try AttestationPublicKey(x963Representation: P256.Signing.PrivateKey().publicKey.x963Representation)
        let verdict = try await stage.verifier().verify(
            stage.object(), keyId: other.keyId, clientDataHash: stage.hash, at: stage.instant)
        #expect(verdict.code == "attest.key-id.mismatch")
        #expect(verdict.step == 5)
    }

    /// The object with other certificates, and where asked another format; everything else stays.
    private static func object(
        _ vector: AppleVector, chain: [[UInt8]], format: String = "apple-appattest"
    ) throws -> [UInt8] {
        let parsed = try AttestationObject(decoding: vector.bytes(vector.attestation))
        let statement = CBOR.map([
            (CBOR.text("x5c"), CBOR.array(chain.map(CBOR.bytes))),
            (CBOR.text("receipt"), CBOR.bytes(Array(parsed.receipt))),
        ])
        return CBOR.map([
            (CBOR.text("fmt"), CBOR.text(format)), (CBOR.text("attStmt"), statement),
            (CBOR.text("authData"), CBOR.bytes(Array(parsed.authenticatorData.bytes))),
        ])
    }

    /// Group 25: Apple's own sample with each other certificate of Apple's in place of the intermediate.
    @Test func group25AnotherAuthorityOfApples() async throws {
        let vector = try #require(AppleVector.all.first { $0.name == "apple-guide-2026-ios27" })
        let parsed = try AttestationObject(decoding: vector.bytes(vector.attestation))
        let own = parsed.certificates.map(Array.init)
        let others = try Receipt(decoding: parsed.receipt).certificates
        #expect(others.count == 3)
        let verifier = AttestationVerifier(
            apps: [try vector.app], environments: [try vector.world], roots: .apple, receiptRoots: .apple)
        func code(_ chain: [[UInt8]]) async throws -> String? {
            await verifier.verify(
                try NegativeChainTests.object(vector, chain: chain), keyId: try vector.keyIdentifier,
                clientDataHash: try vector.hash, at: try vector.instant
            ).code
        }
        #expect(try await code(own) == nil)
        for other in others { #expect(try await code([own[0], other]) == "attest.chain.untrusted") }
        // A leaf of Apple's that is no App Attest leaf, below its own authority and below App Attest's.
        #expect(try await code([others[0], others[1]]) == "attest.chain.untrusted")
        #expect(try await code([others[0], own[1]]) == "attest.chain.untrusted")
    }

    /// Group 26: a leaf with the right nonce below another root, as WebAuthn has it, under either name of the format.
    @Test(arguments: [("apple", "attest.format.unknown"), ("apple-appattest", "attest.chain.untrusted")])
    func group26WebAuthn(_ format: String, _ code: String) async throws {
        let stage = try Stage()
        let root = SimulatorKey.p384(P384.Signing.PrivateKey())
        let authority = SimulatorKey.p384(P384.Signing.PrivateKey())
        func name(_ text: String) -> [UInt8] { SimulatedAuthority.name("SIMULATED WebAuthn " + text) }
        var recipe = CertificateRecipe(
            serialNumber: [1], issuer: name("Root CA"), subject: name("CA 1"),
            notBefore: stage.authority.validity.lowerBound, notAfter: stage.authority.validity.upperBound,
            keyInfo: authority.keyInfo,
            extensions: [.basicConstraints(authority: true, pathLength: 0), .keyUsage(0x06)], usesSHA384: true)
        let intermediate = try recipe.signed(by: root)
        recipe.subject = name("Root CA")
        recipe.keyInfo = root.keyInfo
        let anchor = try recipe.signed(by: root)
        let object = try stage.authority.attest(stage.request, at: stage.instant) {
            $0.format = CBOR.text(format)
            $0.leaf.issuer = name("CA 1")
            $0.leafSigner = authority
            $0.adjustChain = { [$0[0], intermediate] }
        }
        .object
        #expect(try await stage.verdict(object).code == code)
        // Below its own root the chain is good, so it is the root that refuses it.
        let own = try await stage.verdict(object, by: stage.verifier(rootPEM: SimulatedAuthority.pem(anchor)))
        #expect(own.code == (format == "apple" ? code : nil))
    }

    /// Group 28: the intermediate's end, before and after it was remembered.
    @Test func group28ExpiredIntermediate() async throws {
        var random = SimulatorRandom(seed: 28)
        let start = Date(timeIntervalSince1970: 1_700_000_000)
        let authority = try SimulatedAuthority(random: &random, validity: start...start.addingTimeInterval(86_400))
        let stage = try Stage()
        let verifier = try stage.verifier(rootPEM: authority.attestationRootPEM)
        let object = try authority.attest(stage.request, at: start.addingTimeInterval(3600)).object
        func code(_ offset: TimeInterval) async throws -> String? {
            try await stage.verdict(object, by: verifier, at: start.addingTimeInterval(offset)).code
        }
        #expect(try await code(86_401) == "attest.chain.expired")
        #expect(try await code(86_400) == nil)
        #expect(try await code(86_401) == "attest.chain.expired")
        #expect(try await code(0) == nil)
        #expect(try await code(-1) == "attest.chain.not-yet-valid")
    }

    /// Groups 23 and 29 on one verifier: a foreign intermediate is never remembered.
    @Test func aForeignIntermediateStaysForeign() async throws {
        let stage = try Stage()
        let verifier = try stage.verifier()
        let object = try stage.object(fault: .foreignChain)
        for _ in 0..<3 {
            #expect(try await stage.verdict(object, by: verifier).code == "attest.chain.untrusted")
        }
    }

    /// Group 49: a raw challenge is not its hash.
    @Test func group49HashedAndRawAreTwoThings() async throws {
        let stage = try Stage()
        let verdict = try await stage.verdict(hash: ClientDataHash(precomputed: stage.clientData))
        #expect(verdict.code == "attest.nonce.mismatch")
        #expect(verdict.step == 4)
    }

    @Test(arguments: [(15, false), (16, true), (1024, true), (1025, false)])
    func aClientDataHashHasSixteenBytesOrMore(_ count: Int, _ isAccepted: Bool) {
        #expect(((try? ClientDataHash(precomputed: [UInt8](repeating: 1, count: count))) != nil) == isAccepted)
    }

    @Test(arguments: ["", "com", ".com.example", "ABCDE12345.", "ABCDE 12345.com.example", "ABCDE12345.com.exämple"])
    func badIdentitiesAreRefused(_ text: String) {
        #expect((try? AppIdentity(text)) == nil)
    }
}

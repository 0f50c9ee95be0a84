// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import DeviceSimulator
import Foundation
import Testing

/// Groups 20 to 48 of the negative list: certificates, authenticator data, extensions. What has a name is in `FaultTests`.
@Suite struct NegativeChainTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let group: Int
        let what: String
        let code: String?
        let change: @Sendable (inout AttestationRecipe) throws -> Void
        var testDescription: String { "\(group) \(what)" }

        init(
            _ group: Int,
            _ what: String,
            _ code: String?,
            _ change: @escaping @Sendable (inout AttestationRecipe) throws -> Void
        ) {
            self.group = group
            self.what = what
            self.code = code
            self.change = change
        }
    }

    static let nonceId = ASN1.apple(8, 2)
    static let instant = Date(timeIntervalSince1970: 1_795_262_400)
    static let rsaKey = ASN1.sequence(
        ASN1.sequence(ASN1.object(1, 2, 840, 113549, 1, 1, 1), ASN1.null),
        ASN1.bits(ASN1.sequence(ASN1.integer(magnitude: [UInt8](repeating: 0xC3, count: 256)), ASN1.integer(65537)))
    )

    static func keyInfo(_ point: [UInt8]) -> [UInt8] {
        let curve = ASN1.object(1, 2, 840, 10045, 3, 1, 7)
        return ASN1.sequence(ASN1.sequence(ASN1.object(1, 2, 840, 10045, 2, 1), curve), ASN1.bits(point))
    }

    static func cose(_ entries: [([UInt8], [UInt8])]) -> [UInt8] { CBOR.map(entries) }

    static func coseEntries(_ recipe: AttestationRecipe) -> [([UInt8], [UInt8])] {
        let x = Array(recipe.coseKey.dropFirst(10).prefix(32))
        let y = Array(recipe.coseKey.suffix(32))
        return [
            (CBOR.unsigned(1), CBOR.unsigned(2)), (CBOR.unsigned(3), CBOR.negative(6)),
            (CBOR.negative(0), CBOR.unsigned(1)), (CBOR.negative(1), CBOR.bytes(x)), (CBOR.negative(2), CBOR.bytes(y)),
        ]
    }

    static let chainCases: [Case] = [
        Case(20, "no certificate", "attest.chain.count") { $0.adjustChain = { _ in [] } },
        Case(20, "the leaf twice and the intermediate", "attest.chain.count") {
            $0.adjustChain = { $0.prefix(1) + $0 }
        },
        Case(21, "the intermediate twice", "attest.chain.untrusted") { $0.adjustChain = { [$0[1], $0[1]] } },
        Case(25, "the receipts' authority as intermediate", "attest.chain.untrusted") { recipe in
            let authority = try Stage.sharedAuthority.get()
            recipe.adjustChain = { [$0[0], authority.receiptCA.certificate] }
        },
        Case(25, "the root as intermediate", "attest.chain.untrusted") { recipe in
            let authority = try Stage.sharedAuthority.get()
            recipe.adjustChain = { [$0[0], authority.attestationRoot.certificate] }
        },
        Case(26, "an empty certificate", "malformed.certificate") { $0.adjustChain = { [[], $0[1]] } },
        Case(26, "a certificate that is no DER", "malformed.certificate") { $0.adjustChain = { [[1, 2, 3], $0[1]] } },
        Case(26, "a byte after the leaf", "malformed.certificate") { $0.adjustChain = { [$0[0] + [0], $0[1]] } },
        Case(27, "ended a second ago", "attest.chain.expired") { $0.leaf.notAfter = instant.addingTimeInterval(-1) },
        Case(27, "begins in a second", "attest.chain.not-yet-valid") {
            $0.leaf.notBefore = instant.addingTimeInterval(1)
        },
        Case(27, "ends now", nil) { $0.leaf.notAfter = instant },
        Case(27, "begins now", nil) { $0.leaf.notBefore = instant },
        Case(31, "a signature with r = 0", "attest.chain.signature") {
            $0.leaf.adjustSignature = { _ in ASN1.sequence(ASN1.integer(0), ASN1.integer(1)) }
        },
        Case(31, "a negative r", "attest.chain.signature") {
            $0.leaf.adjustSignature = { _ in ASN1.sequence([0x02, 0x01, 0x80], ASN1.integer(1)) }
        },
        Case(31, "a signature in BER", "attest.chain.signature") {
            $0.leaf.adjustSignature = { [0x30, 0x81] + $0.dropFirst() }
        },
        Case(31, "an empty signature", "attest.chain.signature") { $0.leaf.adjustSignature = { _ in [] } },
        Case(32, "a critical unknown extension in front", "attest.chain.untrusted") {
            $0.leaf.extensions.insert(CertificateExtension(ASN1.apple(8, 77), critical: true, ASN1.null), at: 0)
        },
        Case(32, "the key may not sign", "attest.chain.untrusted") { $0.leaf.extensions[1] = .keyUsage(0x20) },
        Case(34, "a nonce with another element", "malformed.certificate") {
            $0.encodeNonce = { ASN1.sequence(ASN1.tagged(1, ASN1.octets($0)), ASN1.null) }
        },
        Case(34, "a nonce with the tag [0]", "malformed.certificate") {
            $0.encodeNonce = { ASN1.sequence(ASN1.tagged(0, ASN1.octets($0))) }
        },
        Case(34, "a nonce of 31 bytes", "malformed.certificate") {
            $0.encodeNonce = { ASN1.sequence(ASN1.tagged(1, ASN1.octets($0.dropLast()))) }
        },
        Case(34, "a nonce of 33 bytes", "malformed.certificate") {
            $0.encodeNonce = { ASN1.sequence(ASN1.tagged(1, ASN1.octets($0 + [0]))) }
        },
        Case(34, "a byte after the nonce", "malformed.certificate") {
            $0.encodeNonce = { ASN1.sequence(ASN1.tagged(1, ASN1.octets($0))) + [0] }
        },
        Case(34, "a nonce with a long length", "malformed.certificate") {
            $0.encodeNonce = { ASN1.sequence(ASN1.tagged(1, [0x04, 0x81, 0x20] + $0)) }
        },
        Case(34, "an empty nonce", "malformed.certificate") { $0.encodeNonce = { _ in [] } },
        Case(36, "an RSA key", "malformed.certificate") { $0.leaf.keyInfo = rsaKey },
        Case(36, "explicit parameters", "malformed.certificate") { recipe in
            let point = ASN1.bits([0x04] + [UInt8](repeating: 1, count: 64))
            recipe.leaf.keyInfo = ASN1.sequence(
                ASN1.sequence(ASN1.object(1, 2, 840, 10045, 2, 1), ASN1.sequence(ASN1.integer(1))),
                point
            )
        },
        Case(37, "a point that is not on the curve", "malformed.certificate") {
            $0.leaf.keyInfo = keyInfo([0x04] + [UInt8](repeating: 1, count: 64))
        },
        Case(37, "the point at infinity", "malformed.certificate") { $0.leaf.keyInfo = keyInfo([0x00]) },
        Case(37, "x is not below p", "malformed.certificate") {
            $0.leaf.keyInfo = keyInfo([0x04] + [UInt8](repeating: 0xFF, count: 64))
        },
    ]

    static let dataCases: [Case] =
        [0, 36, 37, 54, 163].map { length in
            Case(38, "\(length) bytes", "malformed.authenticator-data") {
                $0.adjustAuthenticatorData = { Array($0.prefix(length)) }
            }
        }
        + [0, 31, 33, 65535].map { length in
            Case(39, "an identifier of \(length) bytes", "malformed.authenticator-data") {
                $0.credentialIdLength = length
            }
        }
        + [0x00, 0x80, 0xFF, 0x41, 0x01].map { flags in
            Case(40, "the flags \(flags)", "malformed.authenticator-data") { $0.flags = flags }
        }
        + [
            Case(41, "the largest counter", "attest.counter.not-zero") { $0.counter = .max },
            Case(42, "an empty environment", "attest.environment.unknown") {
                $0.aaguid = [UInt8](repeating: 0, count: 16)
            },
            Case(46, "a COSE key without y", "malformed.authenticator-data") {
                $0.coseKey = cose(coseEntries($0).dropLast())
            },
            Case(46, "a COSE key with x twice", "malformed.authenticator-data") {
                $0.coseKey = cose(coseEntries($0) + [coseEntries($0)[3]])
            },
            Case(46, "a COSE key for RS256", "malformed.authenticator-data") {
                var entries = coseEntries($0)
                entries[1].1 = CBOR.negative(256)
                $0.coseKey = cose(entries)
            },
            Case(46, "a COSE key on P-384", "malformed.authenticator-data") {
                var entries = coseEntries($0)
                entries[2].1 = CBOR.unsigned(2)
                $0.coseKey = cose(entries)
            },
            Case(46, "an x of 33 bytes", "malformed.authenticator-data") {
                var entries = coseEntries($0)
                entries[3].1 = CBOR.bytes([UInt8](repeating: 1, count: 33))
                $0.coseKey = cose(entries)
            },
            Case(46, "another entry in the COSE key", "malformed.authenticator-data") {
                $0.coseKey = cose(coseEntries($0) + [(CBOR.unsigned(4), CBOR.unsigned(1))])
            },
            Case(47, "a number as extension key", "attest.extensions.unknown-shape") {
                $0.trailer = CBOR.map([(CBOR.unsigned(1), CBOR.unsigned(1))])
            },
            Case(47, "a number as bundle version", "attest.extensions.unknown-shape") {
                $0.trailer = CBOR.map([(CBOR.text("apple_bundle_version_01"), CBOR.unsigned(1))])
            },
            Case(47, "an empty map", nil) { $0.trailer = CBOR.map([]) },
        ]

    @Test(arguments: chainCases + dataCases)
    func hasItsVerdict(_ item: Case) async throws {
        let verdict = try await Stage().verdict { try item.change(&$0) }
        #expect(verdict.code == item.code, "\(verdict)")
    }

    /// Groups 43 and 44: the app is the whole identifier, byte by byte.
    @Test(arguments: [
        "ABCDE12345.com.example.ap", "ABCDE12345.com.example.app2", "ABCDE12345.com.example.app.Clip",
        "abcde12345.com.example.app",
        "com.example.app", "ABCDE12345.com.example.App", "ABCDE12345.com.example.app ",
    ])
    func groups43And44OtherApps(_ identifier: String) async throws {
        let verdict = try await Stage().verdict {
            $0.relyingPartyIdHash = Array(SHA256.hash(data: Array(identifier.utf8)))
        }
        #expect(verdict.code == "attest.app-id.mismatch")
    }

    /// Group 45: the key identifier of another key.
    @Test func group45OtherKeyIdentifier() async throws {
        let stage = try Stage()
        let object = try stage.authority.attest(stage.request, at: stage.instant).object
        let other = try AttestationPublicKey(x963Representation: P256.Signing.PrivateKey().publicKey.x963Representation)
        let verdict = try await stage.verifier().verify(
            object,
            keyId: other.keyId,
            clientDataHash: stage.hash,
            at: stage.instant
        )
        #expect(verdict.code == "attest.key-id.mismatch")
        #expect(verdict.step == 5)
    }

    /// The object with other certificates, and where asked another format; everything else stays.
    private static func object(
        _ vector: AppleVector,
        chain: [[UInt8]],
        format: String = "apple-appattest"
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
            apps: [try vector.app],
            environments: [try vector.world],
            roots: .apple,
            receiptRoots: .apple
        )
        func code(_ chain: [[UInt8]]) async throws -> String? {
            await verifier.verify(
                try NegativeChainTests.object(vector, chain: chain),
                keyId: try vector.keyIdentifier,
                clientDataHash: try vector.hash,
                at: try vector.instant
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
            serialNumber: [1],
            issuer: name("Root CA"),
            subject: name("CA 1"),
            notBefore: stage.authority.validity.lowerBound,
            notAfter: stage.authority.validity.upperBound,
            keyInfo: authority.keyInfo,
            extensions: [.basicConstraints(authority: true, pathLength: 0), .keyUsage(0x06)],
            usesSHA384: true
        )
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
        let verifier = AttestationVerifier(
            apps: [try stage.identity],
            environments: [stage.environment],
            roots: try AttestationRoots(pem: SimulatedAuthority.pem(anchor)),
            receiptRoots: nil
        )
        let own = await verifier.verify(
            object,
            keyId: try stage.attestationKey.keyId,
            clientDataHash: stage.hash,
            at: stage.instant
        )
        #expect(own.code == (format == "apple" ? code : nil))
    }

    /// Group 28: the intermediate's end, before and after it was remembered.
    @Test func group28ExpiredIntermediate() async throws {
        var random = SimulatorRandom(seed: 28)
        let start = Date(timeIntervalSince1970: 1_700_000_000)
        let authority = try SimulatedAuthority(random: &random, validity: start...start.addingTimeInterval(86_400))
        let stage = try Stage()
        let verifier = AttestationVerifier(
            apps: [try stage.identity],
            environments: [.production],
            roots: try AttestationRoots(pem: authority.attestationRootPEM),
            receiptRoots: nil
        )
        let object = try authority.attest(stage.request, at: start.addingTimeInterval(3600)).object
        func code(_ offset: TimeInterval) async throws -> String? {
            await verifier.verify(
                object,
                keyId: try stage.attestationKey.keyId,
                clientDataHash: stage.hash,
                at: start.addingTimeInterval(offset)
            ).code
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
        let object = try stage.authority.attest(stage.request, at: stage.instant, fault: .foreignChain).object
        for _ in 0..<3 {
            let verdict = await verifier.verify(
                object,
                keyId: try stage.attestationKey.keyId,
                clientDataHash: stage.hash,
                at: stage.instant
            )
            #expect(verdict.code == "attest.chain.untrusted")
        }
    }

    /// Group 49: a raw challenge is not its hash.
    @Test func group49HashedAndRawAreTwoThings() async throws {
        let stage = try Stage()
        let object = try stage.authority.attest(stage.request, at: stage.instant).object
        let verdict = try await stage.verifier().verify(
            object,
            keyId: try stage.attestationKey.keyId,
            clientDataHash: try ClientDataHash(precomputed: stage.clientData),
            at: stage.instant
        )
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

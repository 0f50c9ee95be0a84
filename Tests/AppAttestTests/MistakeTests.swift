// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import DeviceSimulator
import Foundation
import Testing
import Vocabulary

/// Each usual mistake is made with a simulated device, and named.
@Suite struct MistakeTests {
    private static func sha(_ bytes: some Sequence<UInt8>) -> [UInt8] { Array(SHA256.hash(data: Array(bytes))) }
    private static func hex(_ bytes: [UInt8]) -> [UInt8] {
        Array(bytes.map { String(format: "%02x", $0) }.joined().utf8)
    }
    private static func base64(_ bytes: [UInt8]) -> [UInt8] { Array(Data(bytes).base64EncodedString().utf8) }

    /// What the app passed as clientDataHash, what the server took for the client data, and the mistake.
    private static let cases: [(passed: [UInt8], clientData: [UInt8], mistake: String?)] = {
        let challenge = Array("a challenge of the server".utf8)
        let json = Array(#"{"url":"a/b","n":1.50,"challenge":"Ynl0ZXM="}"#.utf8)
        let capitals = Array(String(decoding: hex(sha(json)), as: UTF8.self).uppercased().utf8)
        return [
            (challenge, challenge, "unhashed"),
            (sha(sha(challenge)), challenge, "hashed-twice"),
            (sha(hex(challenge)), challenge, "hex-hashed"),
            (sha(hex(sha(challenge))), challenge, "hex-hashed"),
            (sha(base64(challenge)), challenge, "base64-text-hashed"),
            (sha(base64(sha(challenge))), challenge, "base64-text-hashed"),
            (sha(challenge), base64(challenge), "base64-text-hashed"),
            (sha(challenge), hex(challenge), "hex-hashed"),
            (
                sha(Array(0..<16) as [UInt8]), Array("00010203-0405-0607-0809-0A0B0C0D0E0F".utf8), "hex-hashed"
            ),
            // The digits of a hash, which the server read as base64.
            (sha(sha(challenge)), Array(Data(base64Encoded: Data(hex(sha(challenge)))) ?? Data()), "hex-hashed"),
            // What was passed for the hash is a text of the hash.
            (hex(sha(challenge)), challenge, "hex-hashed"),
            (base64(sha(challenge)), challenge, "base64-text-hashed"),
            (sha(challenge + [0x0A]), challenge, "other-text"),
            (sha(challenge), challenge + [0x0A], "other-text"),
            (sha([0x22] + challenge + [0x22]), challenge, "other-text"),
            (sha(challenge), [0x22] + challenge + [0x22], "other-text"),
            (sha(#"{"challenge":"a challenge of the server"}"#.utf8), challenge, "other-text"),
            (sha(challenge), Array(#"{"challenge":"a challenge of the server"}"#.utf8), "other-text"),
            (
                sha(challenge), Array(#"{"n":1,"challenge":"YSBjaGFsbGVuZ2Ugb2YgdGhlIHNlcnZlcg==","a":"/"}"#.utf8),
                "other-text"
            ),
            (sha(challenge.flatMap { [$0, 0] }), challenge, "other-text"),
            (sha(challenge.flatMap { [0, $0] }), challenge, "other-text"),
            (sha([0xFE, 0xFF] + challenge.flatMap { [0, $0] }), challenge, "other-text"),
            (sha(json.flatMap { [$0, 0] }), json, "other-text"),
            (sha([]), challenge, "other-text"),
            // A UUID: Swift writes capitals.
            (
                sha("00010203-0405-0607-0809-0A0B0C0D0E0F".utf8),
                Array("00010203-0405-0607-0809-0a0b0c0d0e0f".utf8), "other-text"
            ),
            (sha("000102030405".utf8), Array("00010203-0405".utf8), nil),
            (
                sha("000102030405060708090a0b0c0d0e0f".utf8), Array("00010203-0405-0607-0809-0a0b0c0d0e0f".utf8),
                "other-text"
            ),
            (sha("ABC".utf8), Array("abc".utf8), "other-text"),
            (sha("_-8".utf8), Array("/+8=".utf8), "other-text"), (sha("/+8=".utf8), Array("_-8".utf8), "other-text"),
            (sha("_-8=".utf8), Array("/+8=".utf8), "other-text"), (sha("/+8".utf8), Array("/+8=".utf8), "other-text"),
            // base64url with padding, as Dart and Python write it, and base64 without; and the text for the hash.
            (sha("__8=".utf8), [0xFF, 0xFF], "base64-text-hashed"),
            (sha("//8".utf8), [0xFF, 0xFF], "base64-text-hashed"),
            (base64(challenge), challenge, "unhashed"),
            (sha([0xEF, 0xBB, 0xBF] + challenge), challenge, "other-text"),
            (sha(challenge + [0x0D, 0x0A]), challenge, "other-text"),
            (Array("bytes".utf8), json, "unhashed"), (sha([]), json, "other-text"), (sha(capitals), json, "hex-hashed"),
            // The base64 of a challenge, in quotes, as JavaScript's JSON.stringify writes it.
            (sha([0x22] + base64([0xFF] + challenge) + [0x22]), [0xFF] + challenge, "other-text"),
            (sha("another challenge".utf8), challenge, nil),
        ]
    }()

    @Test(arguments: cases.indices) func ofAnAttestation(_ index: Int) async throws {
        let (passed, clientData, mistake) = Self.cases[index]
        let stage = try Stage()
        let hash = ClientDataHash(hashing: clientData)
        let refusal = try await explained(attested(stage, passed), stage, hash: hash, clientData: clientData)
        #expect(refusal.code == "attest.nonce.mismatch")
        #expect(refusal.mistake?.name == mistake)
        let compared = try #require(refusal.compared.first { $0.name == "clientDataHash" })
        #expect(compared.expected == Data(hash.bytes).base64EncodedString())
        #expect(compared.found == Data(passed).base64EncodedString())
    }

    /// With the hash alone, what follows from it is found all the same.
    @Test func ofAnAttestationWhoseClientDataIsUnknown() async throws {
        let stage = try Stage()
        let challenge = Array("a challenge of the server".utf8)
        for (passed, mistake) in [(challenge, "unhashed"), (Self.sha(Self.sha(challenge)), "hashed-twice")] {
            let hash = ClientDataHash(hashing: challenge)
            let refusal = try await explained(attested(stage, passed), stage, hash: hash)
            #expect(refusal.mistake?.name == mistake)
        }
    }

    /// The right client data hash, and another last byte of the authenticator data.
    @Test func changedAuthenticatorDataAreToldFromAnotherChallenge() async throws {
        let stage = try Stage()
        var object = try stage.object()
        object[object.count - 1] ^= 1
        let refusal = try await explained(object, stage, hash: stage.hash, clientData: stage.clientData)
        #expect(refusal.code == "attest.nonce.mismatch" && refusal.mistake == nil)
        #expect(refusal.reason.contains("the authenticator data are not those that were certified"), "\(refusal)")
    }

    @Test(arguments: cases.indices) func ofAnAssertion(_ index: Int) throws {
        let (passed, clientData, mistake) = Self.cases[index]
        let stage = try Stage()
        let object = try SimulatedAssertion.make(
            key: stage.key, app: stage.app, system: stage.system, counter: 7, clientDataHash: passed)
        #expect(try explained(object, stage, clientData)?.mistake?.name == mistake)
    }

    @Test func jsonThatWasWrittenAnewIsNamed() throws {
        let stage = try Stage()
        let signed = Array(#"{"url":"https:\/\/example.com\/","n":1}"#.utf8)
        let object = try SimulatedAssertion.make(
            key: stage.key, app: stage.app, system: stage.system, counter: 7, clientDataHash: Self.sha(signed))
        for sent in [#"{"url":"https://example.com/","n":1}"#, #"{"url":"https:\/\/example.com\/","n":1}"# + "\n"] {
            #expect(try explained(object, stage, Array(sent.utf8))?.mistake?.name == "json-rewritten")
        }
    }

    /// Servers parse a body and encode it again; encoders differ in white space and in the order of members.
    @Test(arguments: [
        (#"{"b":1,"a":[1,"x, y: z"]}"#, #"{"b": 1, "a": [1, "x, y: z"]}"#),
        (#"{"b": 1, "a": [1, "x, y: z"]}"#, "{\n  \"b\" : 1,\n  \"a\" : [\n    1,\n    \"x, y: z\"\n  ]\n}\n"),
        (#"{"a":{"c":"\"","d":2},"b":1}"#, #"{"b":1,"a":{"d":2,"c":"\""}}"#),
        (#"{"a": {"c": 3, "d": 2}, "b": 1}"#, #"{"b":1,"a":{"d":2,"c":3}}"#),
        // Swift with sorted members, and a server that writes them in another order without escapes.
        (#"{"a":"x\/1","b":1}"#, #"{"b": 1, "a": "x/1"}"#),
        // PHP and Python escape letters.
        (#"{"n":1,"a":"é"}"#, #"{"n": 1, "a": "\u00e9"}"#),
        (#"{"n": 1, "b": "\u00e9/"}"#, #"{"n":1,"b":"é/"}"#), (#"{"n":1,"b":"\u00e9\/"}"#, #"{"n":1,"b":"é/"}"#),
        (#"{"b":"\ud83d\ude00","n":1}"#, #"{"n":1,"b":"😀"}"#),
        (#"{"n":1}"# + "\n", #"{"n":1}"#),
        (#""{\"n\":1}""#, #"{"n":1}"#),
        // What a challenge of base64 and a URL leave out of the usual forms.
        (#"{"challenge": "a+/=", "n": 1, "b": "x/1"}"#, #"{"challenge":"a+/=","n":1,"b":"x/1"}"#),
        ("{\n  \"n\": 1,\n  \"b\": [\n    \"x/1\",\n    {}\n  ]\n}", #"{"n":1,"b":["x/1",{}]}"#),
        ("{\n    \"n\": 1,\n    \"b\": \"{\\\",\"\n}", #"{"n":1,"b":"{\","}"#),
        ("{\n  \"b\" : \"x\\/1\",\n  \"n\" : 1\n}", #"{"n": 1, "b": "x/1"}"#),
        (#"{"n": 12.5, "b": "x/1"}"#, #"{"n":12.50,"b":"x/1"}"#),
        (#"{"challenge":"a+/=","n":1,"b":"x/1"}"# + "\r\n", #"{"challenge":"a+/=","n":1,"b":"x/1"}"#),
        ("\u{FEFF}" + #"{"challenge":"a+/=","n":1,"b":"x/1"}"#, #"{"challenge":"a+/=","n":1,"b":"x/1"}"#),
    ])
    func jsonOfAnotherEncoderIsNamed(_ signed: String, _ sent: String) throws {
        let stage = try Stage()
        let object = try SimulatedAssertion.make(
            key: stage.key, app: stage.app, system: stage.system, counter: 7, clientDataHash: Self.sha(signed.utf8))
        let refusal = try #require(try explained(object, stage, Array(sent.utf8)))
        #expect(refusal.mistake?.name == "json-rewritten")
        #expect(refusal.compared.first?.found == Data(Self.sha(signed.utf8)).base64EncodedString())
        let other = signed.replacingOccurrences(of: "1", with: "7")
        #expect(try explained(object, stage, Array(other.utf8))?.mistake == nil)
    }

    /// What a server hashes that computes the key id by itself.
    @Test func theHashOfAnotherFormOfTheKeyIsNamed() async throws {
        let stage = try Stage()
        let object = try stage.authority.attest(stage.request, at: stage.instant).object
        let key = stage.key.publicKey
        let leaf = try #require(try AttestationObject(decoding: object).certificates.first)
        let forms: [([UInt8], String?)] = [
            (Array(key.derRepresentation), "SPKI"), (Array(key.x963Representation.dropFirst()), "x and y"),
            (Array(key.compressedRepresentation), "compressed"), (Array(leaf), "certificate"), ([1, 2, 3], nil),
            (Self.base64(Self.sha(key.x963Representation)), "the base64 text"),
        ]
        for (bytes, words) in forms {
            let wrong = try #require(KeyIdentifier(bytes: Self.sha(bytes)))
            let verifier = try stage.verifier()
            let verdict = await verifier.verify(object, keyId: wrong, clientDataHash: stage.hash, at: stage.instant)
            let refusal = verifier.explained(try #require(verdict.refusal), of: object, clientDataHash: stage.hash)
            #expect(refusal.code == "attest.key-id.mismatch")
            #expect(refusal.compared.first?.expected == wrong.base64)
            #expect(refusal.compared.first?.found == (try stage.attestationKey.keyId.base64))
            #expect(
                words.map(refusal.reason.contains) ?? refusal.reason.contains("does not match"), "\(refusal.reason)")
        }
    }

    /// Bridges and encoders make a text of bytes: what was no UTF-8 is lost.
    @Test func bytesThatWereATextAreNamed() async throws {
        let stage = try Stage()
        let attestation = try stage.authority.attest(stage.request, at: stage.instant)
        let assertion = try stage.assertion(counter: 1)
        func reason(_ read: () throws -> Void) -> String {
            do {
                try read()
                return "read"
            } catch { return (error as? MalformedInput)?.reason ?? "\(error)" }
        }
        for object in [attestation.object, assertion] {
            let latin = object.flatMap { Array(String(Unicode.Scalar($0)).utf8) }
            for bytes in [Array(String(decoding: object, as: UTF8.self).utf8), latin] {
                #expect(reason { _ = try AttestationObject(decoding: bytes) }.contains("made a text"))
                #expect(reason { _ = try AssertionObject(decoding: bytes) }.contains("made a text"))
            }
        }
        let receipt = Array(String(decoding: attestation.receipt, as: UTF8.self).utf8)
        #expect(reason { _ = try Receipt(decoding: receipt) }.contains("made a text"))
        #expect(!reason { _ = try Receipt(decoding: [0x30, 0x80, 1, 2]) }.contains("made a text"))
    }

    /// An intermediate in front of its leaf is called that, and not a stranger's.
    @Test func reversedCertificatesAreNamed() async throws {
        let stage = try Stage()
        let verdict = try await stage.verdict(stage.object(fault: .swappedCertificates))
        #expect(verdict.refusal?.code == "attest.chain.untrusted")
        #expect(verdict.refusal?.reason.contains("leaf comes first") == true, "\(verdict.refusal?.reason ?? "")")
    }

    /// A root is shown where it is another, and not where something else is wrong below the right one.
    @Test func rootsAreComparedByName() async throws {
        let stage = try Stage()
        let other = try await stage.verdict(by: stage.verifier(rootPEM: stage.authority.receiptRootPEM))
        #expect(other.refusal?.code == "attest.chain.untrusted")
        let compared = try #require(other.refusal?.compared.first)
        #expect(compared.expected?.hasPrefix("CN=SIMULATED Root CA - G3, O=") == true, "\(compared)")
        #expect(compared.found?.hasPrefix("CN=SIMULATED App Attestation Root CA, O=") == true, "\(compared)")
        let below = try await stage.verdict(stage.object(fault: .leafIsAuthority)).refusal
        #expect(
            below?.code == "attest.chain.untrusted" && below?.compared.isEmpty == true, "\(String(describing: below))")
    }

    /// A signer of its own: the nonce taken for the digest, and a signature of 64 bytes.
    @Test func signersOfOnesOwnAreNamed() throws {
        let stage = try Stage()
        let clientData = Array("data".utf8)
        let genuine = try SimulatedAssertion.make(
            key: stage.key, app: stage.app, system: stage.system, counter: 7, clientDataHash: Self.sha(clientData))
        let data = try #require(authenticatorData(genuine))
        let nonce = SHA256.hash(data: data + Self.sha(clientData))
        let single = try stage.key.signature(for: nonce).derRepresentation
        #expect(try explained(assertion(single, data), stage, clientData)?.mistake?.name == "single-hash")
        let raw = try stage.key.signature(for: Data(nonce)).rawRepresentation
        #expect(try explained(assertion(raw, data), stage, clientData)?.mistake?.name == "raw-signature")
        let both = try stage.key.signature(for: nonce).rawRepresentation
        #expect(try explained(assertion(both, data), stage, clientData)?.mistake?.name == "raw-signature")
    }

    /// An assertion has a hash of its App ID alone: the usual other ones are tried.
    @Test(arguments: [
        ("ABCDE12345.com.example.app.Clip", "app-id-suffix", true),
        ("ABCDE12345.com.example.app.a.b", "app-id-suffix", true),
        ("ABCDE12345.com.example.App", "app-id-case", true), ("abcde12345.com.Example.app", "app-id-case", true),
        ("ABCDE12345.ABCDE12345.com.example.app", "app-id-prefix", true),
        ("com.example.app", "app-id-prefix", false), ("ZZZZZ12345.com.example.app", nil, false),
        ("ABCDE12345.com.example.other", nil, false),
    ])
    func theAppThatAnAssertionNamesIsTried(_ expected: String, _ mistake: String?, _ isFound: Bool) throws {
        try theAppIsTried(try Stage(), expected, mistake, isFound)
    }

    @Test func theAppOfAnotherBuildIsTried() throws {
        let stage = try Stage(app: SimulatedApp("ABCDE12345.com.example.app.dev"))
        try theAppIsTried(stage, "ABCDE12345.com.example.app", "app-id-suffix", true)
    }

    private func theAppIsTried(_ stage: Stage, _ expected: String, _ mistake: String?, _ isFound: Bool) throws {
        let object = try stage.assertion(counter: 7)
        let verifier = AssertionVerifier(app: try AppIdentity(expected))
        let verdict = verifier.verify(
            object, publicKey: try stage.attestationKey, clientDataHash: stage.hash, previousCounter: 0)
        #expect(verdict.code == "assert.app-id.mismatch")
        let refusal = verifier.explained(
            try #require(verdict.refusal), of: object, publicKey: try stage.attestationKey, clientDataHash: stage.hash)
        #expect(refusal.mistake?.name == mistake)
        #expect(refusal.compared.first?.found == (isFound ? stage.app.applicationId : nil))
    }

    @Test(arguments: [
        ("ABCDE12345.com.example.app.Clip", "app-id-suffix"), ("ZZZZZ12345.com.example.app", "app-id-prefix"),
        ("com.example.app", "app-id-prefix"), ("ABCDE12345.ABCDE12345.com.example.app", "app-id-prefix"),
        ("ABCDE12345.com.example.App", "app-id-case"), ("ABCDE12345.com.example", "app-id-suffix"),
        ("ABCDE12345.com.example.other", nil),
    ])
    func theAppThatAnObjectNamesIsShown(_ expected: String, _ mistake: String?) async throws {
        let stage = try Stage()
        let refusal = try await explained(
            stage.object(), stage, by: stage.verifier(app: expected), hash: stage.hash)
        #expect(refusal.code == "attest.app-id.mismatch")
        let compared = try #require(refusal.compared.first { $0.name == "appId" })
        #expect(compared.expected == expected)
        #expect(compared.found == stage.app.applicationId)
        #expect(refusal.mistake?.name == mistake)
    }

    /// Every refusal that compares values shows both, for each of the simulator's faults.
    @Test func otherRefusalsShowBothValues() async throws {
        let stage = try Stage()
        let object = try stage.authority.attest(stage.request, at: stage.instant).object
        let other = try #require(KeyIdentifier(bytes: [UInt8](repeating: 1, count: 32)))
        let key = try await stage.verifier().verify(
            object, keyId: other, clientDataHash: stage.hash, at: stage.instant)
        #expect(key.refusal?.compared.first?.expected == other.base64)
        #expect(key.refusal?.compared.first?.found == (try stage.attestationKey.keyId.base64))
        let late = try await stage.verdict(object, at: stage.instant.addingTimeInterval(86_400 * 3650))
        #expect(late.refusal?.compared.first?.found?.hasPrefix("until ") == true)
        let unknown = try await stage.verdict(stage.object(fault: .unknownEnvironment))
        let environment = unknown.refusal?.compared.first
        #expect(environment?.expected == "61707061747465737400000000000000")
        #expect(environment?.found == "61707061747465737400000000000001")
        let bare = try stage.object(fault: .missingNonce)
        #expect(try await stage.verdict(bare).refusal?.compared.first?.expected != nil)
        let counter = try stage.assertionVerdict(try stage.assertion(counter: 6), previous: 6)
        #expect(counter.refusal?.compared.first?.found == "6")
        #expect(counter.refusal?.compared.first?.expected == "more than 6")
    }

    /// An attestation for which the app passed these bytes as clientDataHash.
    private func attested(_ stage: Stage, _ passed: [UInt8]) throws -> [UInt8] {
        let request = SimulatedAttestationRequest(
            publicKey: stage.publicKey, app: stage.app, system: stage.system, clientDataHash: passed)
        return try stage.authority.attest(request, at: stage.instant).object
    }

    private func explained(
        _ object: [UInt8], _ stage: Stage, by verifier: AttestationVerifier? = nil, hash: ClientDataHash,
        clientData: [UInt8]? = nil
    ) async throws -> Refusal {
        let verifier = try verifier ?? stage.verifier()
        let verdict = try await stage.verdict(object, by: verifier, hash: hash)
        return verifier.explained(
            try #require(verdict.refusal), of: object, clientDataHash: hash, clientData: clientData)
    }

    private func explained(_ object: [UInt8], _ stage: Stage, _ clientData: [UInt8]) throws -> Refusal? {
        let verifier = AssertionVerifier(app: try stage.identity)
        let hash = ClientDataHash(hashing: clientData)
        let key = try stage.attestationKey
        let verdict = verifier.verify(object, publicKey: key, clientDataHash: hash, previousCounter: 0)
        #expect(verdict.code == "assert.signature.invalid")
        return verdict.refusal.map {
            verifier.explained($0, of: object, publicKey: key, clientDataHash: hash, clientData: clientData)
        }
    }

    /// The 37 bytes and what follows behind `authenticatorData` in a simulated assertion.
    private func authenticatorData(_ assertion: [UInt8]) -> [UInt8]? {
        try? AssertionObject(decoding: assertion).authenticatorData.bytes.map { $0 }
    }

    private func assertion(_ signature: Data, _ data: [UInt8]) -> [UInt8] {
        func text(_ text: String) -> [UInt8] { [0x60 + UInt8(text.utf8.count)] + Array(text.utf8) }
        func bytes(_ bytes: [UInt8]) -> [UInt8] { [0x58, UInt8(bytes.count)] + bytes }
        return [0xA2] + text("signature") + bytes(Array(signature)) + text("authenticatorData") + bytes(data)
    }
}

extension AttestationVerdict {
    fileprivate var refusal: Refusal? { if case .refused(let refusal) = self { refusal } else { nil } }
}

extension AssertionVerdict {
    fileprivate var refusal: Refusal? { if case .refused(let refusal) = self { refusal } else { nil } }
}

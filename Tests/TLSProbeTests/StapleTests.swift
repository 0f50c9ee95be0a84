// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TLSModel
import TLSProbe
import TestSupport
import Testing

/// OCSP responses made by the `openssl` program, for a leaf with its issuer and root.
struct StapleScene: Sendable {
    let leaf: TestCertification.Identity
    let chain: ChainFacts
    private let certification: TestCertification
    private let issuer: TestCertification.Identity
    private let signers: [String: TestCertification.Identity]

    static let shared: StapleScene? = try? StapleScene()

    private init() throws {
        certification = try TestCertification()
        let certification = certification
        let root = try certification.root()
        let issuer = try certification.issue(
            "issuer", subject: "/CN=Issuer", issuer: root, extensions: TestCertification.authority)
        self.issuer = issuer
        func end(
            _ name: String, _ issuer: TestCertification.Identity, _ more: [String] = [], days: Int = 90
        ) throws
            -> TestCertification.Identity
        {
            try certification.issue(
                name, subject: "/CN=\(name)", issuer: issuer, extensions: ["basicConstraints=CA:FALSE"] + more,
                days: days)
        }
        leaf = try certification.issue(
            "leaf", subject: "/CN=localhost", issuer: issuer, extensions: TestCertification.server)
        let signing = ["extendedKeyUsage=OCSPSigning"]
        signers = [
            "issuer": issuer, "appointed": try end("appointed", issuer, signing), "unfit": try end("unfit", issuer),
            "of the root": try end("of-the-root", root, signing), "leaf": leaf,
            "expiring": try end("expiring", issuer, signing, days: 2),
            "namesake": try certification.issue(
                "namesake", subject: "/CN=Issuer", extensions: TestCertification.authority),
        ]
        let facts = try [leaf, issuer].map { try CertificateFacts(decoding: $0.der) }
        let anchor = AnchorFacts(certificate: try CertificateFacts(decoding: root.der), kind: .installed, store: "test")
        chain = ChainFacts(presented: facts, path: .anchored(facts, anchor))
    }

    /// A response.
    ///
    /// - Parameters:
    ///   - state: what the authority's list says: `V` or `R`, anything else leaves the certificate out.
    ///   - about: whose certificate is asked for.
    func response(
        _ state: String = "R", signer: String = "issuer", about: String = "leaf", hash: String = "sha1",
        options: [String] = ["-ndays", "7"]
    ) throws -> [UInt8] {
        let folder = try TemporaryDirectory()
        let subject = try #require(signers[about])
        let serial = try CertificateFacts(decoding: subject.der).serialNumber
        let line = state == "R" ? "R\t400101000000Z\t260101000000Z,keyCompromise" : "\(state)\t400101000000Z\t"
        try ["V", "R"].contains(state)
            ? "\(line)\t\(serial)\tunknown\t/CN=x\n".write(
                toFile: folder.path("index"), atomically: true, encoding: .utf8)
            : "V\t400101000000Z\t\t7F00FF\tunknown\t/CN=x\n"
                .write(toFile: folder.path("index"), atomically: true, encoding: .utf8)
        let identity = try #require(signers[signer])
        try OpenSSLProgram.run(
            [
                "ocsp", "-index", folder.path("index"), "-CA", issuer.certificatePath, "-issuer",
                issuer.certificatePath,
                "-\(hash)", "-cert", subject.certificatePath, "-rsigner", identity.certificatePath, "-rkey",
                identity.keyPath, "-noverify",
                "-respout", folder.path("response"),
            ] + options
        )
        return Array(try Data(contentsOf: URL(fileURLWithPath: folder.path("response"))))
    }

    func status(_ response: [UInt8], after seconds: TimeInterval = 60, chain other: ChainFacts? = nil) -> StapleStatus?
    {
        let handshake = HandshakeObservation(
            version: .tls13, suite: .aes128GCMSHA256, certificates: [leaf.der], keyPossession: .proven,
            stapledResponse: response)
        return ConnectionFacts(handshake: handshake, chain: other ?? chain, at: Date().addingTimeInterval(seconds))
            .staple
    }
}

@Suite("Stapled OCSP responses") struct StapleTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        var state = "R"
        var signer = "issuer"
        var about = "leaf"
        var options = ["-ndays", "7"]
        var after: TimeInterval = 60
        let word: String
        var testDescription: String { name }
    }

    static let day: TimeInterval = 86_400
    static let cases: [Case] = [
        Case(name: "good", state: "V", word: "good"),
        Case(name: "not in the authority's list", state: "-", word: "unknown"),
        Case(name: "revoked, by the issuer", word: "revoked"),
        Case(name: "named by the hash of its key", options: ["-ndays", "7", "-resp_key_id"], word: "revoked"),
        Case(name: "without a certificate in it", options: ["-ndays", "7", "-resp_no_certs"], word: "revoked"),
        Case(name: "without an end, much later", options: [], after: 40 * day, word: "revoked"),
        Case(name: "by an appointed responder", signer: "appointed", word: "revoked"),
        Case(
            name: "by an appointed responder, by the hash of its key", signer: "appointed",
            options: ["-ndays", "7", "-resp_key_id"], word: "revoked"),
        Case(
            name: "appointed, but its certificate is left out", signer: "appointed",
            options: ["-ndays", "7", "-resp_no_certs"], word: "unusable"),
        Case(name: "by one who is not appointed", signer: "unfit", word: "unusable"),
        Case(name: "by the leaf itself", signer: "leaf", word: "unusable"),
        Case(name: "appointed by the root, not by the issuer", signer: "of the root", word: "unusable"),
        Case(name: "by a stranger with the issuer's name", signer: "namesake", word: "unusable"),
        Case(
            name: "by a responder whose certificate has expired", signer: "expiring", after: 4 * day, word: "unusable"),
        Case(name: "about another certificate", about: "unfit", word: "unusable"),
        Case(name: "out of date", after: 8 * day, word: "unusable"),
        Case(name: "from the future", after: -2 * day, word: "unusable"),
        Case(name: "a broken signature", options: ["-ndays", "7", "-badsig"], word: "unusable"),
        Case(name: "signed with SHA-1", options: ["-ndays", "7", "-rmd", "sha1"], word: "unusable"),
        Case(name: "signed with SHA-512", options: ["-ndays", "7", "-rmd", "sha512"], word: "revoked"),
    ]

    @Test(arguments: cases) func onlyABelievableResponseSpeaks(_ item: Case) throws {
        let scene = try #require(StapleScene.shared)
        let response = try scene.response(item.state, signer: item.signer, about: item.about, options: item.options)
        let status = try #require(scene.status(response, after: item.after))
        #expect(status.word == item.word, "\(status)")
        if case .revoked(let since, let reason) = status {
            #expect(since == Date(timeIntervalSince1970: 1_767_225_600))
            #expect(reason == 1)
        }
    }

    @Test(arguments: ["sha1", "sha256", "sha384", "sha512"]) func theIdentityMayBeOfAnyHash(_ hash: String) throws {
        let scene = try #require(StapleScene.shared)
        #expect(scene.status(try scene.response(hash: hash))?.word == "revoked")
    }

    @Test func onlyATrustedIssuerIsBelieved() throws {
        let scene = try #require(StapleScene.shared)
        let response = try scene.response()
        let unanchored = ChainFacts(presented: scene.chain.presented, path: .unanchored(scene.chain.presented))
        #expect(scene.status(response, chain: unanchored)?.word == "unusable")
        #expect(scene.status(response)?.word == "revoked")
    }

    /// No cut, and no change of a byte, makes a usable response of it or ends the process.
    @Test func cutAndChangedResponsesSayNothing() throws {
        let scene = try #require(StapleScene.shared)
        let response = try scene.response(signer: "appointed")
        #expect(scene.status(response)?.word == "revoked")
        for length in response.indices {
            #expect(scene.status(Array(response.prefix(length)))?.word == "unusable", "cut at \(length)")
        }
        #expect(scene.status(response + [0])?.word == "unusable")
        for index in stride(from: 0, to: response.count, by: 1) {
            var changed = response
            changed[index] ^= 0x20
            let word = scene.status(changed)?.word
            // Only what nobody signed may differ: names of types, an unused certificate, the case of letters in it.
            #expect(word == "unusable" || word == "revoked", "byte \(index): \(word ?? "none")")
        }
    }

    @Test func boundsHold() throws {
        #expect(throws: (any Error).self) { try StapledResponse(decoding: [UInt8](repeating: 0x30, count: 70_000)) }
        #expect(throws: (any Error).self) { try StapledResponse(decoding: []) }
        // tryLater: an error status without a body.
        #expect(throws: (any Error).self) { try StapledResponse(decoding: [0x30, 3, 0x0A, 1, 3]) }
    }

    @Test func serversStapleThemAndTheProberReadsThem() async throws {
        let scene = try #require(StapleScene.shared)
        let folder = try TemporaryDirectory()
        let response = try scene.response()
        try Data(response).write(to: URL(fileURLWithPath: folder.path("staple")))
        for version in ["-tls1_2", "-tls1_3"] {
            let server = try OpenSSLServer(
                [
                    "-cert", scene.leaf.certificatePath, "-key", scene.leaf.keyPath, "-status_file",
                    folder.path("staple"), version,
                ]
            )
            let outcome = try await ProbeFixtures.probe(
                HelloOffer(suites: ProbeFixtures.forwardSecret), port: server.port)
            let observation = try #require(outcome.observation)
            #expect(observation.stapledResponse == response, "\(version)")
            let facts = ConnectionFacts(handshake: observation, chain: scene.chain, at: Date().addingTimeInterval(60))
            #expect(facts.staple?.word == "revoked")
        }
    }
}

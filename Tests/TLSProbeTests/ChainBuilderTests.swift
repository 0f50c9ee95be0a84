// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TLSModel
import TLSProbe
import TestSupport
import Testing
import Vocabulary

@Suite struct ChainBuilderTests {
    /// A root, an intermediate and a leaf, and what else single tests need.
    struct Chain {
        let certification: TestCertification
        let root: TestCertification.Identity
        let intermediate: TestCertification.Identity
        let leaf: TestCertification.Identity

        init(
            rootKey: TestCertification.Key = .curve("prime256v1"), key: TestCertification.Key = .curve("prime256v1"),
            digest: String = "sha256", signing: [String] = [], authority: [String] = TestCertification.authority,
            server: [String] = TestCertification.server
        ) throws {
            certification = try TestCertification()
            root = try certification.root(key: rootKey)
            intermediate = try certification.issue(
                "intermediate", subject: "/CN=Test Intermediate", key: key, issuer: root, extensions: authority)
            leaf = try certification.issue(
                "leaf", subject: "/CN=localhost", issuer: intermediate, extensions: server, digest: digest,
                signing: signing)
        }

        func store(_ kind: AnchorKind = .installed) throws -> TrustAnchors {
            try TrustAnchors(pem: root.der, kind: kind, store: "test")
        }

        func build(_ presented: [[UInt8]]? = nil, fetcher: (any IntermediateFetcher)? = nil) async throws -> ChainFacts
        {
            await ChainBuilder(anchors: try store(), fetcher: fetcher).build(
                presented: presented ?? [leaf.der, intermediate.der])
        }
    }

    static func subjects(_ facts: ChainFacts) -> [String] { facts.judged.map(\.subject) }

    @Test(
        "Whatever order and number, the same path",
        arguments: [[0, 1], [0, 1, 2], [0, 2, 1], [0, 0, 1, 1], [0, 2, 2, 1, 0]])
    func orders(_ order: [Int]) async throws {
        let chain = try Chain()
        let all = [chain.leaf.der, chain.intermediate.der, chain.root.der]
        let facts = try await chain.build(order.map { all[$0] })
        #expect(Self.subjects(facts) == ["CN=localhost", "CN=Test Intermediate"])
        #expect(facts.anchor?.certificate.subject == "CN=Test Root")
        #expect(facts.anchor?.kind == .installed)
        #expect(facts.violations.isEmpty)
    }

    @Test func missingIntermediateLeavesThePathUnanchored() async throws {
        let chain = try Chain()
        let facts = try await chain.build([chain.leaf.der])
        #expect(facts.path == .unanchored([try CertificateFacts(decoding: chain.leaf.der)]))
    }

    struct Shelf: IntermediateFetcher {
        let books: [String: [[UInt8]]]
        func certificates(at address: String, within scope: FetchScope) async -> [[UInt8]] {
            books[address] ?? []
        }
    }

    @Test func missingIntermediateIsFetchedAndReported() async throws {
        let address = "http://ca.test/intermediate.crt"
        let chain = try Chain(server: TestCertification.server + ["authorityInfoAccess=caIssuers;URI:\(address)"])
        let facts = try await chain.build(
            [chain.leaf.der], fetcher: Shelf(books: [address: [chain.root.der, chain.intermediate.der]]))
        #expect(facts.anchor?.certificate.subject == "CN=Test Root")
        #expect(facts.fetched.map(\.address) == [address])
        let none = try await chain.build([chain.leaf.der], fetcher: Shelf(books: [:]))
        #expect(none.anchor == nil && none.fetched.isEmpty)
    }

    @Test func selfSignedLeafIsUnanchoredUnlessInstalled() async throws {
        let chain = try Chain()
        let alone = try chain.certification.issue("alone", subject: "/CN=alone", extensions: TestCertification.server)
        let unknown = try await chain.build([alone.der])
        #expect(unknown.path == .unanchored([try CertificateFacts(decoding: alone.der)]))
        let store = try TrustAnchors(pem: alone.der, kind: .installed, store: "test")
        let known = await ChainBuilder(anchors: store).build(presented: [alone.der])
        #expect(known.anchor?.certificate.subject == "CN=alone" && Self.subjects(known) == ["CN=alone"])
    }

    @Test func unknownRootIsUnanchoredWithTheWholeChain() async throws {
        let chain = try Chain()
        let facts = await ChainBuilder(anchors: TrustAnchors()).build(presented: [
            chain.leaf.der, chain.root.der, chain.intermediate.der,
        ])
        #expect(Self.subjects(facts) == ["CN=localhost", "CN=Test Intermediate", "CN=Test Root"])
        #expect(facts.anchor == nil)
    }

    @Test func brokenSignatureIsNamedByItsPlace() async throws {
        let chain = try Chain()
        var leaf = chain.leaf.der
        leaf[leaf.count - 5] ^= 1
        let facts = try await chain.build([leaf, chain.intermediate.der])
        guard case .badSignature(let path, let index) = facts.path else {
            Issue.record("\(facts.path)")
            return
        }
        #expect(index == 0 && path.map(\.subject) == ["CN=localhost"])
    }

    @Test func crossSignedIntermediateFindsTheRootThatIsKnown() async throws {
        let chain = try Chain()
        let other = try chain.certification.root("other", subject: "/CN=Other Root")
        let cross = try chain.certification.issue(
            "cross", subject: "/CN=Test Intermediate", issuer: other, extensions: TestCertification.authority,
            keyFrom: chain.intermediate)
        for presented in [
            [chain.leaf.der, cross.der, chain.intermediate.der], [chain.leaf.der, chain.intermediate.der, cross.der],
        ] {
            let facts = try await chain.build(presented)
            #expect(facts.anchor?.certificate.subject == "CN=Test Root")
        }
    }

    struct Checked: Sendable, CustomTestStringConvertible {
        let key: TestCertification.Key
        let digest: String
        var signing: [String] = []
        let verifies: Bool
        var testDescription: String { "\(key) \(digest) \(signing)" }
    }

    static let pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"]
    static let checked = [
        Checked(key: .rsa(2048), digest: "sha256", verifies: true),
        Checked(key: .rsa(2048), digest: "sha1", verifies: true),
        Checked(key: .rsa(2048), digest: "sha384", verifies: true),
        Checked(key: .rsa(2048), digest: "sha512", verifies: true),
        Checked(key: .rsa(2048), digest: "md5", verifies: false),
        Checked(key: .rsa(2048), digest: "sha224", verifies: false),
        Checked(key: .rsa(1024), digest: "sha256", verifies: true),
        Checked(key: .rsa(1024), digest: "md5", verifies: false),
        Checked(key: .rsa(768), digest: "sha256", verifies: false),
        Checked(key: .rsa(2048), digest: "sha256", signing: pss, verifies: true),
        Checked(key: .rsa(2048), digest: "sha512", signing: pss, verifies: true),
        Checked(
            key: .rsa(2048), digest: "sha256",
            signing: ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:20"], verifies: false),
        Checked(key: .curve("secp384r1"), digest: "sha256", verifies: true),
        Checked(key: .curve("secp521r1"), digest: "sha512", verifies: true),
        Checked(key: .curve("prime256v1"), digest: "sha1", verifies: true),
        Checked(key: .curve("secp224r1"), digest: "sha256", verifies: false),
        Checked(key: .curve("prime256v1"), digest: "sha224", verifies: false),
    ]

    @Test("Signatures are checked, or said to be beyond checking, and never guessed", arguments: checked)
    func signatures(_ checked: Checked) async throws {
        let chain = try Chain(key: checked.key, digest: checked.digest, signing: checked.signing)
        let facts = try await chain.build()
        switch facts.path {
        case .anchored: #expect(checked.verifies)
        case .unverifiable(_, let anchor, let index, let reason):
            #expect(!checked.verifies && anchor != nil && index == 0 && !reason.isEmpty)
        default: Issue.record("\(facts.path)")
        }
    }

    struct Broken: Sendable, CustomTestStringConvertible {
        let authority: [String]
        var server = TestCertification.server
        let says: String
        var testDescription: String { says }
    }

    @Test(
        "RFC 5280 violations are sentences",
        arguments: [
            Broken(authority: ["basicConstraints=CA:FALSE"], says: "not a CA"),
            Broken(authority: ["subjectKeyIdentifier=hash"], says: "not a CA"),
            Broken(authority: ["basicConstraints=CA:TRUE", "keyUsage=digitalSignature"], says: "keyCertSign"),
            Broken(
                authority: TestCertification.authority + ["nameConstraints=critical,permitted;DNS:elsewhere.example"],
                says: "do not permit the name localhost"),
            Broken(authority: TestCertification.authority + ["1.2.3.4=critical,ASN1:NULL"], says: "1.2.3.4"),
            Broken(
                authority: TestCertification.authority,
                server: TestCertification.server + ["1.2.3.5=critical,ASN1:NULL"], says: "1.2.3.5"),
        ]
    )
    func violations(_ broken: Broken) async throws {
        let chain = try Chain(authority: broken.authority, server: broken.server)
        let facts = try await chain.build()
        #expect(facts.anchor != nil)
        #expect(
            facts.violations.count == 1 && facts.violations.first?.sentence.contains(broken.says) == true,
            "\(facts.violations)")
    }

    @Test func pathLengthIsCounted() async throws {
        let chain = try Chain(authority: ["basicConstraints=critical,CA:TRUE,pathlen:0", "keyUsage=keyCertSign"])
        let second = try chain.certification.issue(
            "second", subject: "/CN=Second", issuer: chain.intermediate, extensions: TestCertification.authority)
        let leaf = try chain.certification.issue(
            "deep", subject: "/CN=deep", issuer: second, extensions: TestCertification.server)
        let facts = try await chain.build([leaf.der, second.der, chain.intermediate.der])
        #expect(facts.violations.first?.sentence.contains("allows 0 intermediates") == true)
    }

    @Test func allowedNameConstraintsAreNoViolation() async throws {
        let chain = try Chain(
            authority: TestCertification.authority + [
                "nameConstraints=critical,permitted;DNS:localhost,permitted;IP:127.0.0.0/255.0.0.0"
            ]
        )
        #expect(try await chain.build().violations == [])
    }

    @Test func loopsAndCrowdsEndWithinTheBudget() async throws {
        let certification = try TestCertification()
        let first = try certification.root("first", subject: "/CN=A")
        // Many certificates of one name and one key, each of which could have issued each other.
        var crowd: [[UInt8]] = []
        for index in 0..<12 {
            crowd.append(
                try certification.issue(
                    "crowd\(index)", subject: "/CN=A", issuer: first, extensions: TestCertification.authority,
                    keyFrom: first
                ).der)
        }
        let leaf = try certification.issue("leaf", subject: "/CN=leaf", issuer: first)
        let facts = await ChainBuilder(anchors: TrustAnchors()).build(presented: [leaf.der] + crowd)
        #expect(facts.anchor == nil && facts.judged.count <= 11)
    }

    @Test func unreadableCertificatesAreCounted() async throws {
        let chain = try Chain()
        let facts = try await chain.build([chain.leaf.der, [1, 2, 3], chain.intermediate.der])
        #expect(facts.unparsed == 1 && facts.anchor != nil)
        let none = try await chain.build([[0x30, 0]])
        #expect(none.unparsed == 1 && none.path == .unanchored([]))
    }

    @Test func bundlesOfEveryFormAreOpened() throws {
        let chain = try Chain()
        let pem = Array(try Data(contentsOf: URL(fileURLWithPath: chain.intermediate.certificatePath)))
        let bundle = chain.certification.directory.path("bundle.p7c")
        try OpenSSLProgram.run([
            "crl2pkcs7", "-nocrl", "-certfile", chain.intermediate.certificatePath, "-outform", "DER", "-out", bundle,
        ])
        let pkcs7 = Array(try Data(contentsOf: URL(fileURLWithPath: bundle)))
        for body in [chain.intermediate.der, pem, pkcs7] {
            #expect(CertificateBundle.certificates(in: body) == [chain.intermediate.der])
        }
        for cut in pkcs7.indices { #expect(CertificateBundle.certificates(in: Array(pkcs7[..<cut])).isEmpty) }
    }

    @Test func storesSayWhatIsWrong() throws {
        #expect(throws: MalformedInput(code: "malformed.trust-store", reason: "")) {
            _ = try TrustAnchors.system(path: "/nonexistent/roots.pem")
        }
        #expect(throws: MalformedInput(code: "malformed.trust-store", reason: "")) {
            _ = try TrustAnchors(pem: Array("no certificate".utf8), kind: .installed, store: "text")
        }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TLSModel
import TestSupport
import Testing

@testable import TLSProbe

/// The rules of RFC 5280 for paths, and what is remembered of signatures.
struct PathRulesTests {
    struct Row: Sendable, CustomStringConvertible {
        let description: String
        let root: [String]
        let intermediate: [String]?
        let says: String?
    }

    static let authority = TestCertification.authority
    static let rows: [Row] = [
        Row(description: "all in order", root: authority, intermediate: authority, says: nil),
        Row(description: "no intermediate", root: authority, intermediate: nil, says: nil),
        Row(description: "a root of version 1", root: [], intermediate: authority, says: nil),
        Row(
            description: "a root that is no authority", root: ["basicConstraints=CA:FALSE"], intermediate: authority,
            says: "is a root but not a CA"),
        Row(
            description: "a root of version 3 without basicConstraints", root: ["subjectKeyIdentifier=hash"],
            intermediate: nil, says: "is a root but not a CA"),
        Row(
            description: "a root that allows no intermediate", root: ["basicConstraints=critical,CA:TRUE,pathlen:0"],
            intermediate: authority, says: "allows 0 intermediates below it, but there are 1"),
        Row(
            description: "a root that allows none, and there is none",
            root: ["basicConstraints=critical,CA:TRUE,pathlen:0"], intermediate: nil, says: nil),
        Row(
            description: "an intermediate that is no authority", root: authority,
            intermediate: ["basicConstraints=CA:FALSE"], says: "issued a certificate but is not a CA"),
    ]

    @Test(arguments: rows)
    func rules(_ row: Row) async throws {
        let certification = try TestCertification()
        let root = try certification.issue("root", subject: "/CN=Root", extensions: row.root)
        let intermediate = try row.intermediate.map {
            try certification.issue("intermediate", subject: "/CN=Middle", issuer: root, extensions: $0)
        }
        let leaf = try certification.issue(
            "leaf", subject: "/CN=localhost", issuer: intermediate ?? root, extensions: TestCertification.server)
        let path = try ([leaf] + (intermediate.map { [$0] } ?? [])).map { try CertificateFacts(decoding: $0.der) }
        let facts = try CertificateFacts(decoding: root.der)
        #expect(facts.version == (row.root.isEmpty ? 1 : 3) && facts.hasExtensions != row.root.isEmpty)
        let anchor = AnchorFacts(certificate: facts, kind: .installed, store: "test")
        let found = await Self.violations(path, anchor)
        #expect(found.first?.sentence.contains(row.says ?? "") ?? (row.says == nil), "\(found)")
        #expect(found.count <= 1)
    }

    static func violations(_ path: [CertificateFacts], _ anchor: AnchorFacts) async -> [PathViolation] {
        guard let store = try? TrustAnchors(pem: anchor.certificate.der, kind: anchor.kind, store: anchor.store) else {
            return [PathViolation("no store")]
        }
        return await ChainBuilder(anchors: store).build(presented: path.map(\.der)).violations
    }

    @Test(
        "No root of the system's store breaks a rule for roots",
        .enabled(if: FileManager.default.isReadableFile(atPath: TrustAnchors.systemPath), "the system has no roots"))
    func systemRoots() throws {
        let anchors = try TrustAnchors.system()
        #expect(anchors.anchors.count > 50)
        for anchor in anchors.anchors {
            let root = try CertificateFacts(decoding: anchor.der)
            #expect(PathRules.own(root, root.subject).isEmpty && PathRules.asRoot(root, root.subject, above: 0).isEmpty)
            if case .rsa(let bits) = root.publicKey.kind { #expect(bits >= 2048, "\(root.subject)") }
        }
    }

    /// The openssl program writes no such certificate; a leaf of version 3 is turned into one by leaving its version out.
    @Test func versionOneHasNoExtensions() async throws {
        let certification = try TestCertification()
        let root = try certification.root()
        let leaf = try certification.issue(
            "leaf", subject: "/CN=localhost", issuer: root, extensions: TestCertification.server)
        var der = leaf.der
        let version: [UInt8] = [0xA0, 3, 2, 1, 2]
        let place = try #require(der.indices.dropLast(5).first { der[$0..<$0 + 5].elementsEqual(version) && $0 < 12 })
        der[place + 4] = 0
        let facts = try CertificateFacts(decoding: der)
        #expect(facts.version == 1)
        let own = PathRules.own(facts, "It")
        #expect(own.map(\.sentence) == ["It is of version 1 but has extensions"])
    }

    @Test("Verdicts on intermediates are kept for the certificate and the key together")
    func signaturesAreKept() throws {
        let certification = try TestCertification()
        let root = try certification.root()
        let stranger = try certification.root("stranger", subject: "/CN=Stranger")
        let below = try certification.issue("below", subject: "/CN=Below", issuer: root, extensions: Self.authority)
        let (certificate, key, other) = (
            try CertificateFacts(decoding: below.der), try CertificateFacts(decoding: root.der).publicKey,
            try CertificateFacts(decoding: stranger.der).publicKey
        )
        let anchors = TrustAnchors()
        for _ in 0..<3 {
            #expect(anchors.signature(of: certificate, under: key) == .valid)
            #expect(anchors.signature(of: certificate, under: other) == .invalid)
        }
        #expect(anchors.signature(of: try CertificateFacts(decoding: stranger.der), under: other) == .valid)
    }
}

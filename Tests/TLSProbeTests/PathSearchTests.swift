// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TLSModel
import TestSupport
import Testing

@testable import TLSProbe

/// The one good path is found among many, and looking for it has a bound.
struct PathSearchTests {
    /// Authorities by name, each with one key; certificates say who vouches for whom.
    struct Web {
        let certification: TestCertification
        var authorities: [String: TestCertification.Identity] = [:]
        private var number = 0

        init(_ names: [String]) throws {
            certification = try TestCertification()
            for name in names {
                authorities[name] = try certification.issue(
                    name, subject: "/CN=\(name)", extensions: TestCertification.authority)
            }
        }

        /// A certificate for `subject` from `issuer`; good unless extensions or a digest say otherwise.
        mutating func cross(
            _ subject: String, by issuer: String, _ extensions: [String] = TestCertification.authority,
            digest: String = "sha256"
        ) throws -> [UInt8] {
            number += 1
            return try certification.issue(
                "cross\(number)", subject: "/CN=\(subject)", issuer: authorities[issuer], extensions: extensions,
                digest: digest, keyFrom: authorities[subject]
            ).der
        }

        func leaf(by issuer: String) throws -> [UInt8] {
            try certification.issue(
                "leaf", subject: "/CN=localhost", issuer: authorities[issuer], extensions: TestCertification.server
            ).der
        }

        func store(_ name: String, kind: AnchorKind = .installed) throws -> TrustAnchors {
            try TrustAnchors(pem: try #require(authorities[name]).der, kind: kind, store: "test")
        }
    }

    static func subjects(_ facts: ChainFacts) -> [String] {
        facts.judged.map(\.subject) + [facts.anchor?.certificate.subject ?? "-"]
    }

    /// Seven authorities vouch for each other in every direction; of 42 certificates every one towards the root but one is bad.
    @Test("The good path is found among 36 and more certificates in any order")
    func crowd() async throws {
        let names = ["A", "B", "C", "D", "E", "F", "Root"]
        var web = try Web(names)
        var presented: [[UInt8]] = []
        for subject in names {
            for issuer in names where subject != issuer {
                let isGood = issuer != "Root" || subject == "C"
                presented.append(
                    try web.cross(
                        subject, by: issuer,
                        isGood ? TestCertification.authority : ["basicConstraints=critical,CA:FALSE"]))
            }
        }
        #expect(presented.count == 42)
        let (builder, leaf) = (ChainBuilder(anchors: try web.store("Root")), try web.leaf(by: "A"))
        for seed in UInt64(1)...3 {
            var generator = SplitMix(state: seed)
            let facts = await builder.build(presented: [leaf] + presented.shuffled(using: &generator))
            #expect(facts.violations.isEmpty)
            let path = Self.subjects(facts)
            #expect(
                path.first == "CN=localhost" && path.suffix(2) == ["CN=C", "CN=Root"] && path.contains("CN=A"),
                "\(path)")
        }
    }

    struct Choice: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bad: [String]
        var digest = "sha256"
    }

    @Test(
        "Of two certificates of one authority the sound one is taken, whichever comes first",
        arguments: [
            Choice(testDescription: "SHA-1", bad: TestCertification.authority, digest: "sha1"),
            Choice(testDescription: "no authority", bad: ["basicConstraints=critical,CA:FALSE"]),
            Choice(testDescription: "no basicConstraints", bad: ["subjectKeyIdentifier=hash"]),
            Choice(testDescription: "path length", bad: ["basicConstraints=critical,CA:TRUE,pathlen:0"]),
            Choice(
                testDescription: "unknown critical", bad: TestCertification.authority + ["1.2.3.4=critical,ASN1:NULL"]),
            Choice(
                testDescription: "name constraints",
                bad: TestCertification.authority + ["nameConstraints=critical,excluded;DNS:localhost"]),
            Choice(testDescription: "purpose", bad: TestCertification.authority + ["extendedKeyUsage=emailProtection"]),
        ]
    )
    func choices(_ choice: Choice) async throws {
        var web = try Web(["Low", "High", "Root"])
        let low = try web.cross("Low", by: "High")
        let bad = try web.cross("High", by: "Root", choice.bad, digest: choice.digest)
        let good = try web.cross("High", by: "Root")
        let leaf = try web.leaf(by: "Low")
        let builder = ChainBuilder(anchors: try web.store("Root"))
        for presented in [[bad, low, good], [good, bad, low]] {
            let facts = await builder.build(presented: [leaf] + presented)
            #expect(facts.violations.isEmpty && facts.judged.contains { $0.der == good }, "\(facts.violations)")
        }
        // Alone it is still the path that is reported.
        let alone = await builder.build(presented: [leaf, bad, low])
        #expect(Self.subjects(alone) == ["CN=localhost", "CN=Low", "CN=High", "CN=Root"])
    }

    @Test("A crowd of authorities of one name, each with a key of its own, ends within the bounds")
    func bounds() async throws {
        let certification = try TestCertification()
        var crowd: [[UInt8]] = []
        for index in 0..<20 {
            let identity = try certification.issue(
                "crowd\(index)", subject: "/CN=Crowd", extensions: ["basicConstraints=critical,CA:TRUE"])
            crowd.append(identity.der)
        }
        let last = try certification.issue("last", subject: "/CN=Crowd", extensions: TestCertification.authority)
        let leaf = try certification.issue("leaf", subject: "/CN=leaf", issuer: last)
        var builder = ChainBuilder(anchors: TrustAnchors())
        builder.limits.signatureChecks = 8
        let facts = await builder.build(presented: [leaf.der] + crowd)
        #expect(facts.anchor == nil)
        guard case .badSignature = facts.path else {
            Issue.record("\(facts.path)")
            return
        }
    }
}

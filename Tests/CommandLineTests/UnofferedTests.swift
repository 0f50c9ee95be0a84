// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Servers that agree on keys, or sign, with nothing that the system offers: each gets the cause that it has, and a fix that helps.
@Suite struct UnofferedTests {
    static let host = "rare.example"

    struct Kind: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// How `openssl genpkey` makes the key.
        var key = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
        /// Of `openssl s_server`; for Node, members of the object of `https.createServer`.
        var options: [String] = []
        var node: String?
        var os = "macos26"
        /// Nil where the server passes.
        let cause: String?
        var says: [String] = []
        var fix = ""
        var facts: [String: String] = [:]
    }

    private static let groupFix = "enable X25519 or P-256 on the server"
    private static let keyFix = "get a certificate with a plain RSA key of at least 2048 bits or a P-256 key"
    private static let settingFix = "let the server sign the handshake with SHA-256 or SHA-384"

    private static func group(_ name: String, _ options: [String], os: String = "macos26") -> Kind {
        Kind(
            testDescription: "\(name) alone, \(options.joined(separator: " ")), \(os)",
            options: ["-groups", name.hasPrefix("x") ? name.uppercased() : name] + options, os: os,
            cause: "ats.tls.no-common-group", says: ["exchanges keys only with \(name)"], fix: groupFix,
            facts: ["group": name])
    }

    private static func node(_ name: String, _ more: String = "", os: String = "macos26") -> Kind {
        Kind(
            testDescription: "\(name) alone, Node, \(os)", node: "ecdhCurve: '\(name)'\(more)", os: os,
            cause: "ats.tls.no-common-group", says: ["exchanges keys only with \(name)"], fix: groupFix,
            facts: ["group": name])
    }

    private static func signer(_ name: String, _ key: [String], _ says: [String], os: String = "macos26") -> Kind {
        Kind(
            testDescription: "\(name), \(os)", key: key, os: os, cause: "ats.tls.no-common-signature", says: says,
            fix: keyFix)
    }

    /// Servers of Debian's OpenSSL.
    static let kinds: [Kind] = [
        // A server that could do with RSA up to TLS 1.2 fails for the group, not for the suite.
        group("x448", []), group("x448", ["-tls1_3"]), group("x448", ["-tls1_3"], os: "ios18"),
        group("ffdhe2048", []), group("ffdhe3072", ["-tls1_3"]),
        // iOS 9 offers this scheme, and the library that loads does not have it.
        Kind(
            testDescription: "a P-256 key that signs with SHA-1 alone, ios9",
            key: ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
            options: ["-tls1_2", "-sigalgs", "ECDSA+SHA1", "-cipher", "ALL@SECLEVEL=0"], os: "ios9", cause: nil),
        Kind(testDescription: "P-521 alone", options: ["-groups", "P-521"], cause: nil, facts: ["group": "secp521r1"]),
        signer("Ed25519", ["-algorithm", "ED25519"], ["an Ed25519 key", "signs only with ed25519"]),
        signer("Ed25519", ["-algorithm", "ED25519"], ["an Ed25519 key", "signs only with ed25519"], os: "ios18"),
        signer("Ed448", ["-algorithm", "ED448"], ["an Ed448 key", "signs only with ed448"]),
        signer(
            "P-521", ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"],
            ["the elliptic curve P-521", "signs only with ecdsa_secp521r1_sha512"]),
        signer(
            "RSASSA-PSS", ["-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048"],
            ["marked for RSASSA-PSS only", "signs only with rsa_pss_pss_sha256"]),
        Kind(
            testDescription: "brainpool", key: ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:brainpoolP256r1"],
            cause: "ats.trust.weak-key", says: ["brainpoolP256r1", "offers P-256, P-384 and P-521"],
            fix: "get a certificate with an RSA key of at least 2048 bits or a P-256 key"),
        Kind(
            testDescription: "a P-256 key that signs with SHA-512 alone",
            key: ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
            options: ["-tls1_2", "-sigalgs", "ECDSA+SHA512"], cause: "ats.tls.no-common-signature",
            says: ["signs only with ecdsa_secp521r1_sha512"], fix: settingFix),
        Kind(
            testDescription: "a P-256 key that signs with SHA-1 alone",
            key: ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
            options: ["-tls1_2", "-sigalgs", "ECDSA+SHA1", "-cipher", "ALL@SECLEVEL=0"],
            cause: "ats.tls.no-common-signature", says: ["signs only with ecdsa_sha1"], fix: settingFix),
    ]

    /// Servers of OpenSSL 3.5, whose preferred group an older system does not offer; that hides no other reason.
    static let newer: [Kind] = [
        node("SecP256r1MLKEM768"), node("SecP256r1MLKEM768", ", minVersion: 'TLSv1.3'"),
        node("SecP384r1MLKEM1024"), node("MLKEM1024"), node("MLKEM768", os: "ios18"),
        node("X25519MLKEM768", os: "ios18"),
        Kind(
            testDescription: "Ed25519 behind X25519MLKEM768", key: ["-algorithm", "ED25519"],
            node: "minVersion: 'TLSv1.3'", os: "ios18", cause: "ats.tls.no-common-signature",
            says: ["signs only with ed25519"], fix: keyFix),
        Kind(
            testDescription: "RSASSA-PSS in TLS 1.3 alone",
            key: ["-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048"], node: "minVersion: 'TLSv1.3'",
            cause: "ats.tls.no-common-signature", says: ["signs only with rsa_pss_pss_sha256"], fix: keyFix),
    ]

    private struct Document: Decodable {
        struct Target: Decodable {
            struct Test: Decodable {
                struct Because: Decodable {
                    let code: String
                    let message: String
                    let fix: String?
                }
                let result: String
                let because: [Because]
            }
            struct Facts: Decodable { let group: String? }
            let tests: [Test]
            let facts: Facts?
        }
        let targets: [Target]
    }

    private func check(_ kind: Kind) throws {
        let certification = try TestCertification()
        let root = try certification.root()
        let (key, request, extensions, certificate) = (
            certification.directory.path("key"), certification.directory.path("request"),
            certification.directory.path("extensions"), certification.directory.path("certificate")
        )
        try OpenSSLProgram.run(["genpkey", "-out", key] + kind.key)
        try OpenSSLProgram.run(["req", "-new", "-key", key, "-subj", "/CN=\(Self.host)", "-out", request])
        try "subjectAltName=DNS:\(Self.host)\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n"
            .write(toFile: extensions, atomically: true, encoding: .utf8)
        try OpenSSLProgram.run(
            [
                "x509", "-req", "-in", request, "-days", "90", "-sha256", "-out", certificate, "-extfile", extensions,
                "-set_serial", "7", "-CA", root.certificatePath, "-CAkey", root.keyPath,
            ]
        )
        let node = try kind.node.map { try NodeServer(certificate: certificate, key: key, options: $0) }
        let server = try node == nil ? OpenSSLServer(["-cert", certificate, "-key", key] + kind.options) : nil
        let port = node?.port ?? server?.port ?? 0
        let run = try ProgramRun(
            [
                "ats", "check", "https://\(Self.host):\(port)/", "--os", kind.os, "--ca-file", root.certificatePath,
                "--resolve", "\(Self.host):\(port):127.0.0.1", "--format", "json",
            ]
        )
        let target = try #require(try JSONDecoder().decode(Document.self, from: run.data).targets.first)
        let first = try #require(target.tests.first)
        #expect(run.status == (kind.cause == nil ? 0 : 1), "\(run.errors)")
        #expect(first.because.first?.code == kind.cause)
        let message = first.because.first?.message ?? ""
        for words in kind.says { #expect(message.contains(words), "\(message)") }
        if !kind.fix.isEmpty { #expect(first.because.first?.fix?.hasPrefix(kind.fix) == true, "\(first.because)") }
        if let group = kind.facts["group"] { #expect(target.facts?.group == group) }
        if kind.fix == Self.keyFix {
            // The key says so before a server has it; one of P-521 loads from a server that ends at TLS 1.2.
            let answer = try ProgramRun([
                "ats", "certificate", certificate, "--host", Self.host, "--os", kind.os, "--ca-file",
                root.certificatePath,
            ])
            #expect(answer.status == (kind.key.contains { $0.contains("P-521") } ? 2 : 1), "\(answer.output)")
            #expect(answer.output.contains("\(kind.cause ?? ""): "), "\(answer.output)")
        }
        // No row may name another reason: what is not offered is offered under no dictionary.
        if let cause = kind.cause {
            let others = target.tests.flatMap { $0.because.prefix(1) }.map(\.code)
                .filter { $0 != cause && $0 != "ats.tls.version-too-low" }
            #expect(others == [] && target.tests.allSatisfy { $0.result == "FAIL" })
        }
    }

    @Test("What the server has alone is named, with the fix for it", arguments: kinds)
    func openSSL(_ kind: Kind) throws { try check(kind) }

    @Test(
        "Post-quantum groups that no system offers", .enabled(if: NodeServer.program != nil, "\(NodeServer.need)"),
        arguments: newer)
    func node(_ kind: Kind) throws { try check(kind) }
}

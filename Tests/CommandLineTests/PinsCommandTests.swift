// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward ats pins`: what it writes passes in lint and check, and it writes nothing that locks apps out.
@Suite struct PinsCommandTests {
    /// A public key that no server has, as a file.
    static func spare(_ chain: CertificateCommandTests.Chain) throws -> String {
        let key = chain.certification.directory.path("spare.key")
        let file = chain.certification.directory.path("spare.pem")
        try OpenSSLProgram.run(["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key])
        try OpenSSLProgram.run(["pkey", "-in", key, "-pubout", "-out", file])
        return file
    }

    static func hash(ofCertificate path: String, _ chain: CertificateCommandTests.Chain) throws -> String {
        let pem = try OpenSSLProgram.run(["x509", "-in", path, "-noout", "-pubkey"])
        let der = chain.certification.directory.path(UUID().uuidString + ".der")
        let digest = chain.certification.directory.path(UUID().uuidString + ".sha")
        try OpenSSLProgram.run(["pkey", "-pubin", "-pubout", "-outform", "DER", "-out", der], input: pem)
        try OpenSSLProgram.run(["dgst", "-sha256", "-binary", "-out", digest, der])
        return try Data(contentsOf: URL(fileURLWithPath: digest)).base64EncodedString()
    }

    static func entry(_ output: String, _ host: String) throws -> [String: Any] {
        let list = try PropertyListSerialization.propertyList(from: Data(output.utf8), format: nil) as? [String: Any]
        let pins = (list?["NSAppTransportSecurity"] as? [String: Any])?["NSPinnedDomains"] as? [String: Any]
        return try #require(pins?[host] as? [String: Any])
    }

    static func values(_ list: Any?) -> [String] {
        (list as? [[String: String]] ?? []).compactMap { $0["SPKI-SHA256-BASE64"] }
    }

    static let server = [
        "basicConstraints=CA:FALSE", "subjectAltName=DNS:api.example.com,DNS:*.example.com",
        "extendedKeyUsage=serverAuth",
    ]

    @Test("Pins are the leaf's, the spare key's and those of the authorities, as openssl computes them")
    func pinsOfAFile() throws {
        let chain = try CertificateCommandTests.Chain(server: Self.server)
        let spare = try Self.spare(chain)
        let file = chain.certification.directory.path("Info.plist")
        let run = try ProgramRun([
            "ats", "pins", chain.chain, "--spare", spare, "--ca-file", chain.root.certificatePath, "--output", file,
        ])
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.errors.contains("PASS"))
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let entry = try Self.entry(text, "api.example.com")
        let leaves = Self.values(entry["NSPinnedLeafIdentities"])
        #expect(leaves.count == 2)
        #expect(leaves.first == (try Self.hash(ofCertificate: chain.chain, chain)))
        let authorities = Self.values(entry["NSPinnedCAIdentities"])
        let intermediate = chain.certification.directory.path("intermediate.pem")
        #expect(authorities.first == (try Self.hash(ofCertificate: intermediate, chain)))
        #expect(authorities.contains(try Self.hash(ofCertificate: chain.root.certificatePath, chain)))
        #expect(entry["NSIncludesSubdomains"] == nil)
        #expect(try Self.entry(text, "example.com")["NSIncludesSubdomains"] as? Bool == true)
        #expect(try ProgramRun(["ats", "lint", file]).status == 0)
    }

    @Test("What a certificate calls a name is pinned only if it is one")
    func namesAreHosts() throws {
        let names = [
            "api.example.com", "a.example.com/</key><true/>", "user@b.example.com", "c.example.com:80",
            "d.example.com?x", "*.*.example.com",
        ]
        let chain = try CertificateCommandTests.Chain(server: [
            "basicConstraints=CA:FALSE", "subjectAltName=" + names.map { "DNS:" + $0 }.joined(separator: ","),
            "extendedKeyUsage=serverAuth",
        ])
        let run = try ProgramRun([
            "ats", "pins", chain.chain, "--spare", try Self.spare(chain), "--ca-file", chain.root.certificatePath,
        ])
        #expect(run.status == 0, "\(run.errors)")
        let list =
            try PropertyListSerialization.propertyList(from: Data(run.output.utf8), format: nil) as? [String: Any]
        let pins = (list?["NSAppTransportSecurity"] as? [String: Any])?["NSPinnedDomains"] as? [String: Any]
        #expect(pins?.keys.sorted() == ["api.example.com"])
    }

    @Test("Without a spare key the leaf is not pinned, and one key alone is never written")
    func noLoneKey() throws {
        let chain = try CertificateCommandTests.Chain(server: Self.server)
        let run = try ProgramRun(["ats", "pins", chain.chain, "--ca-file", chain.root.certificatePath])
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.errors.contains("--spare"))
        let entry = try Self.entry(run.output, "api.example.com")
        #expect(entry["NSPinnedLeafIdentities"] == nil)
        #expect(Self.values(entry["NSPinnedCAIdentities"]).count == 2)

        let alone = chain.certification.directory.path("leaf.pem")
        let lone = try ProgramRun(["ats", "pins", alone, "--ca-file", chain.root.certificatePath])
        #expect(lone.status == 2)
        #expect(lone.output.isEmpty)
        #expect(lone.errors.contains("--spare"))
        let same = try ProgramRun([
            "ats", "pins", chain.chain, "--spare", alone, "--ca-file", chain.root.certificatePath,
        ])
        #expect(same.status == 2)
        let secret = try ProgramRun([
            "ats", "pins", chain.chain, "--spare", chain.leafKey, "--ca-file", chain.root.certificatePath,
        ])
        #expect(secret.status == 2)
        #expect(secret.errors.contains("-pubout"))
    }

    @Test("A chain that fails without pins fails with them: the pins are written, and status 1 says that no app loads")
    func failsAsBefore() throws {
        let chain = try CertificateCommandTests.Chain(server: Self.server)
        let run = try ProgramRun(["ats", "pins", chain.chain, "--spare", try Self.spare(chain)])
        #expect(run.status == 1)
        #expect(run.errors.contains("ats.trust.unknown-root"))
    }

    @Test(
        "What it writes for a server passes in check",
        .enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"))
    func pinsOfAServer() throws {
        let servers = try #require(LoopbackServers.shared)
        let server = try servers.server("modern")
        let chain = try CertificateCommandTests.Chain()
        let file = chain.certification.directory.path("Info.plist")
        let run = try ProgramRun([
            "ats", "pins", server.url, "--resolve", server.resolve, "--ca-file", servers.authority, "--spare",
            try Self.spare(chain), "--output", file,
        ])
        #expect(run.status == 0, "\(run.errors)")
        #expect(try CheckTests.check(["modern"], ["--info-plist", file]).status == 0)
        #expect(try ProgramRun(["ats", "lint", file]).status == 0)
        let gone = try ProgramRun([
            "ats", "pins", try servers.server("refused").url, "--resolve", try servers.server("refused").resolve,
            "--ca-file", servers.authority,
        ])
        #expect(gone.status == 2)
        #expect(gone.output.isEmpty)
    }
}

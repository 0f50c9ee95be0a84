// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import TLSProbe
import TestSupport
import Testing
import Vocabulary

@testable import ATSDiagnostics

/// Certificates of odd shapes under one root, made once.
struct OddCertificates: Sendable {
    let certification: TestCertification
    let root: TestCertification.Identity
    private let authorities: [String: (identity: TestCertification.Identity, chain: [TestCertification.Identity])]

    static let shared: OddCertificates? = try? OddCertificates()
    static let host = "api.odd.example"

    private init() throws {
        certification = try TestCertification()
        let certification = certification
        let root = try certification.root("root", subject: "/CN=Odd Root")
        self.root = root
        func authority(
            _ name: String, _ issuer: TestCertification.Identity, _ more: [String], path: String = ""
        ) throws
            -> TestCertification.Identity
        {
            try certification.issue(
                name, subject: "/CN=\(name)", issuer: issuer,
                extensions: ["basicConstraints=critical,CA:TRUE\(path)", "keyUsage=critical,keyCertSign"] + more)
        }
        let permitting = try authority("permitting", root, ["nameConstraints=critical,permitted;DNS:odd.example"])
        let excluding = try authority("excluding", root, ["nameConstraints=critical,excluded;DNS:odd.example"])
        let last = try authority("last", root, [], path: ",pathlen:0")
        let below = try authority("below", last, [])
        let clients = try authority("clients", root, ["extendedKeyUsage=clientAuth"])
        var deep: [TestCertification.Identity] = []
        for depth in 0..<8 { deep.insert(try authority("deep-\(depth)", deep.first ?? root, []), at: 0) }
        var authorities = ["root": (root, [TestCertification.Identity]())]
        authorities["permitting"] = (permitting, [permitting])
        authorities["excluding"] = (excluding, [excluding])
        authorities["below"] = (below, [below, last])
        authorities["clients"] = (clients, [clients])
        authorities["deep"] = (deep[0], deep)
        self.authorities = authorities
    }

    /// A leaf with its chain, as options of `openssl s_server`.
    func options(
        _ names: String?, under authority: String, key: TestCertification.Key, more: [String]
    ) throws -> [String] {
        let name = UUID().uuidString
        let (issuer, chain) = try #require(authorities[authority])
        let leaf = try certification.issue(
            name, subject: "/CN=\(Self.host)", key: key, issuer: issuer,
            extensions: ["basicConstraints=CA:FALSE", "extendedKeyUsage=serverAuth"]
                + (names.map { ["subjectAltName=\($0)"] } ?? []) + more)
        let path = certification.directory.path(name + ".chain")
        try chain.map { try String(contentsOfFile: $0.certificatePath, encoding: .utf8) }.joined()
            .write(toFile: path, atomically: true, encoding: .utf8)
        let options = ["-cert", leaf.certificatePath, "-key", leaf.keyPath]
        return chain.isEmpty ? options : options + ["-cert_chain", path]
    }
}

@Suite("Odd servers", .serialized) struct OddServersTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        var names: String? = "DNS:\(OddCertificates.host)"
        var authority = "root"
        var key = TestCertification.Key.curve("prime256v1")
        var more: [String] = []
        /// For the server.
        var options: [String] = []
        /// What the target is called; the port comes behind it.
        var host = OddCertificates.host
        /// The first cause of the default configuration; nil where all configurations pass.
        let cause: String?
        /// Words of the first cause's message.
        var words = ""
        var testDescription: String { name }
    }

    static let cases: [Case] = [
        Case(name: "as it should be", cause: nil),
        Case(name: "no alternative name", names: nil, cause: "ats.trust.no-subject-alternative-name"),
        Case(
            name: "only a URI and a mailbox", names: "URI:https://api.odd.example/,email:a@b.c",
            cause: "ats.trust.no-subject-alternative-name"),
        Case(name: "wildcard for the label", names: "DNS:*.odd.example", cause: nil),
        Case(name: "wildcard inside the label", names: "DNS:a*.odd.example", cause: "ats.trust.wrong-host"),
        Case(name: "two wildcards", names: "DNS:*.*.example", cause: "ats.trust.wrong-host"),
        Case(name: "wildcard below the host", names: "DNS:*.api.odd.example", cause: "ats.trust.wrong-host"),
        Case(name: "nothing but a wildcard", names: "DNS:*", cause: "ats.trust.wrong-host"),
        Case(name: "capitals", names: "DNS:API.ODD.EXAMPLE", cause: nil),
        Case(name: "capitals in the target", host: "API.Odd.Example", cause: nil),
        Case(name: "an address where a name is asked for", names: "IP:127.0.0.1", cause: "ats.trust.wrong-host"),
        Case(name: "an address", names: "IP:127.0.0.1", host: "127.0.0.1", cause: nil),
        Case(name: "an address as a name", names: "DNS:127.0.0.1", host: "127.0.0.1", cause: "ats.trust.wrong-host"),
        Case(name: "a trailing dot", host: OddCertificates.host + ".", cause: nil),
        Case(name: "another script", names: "DNS:xn--bcher-kva.example", host: "B\u{fc}cher.example", cause: nil),
        Case(name: "permitted by constraints", authority: "permitting", cause: nil),
        Case(name: "excluded by constraints", authority: "excluding", cause: "ats.trust.name-constraints"),
        Case(name: "too many authorities", authority: "below", cause: "ats.trust.wrong-key-usage"),
        Case(name: "eight intermediates", authority: "deep", cause: nil),
        // As Apple's trust evaluation was measured below a root that a user installed.
        Case(name: "an authority for clients", authority: "clients", cause: nil),
        Case(
            name: "a critical extension of nobody", more: ["1.2.3.4=critical,ASN1:UTF8String:x"],
            cause: "ats.trust.wrong-key-usage"),
        Case(
            name: "a thousand names",
            names: "DNS:\(OddCertificates.host)," + (0..<1000).map { "DNS:h\($0).odd.example" }.joined(separator: ","),
            cause: nil),
        Case(name: "no protocol in common", options: ["-alpn", "spdy/1"], cause: "ats.tls.handshake-failed"),
        Case(name: "P-384 by a retry request", options: ["-tls1_3", "-groups", "P-384"], cause: nil),
        Case(name: "X448 alone", options: ["-groups", "X448"], cause: "ats.tls.no-common-group", words: "x448"),
        Case(name: "an Ed25519 key", key: .ed25519, cause: "ats.tls.no-common-signature", words: "ed25519"),
        Case(
            name: "a P-521 key", key: .curve("secp521r1"), cause: "ats.tls.no-common-signature",
            words: "ecdsa_secp521r1_sha512"),
        Case(name: "no tickets", options: ["-num_tickets", "0"], cause: nil),
    ]

    @Test(arguments: cases) func oneCauseNamesTheOddity(_ item: Case) async throws {
        let odd = try #require(OddCertificates.shared)
        let server = try OpenSSLServer(
            try odd.options(item.names, under: item.authority, key: item.key, more: item.more) + item.options)
        let target = try CheckTarget("https://\(item.host):\(server.port)/")
        var configuration = CheckSession.Configuration()
        configuration.installedRoots = [odd.root.certificatePath]
        configuration.overrides = [AddressOverride(host: target.url.host, port: server.port, address: "127.0.0.1")]
        configuration.connectTimeout = .seconds(10)
        let report = await (try CheckSession(configuration)).check(target)
        let first = report.decisive?.because.first
        #expect(first?.code.rawValue == item.cause, "\(first?.message ?? "passes")")
        #expect(
            report.results.allSatisfy {
                ($0.result == .pass) == (item.cause == nil) || item.options.contains("-tls1_3")
            }
        )
        #expect(
            item.words.isEmpty || first?.message.lowercased().contains(item.words) == true, "\(first?.message ?? "")")
        if item.cause == nil { #expect(report.status == 200) }
    }
}

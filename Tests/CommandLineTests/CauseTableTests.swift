// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `docs/causes.md`: for every cause a real server that produces it, and the first lines that a user sees then.
@Suite(.enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"), .serialized)
struct CauseTableTests {
    enum Server: Sendable {
        /// A kind of `Scripts/loopback-servers`.
        case kind(String)
        /// An `openssl s_server` with a chain of ``Chains``.
        case chain(String)
        /// No server at all; the URL.
        case url(String)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let code: String
        /// What the server is, for the page.
        let server: String
        let from: Server
        var options: [String] = []
        /// The NSAppTransportSecurity dictionary of the app, as XML.
        var dictionary: String?
        /// Words of the fix.
        let fix: String
        var testDescription: String { "\(code): \(server)" }
    }

    static let rows: [Row] = [
        Row(
            code: "ats.cleartext.blocked", server: "any, asked by `http://`", from: .url("http://plain.example/"),
            fix: "serve https"),
        Row(
            code: "ats.tls.version-too-low", server: "TLS 1.1 alone", from: .kind("tls11-only"),
            fix: "enable TLS 1.2 or 1.3"),
        Row(
            code: "ats.tls.version-too-low", server: "TLS 1.3 alone, asked by iOS 9", from: .kind("tls13-only"),
            options: ["--os", "ios9"], fix: "enable TLS 1.2 on the server in addition to TLS 1.3"),
        Row(
            code: "ats.tls.no-forward-secrecy", server: "TLS 1.2 with RSA key exchange",
            from: .kind("suite-static-aes128-gcm-sha256"), fix: "enable ECDHE suites"),
        Row(
            code: "ats.tls.no-common-suite", server: "DHE suites alone", from: .kind("suite-dhe-aes128-gcm-sha256"),
            fix: "enable ECDHE suites with AES-GCM"),
        Row(
            code: "ats.tls.no-common-signature", server: "a P-521 key, in TLS 1.3", from: .kind("key-p521"),
            fix: "get a certificate with a plain RSA key of at least 2048 bits or a P-256 key"),
        Row(
            code: "ats.tls.no-common-group", server: "the group brainpoolP256r1 alone",
            from: .kind("group-brainpool-only"), fix: "enable X25519 or P-256"),
        Row(
            code: "ats.tls.handshake-failed", server: "answers with the alert internal_error",
            from: .kind("alert-internal-error"), fix: "look in the server's log at that time"),
        Row(
            code: "ats.tls.large-hello", server: "stands behind a box that resets hellos of more than one TCP segment",
            from: .kind("large-hello-reset"), fix: "update what reads the ClientHello first"),
        Row(
            code: "ats.tls.no-extended-master-secret",
            server: "TLS 1.2 without the extended master secret, asked as an enrollment does",
            from: .kind("tls12-no-extended-master-secret"), options: ["--for", "managed"],
            fix: "run the server with a TLS library that supports the extended master secret"),
        Row(
            code: "ats.tls.client-certificate-required", server: "demands a client certificate",
            from: .kind("client-certificate-demanded"), fix: "give the app a client certificate"),
        Row(
            code: "ats.trust.unknown-root", server: "sends a chain up to a root of its own",
            from: .kind("unknown-root"), fix: "use a certificate from a public CA"),
        Row(
            code: "ats.trust.unknown-root",
            server: "sends an intermediate of the right name that did not sign its leaf", from: .chain("forged"),
            fix: "send the certificate of the CA that signed this one"),
        Row(
            code: "ats.trust.self-signed", server: "has a self-signed certificate", from: .kind("self-signed"),
            fix: "use a certificate from a public CA"),
        Row(
            code: "ats.trust.missing-intermediate", server: "sends its leaf alone", from: .kind("missing-intermediate"),
            fix: "send the intermediate certificate after the leaf"),
        Row(
            code: "ats.trust.expired", server: "has a leaf that expired", from: .kind("expired"),
            fix: "renew the certificate"),
        Row(
            code: "ats.trust.expired", server: "sends an intermediate that expired",
            from: .kind("expired-intermediate"), fix: "send the CA's current intermediate"),
        Row(
            code: "ats.trust.not-yet-valid", server: "has a leaf of tomorrow", from: .kind("not-yet-valid"),
            fix: "check the clocks"),
        Row(
            code: "ats.trust.wrong-host", server: "has a certificate of another host", from: .kind("wrong-host"),
            fix: "get a certificate that names this host"),
        Row(
            code: "ats.trust.no-subject-alternative-name", server: "has its name only as common name",
            from: .kind("common-name-only"), fix: "subject alternative name"),
        Row(
            code: "ats.trust.weak-key", server: "has an RSA key of 1024 bits", from: .kind("key-rsa1024"),
            fix: "get a certificate with an RSA key"),
        Row(
            code: "ats.trust.weak-key", server: "has a key on P-224, with which no handshake comes about",
            from: .chain("leaf-p224"), fix: "get a certificate with an RSA key"),
        Row(
            code: "ats.trust.weak-key", server: "sends an intermediate with a key on P-224", from: .chain("below-p224"),
            fix: "get a certificate from a CA whose intermediates"),
        Row(
            code: "ats.trust.weak-key", server: "sends an intermediate with a key on secp256k1",
            from: .chain("below-k1"), fix: "get a certificate from a CA whose intermediates"),
        Row(
            code: "ats.trust.weak-signature", server: "has a leaf signed with SHA-1", from: .kind("signature-sha1"),
            fix: "signed with SHA-256 or stronger"),
        Row(
            code: "ats.trust.weak-signature", server: "sends an intermediate signed with SHA-1",
            from: .kind("signature-sha1-intermediate"), fix: "send an intermediate that is signed with SHA-256"),
        Row(
            code: "ats.trust.validity-too-long", server: "has a leaf for 1,000 days", from: .kind("days-1000"),
            fix: "valid for a shorter time"),
        Row(
            code: "ats.trust.wrong-key-usage", server: "has a leaf for clients", from: .kind("client-key-usage"),
            fix: "get a certificate for server authentication"),
        Row(
            code: "ats.trust.wrong-key-usage", server: "sends one intermediate more than an authority allows below it",
            from: .chain("too-long"), fix: "send a chain with fewer intermediates"),
        Row(
            code: "ats.trust.wrong-key-usage", server: "sends a server's certificate as the issuer of its leaf",
            from: .chain("no-authority"), fix: "have a CA issue the certificate"),
        Row(
            code: "ats.trust.wrong-key-usage", server: "has a leaf with a critical extension of nobody",
            from: .chain("odd"), fix: "have the CA reissue the certificate"),
        Row(
            code: "ats.trust.name-constraints", server: "has a leaf for a name that its authority may not issue for",
            from: .chain("constrained"), fix: "a CA that may issue for all names"),
        Row(
            code: "ats.trust.revoked", server: "staples a response that says revoked", from: .kind("staple-revoked"),
            fix: "replace the certificate"),
        Row(
            code: "ats.trust.pin-mismatch",
            server: "any, with another key than the app pins",
            from: .kind("modern"),
            dictionary: """
                <key>NSPinnedDomains</key><dict><key>api.example.com</key><dict><key>NSPinnedLeafIdentities</key><array><dict>
                <key>SPKI-SHA256-BASE64</key><string>r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=</string></dict></array></dict></dict>
                """,
            fix: "update the app's pins"
        ),
        Row(
            code: "ats.ct.missing",
            server: "any without timestamps, asked by an entry with NSRequiresCertificateTransparency on iOS 10",
            from: .kind("modern"),
            options: ["--os", "ios10"],
            dictionary: """
                <key>NSExceptionDomains</key><dict><key>api.example.com</key><dict><key>NSRequiresCertificateTransparency</key><true/></dict></dict>
                """,
            fix: "signed certificate timestamps"
        ),
        Row(
            code: "ats.http.redirect-blocked", server: "redirects to `http://`",
            from: .kind("redirect-http-other-host"), fix: "redirect to https"),
        Row(
            code: "ats.http.redirect-loop", server: "redirects to itself", from: .kind("redirect-loop"),
            fix: "fix the redirect loop"),
        Row(
            code: "ats.http.redirect-needs-cookie", server: "redirects to itself and sets a cookie",
            from: .kind("redirect-loop-cookie"), fix: "check the URL that the redirects lead to"),
        Row(
            code: "ats.http.no-answer", server: "completes TLS and says nothing", from: .kind("no-answer"),
            fix: "check the server's HTTP log"),
        Row(code: "ats.net.refused", server: "nobody listens", from: .kind("refused"), fix: "start the server"),
        Row(code: "ats.net.timeout", server: "never answers", from: .kind("silent"), fix: "check the network"),
        Row(
            code: "ats.net.reset", server: "resets the connection", from: .kind("resetting"),
            fix: "resets the connection"),
        Row(
            code: "ats.net.closed", server: "closes the connection after the ClientHello",
            from: .kind("closing-after-hello"), fix: "closes the connection"),
        Row(code: "ats.net.not-tls", server: "speaks SSH", from: .kind("ssh-banner"), fix: "does not speak TLS"),
    ]

    /// What a run says, without what differs from run to run.
    struct Lines {
        let cause: String
        let fix: String
        let error: String

        init(_ run: ProgramRun) {
            cause = Self.first("cause", run.output)
            fix = Self.first("fix", run.output)
            error = Self.first("error", run.output)
        }

        /// The first line with a label, without the label.
        static func first(_ label: String, _ text: String) -> String {
            let line = text.split(separator: "\n").first {
                $0.drop { $0 == " " }.hasPrefix(label + " ")
            }
            let rest = line.map { $0.drop { $0 == " " }.dropFirst(label.count).drop { $0 == " " } } ?? ""
            return String(rest).replacing(#/:[0-9]{4,5}\b/#, with: "").replacing(#/\d{4}-\d{2}-\d{2}/#, with: "…")
        }
    }

    /// What `check` says of each row, for all tests.
    private static let checks = Result { try rows.map { (row: $0, lines: Lines(try run($0))) } }

    static func run(_ row: Row, _ command: [String] = ["check"]) throws -> ProgramRun {
        let servers = try #require(LoopbackServers.shared)
        var arguments = ["ats"] + command + ["--connect-timeout", "3"] + row.options
        var keep: OpenSSLServer?
        switch row.from {
        case .kind(let kind):
            let server = try servers.server(kind)
            arguments += [server.url, "--ca-file", servers.authority]
            for host in [LoopbackServers.host, LoopbackServers.otherHost] {
                arguments += ["--resolve", "\(host):\(server.port):127.0.0.1"]
            }
        case .chain(let name):
            let chains = try #require(Chains.shared)
            let server = try OpenSSLServer(try chains.options(name))
            keep = server
            arguments += [
                "https://\(Chains.host):\(server.port)/", "--resolve", "\(Chains.host):\(server.port):127.0.0.1",
                "--ca-file", chains.root.certificatePath,
            ]
        case .url(let url):
            arguments += [url, "--resolve", "plain.example:80:127.0.0.1", "--resolve", "plain.example:443:127.0.0.1"]
        }
        let folder = try TemporaryDirectory()
        if let dictionary = row.dictionary {
            let path = folder.path("Info.plist")
            try
                "<plist version=\"1.0\"><dict><key>NSAppTransportSecurity</key><dict>\(dictionary)</dict></dict></plist>"
                .write(toFile: path, atomically: true, encoding: .utf8)
            arguments += ["--info-plist", path]
        }
        defer { withExtendedLifetime((keep, folder)) {} }
        return try ProgramRun(arguments)
    }

    @Test func theFirstCauseAndItsFixAreTheRightOnes() throws {
        for (row, lines) in try Self.checks.get() {
            #expect(lines.cause.hasPrefix(row.code + ":"), "\(row): \(lines)")
            #expect(lines.fix.contains(row.fix), "\(row): \(lines)")
            // What an app gets stands below, whatever the cause.
            #expect(lines.error.hasPrefix("NSURLErrorDomain -"), "\(row): \(lines)")
        }
    }

    /// What only `check` finds, which alone judges as the system's own processes do.
    static let onlyCheck: Set<String> = ["ats.tls.no-extended-master-secret"]

    /// `fetch` names the same cause for the same server, with the same error.
    @Test func fetchNamesTheSameCause() throws {
        for (row, lines) in try Self.checks.get() where !Self.onlyCheck.contains(row.code) {
            let said = try Self.run(row, ["fetch"]).errors
            let cause = said.split(separator: "\n").first { $0.hasPrefix("  ats.") }
            #expect(cause?.hasPrefix("  \(row.code): ") == true, "\(row): \(said)")
            #expect(Lines.first("an app gets", said) == lines.error, "\(row): \(said)")
        }
    }

    @Test func thePageShowsWhatTheProgramSays() throws {
        var page = """
            # Causes

            For every cause of `sealward ats check` a server that produces it, and what a user sees first. Made by `CauseTableTests` from real
            servers on loopback, which fails if the program says anything else; `SEALWARD_REGENERATE=1` writes the page anew. Ports and dates are
            left out. [errors.md](errors.md) says of every code who must do what, and `sealward explain -1200` what a number means.

            | a server that | first line | fix | what an app gets |
            |---|---|---|---|

            """
        for (row, lines) in try Self.checks.get() {
            let numbers = lines.error.components(separatedBy: ": ").first ?? ""
            page += "| \(row.server) | `\(lines.cause)` | \(lines.fix) | \(numbers) |\n"
        }
        let path = LoopbackServers.repository + "/docs/causes.md"
        if ProcessInfo.processInfo.environment["SEALWARD_REGENERATE"] == "1" {
            try page.write(toFile: path, atomically: true, encoding: .utf8)
        }
        let written = try String(contentsOfFile: path, encoding: .utf8)
        let different = zip(written.split(separator: "\n"), page.split(separator: "\n")).first { $0 != $1 }
        #expect(written == page, "\(different.map { "\($0.0)\n\($0.1)" } ?? "")")
    }

    /// Every cause of a server that can be made on one machine has its row; the others say here why they have none.
    @Test func everyCauseHasARow() throws {
        let codes = try String(contentsOfFile: LoopbackServers.repository + "/docs/errors.md", encoding: .utf8)
        let section =
            codes.components(separatedBy: "\n## ").first { $0.hasPrefix("App Transport Security: causes") } ?? ""
        let listed = section.matches(of: #/\| `(ats\.[a-z.-]+)` \|/#).map { String($0.output.1) }
        let without: Set<String> = [
            // Of `explain` on iOS 9; never a server's fault.
            "ats.local.blocked",
            // Beside the cause that a delegate may accept, never first.
            "ats.trust.needs-delegate",
            // Of `ats certificate`, of the library's delegates, of request bodies and limits, and of the proxy.
            "ats.trust.issuance", "ats.trust.refused-by-delegate", "ats.http.request-body", "ats.http.answer-too-large",
            "ats.http.incomplete-answer", "ats.proxy.forbidden-address", "ats.proxy.name-mismatch",
            // Without a resolver there is none to say no.
            "ats.net.dns",
        ]
        let shown = Set(Self.rows.map(\.code))
        #expect(listed.count > 30)
        for code in listed where !without.contains(code) { #expect(shown.contains(code), "\(code)") }
    }
}

/// Chains with one flaw each, under one root.
private struct Chains: Sendable {
    let certification: TestCertification
    let root: TestCertification.Identity

    static let host = "flawed.example"
    static let shared: Chains? = try? Chains()

    private init() throws {
        certification = try TestCertification()
        root = try certification.root("root", subject: "/CN=Root of the table")
    }

    /// Options of `openssl s_server`.
    func options(_ flaw: String) throws -> [String] {
        let mark = UUID().uuidString
        func authority(
            _ name: String, _ issuer: TestCertification.Identity, key: TestCertification.Key = .curve("prime256v1"),
            path: String = "", more: [String] = []
        ) throws -> TestCertification.Identity {
            try certification.issue(
                "\(name)-\(mark)", subject: "/CN=\(name)", key: key, issuer: issuer,
                extensions: ["basicConstraints=critical,CA:TRUE\(path)", "keyUsage=critical,keyCertSign"] + more)
        }
        func leaf(
            _ issuer: TestCertification.Identity, key: TestCertification.Key = .curve("prime256v1"), more: [String] = []
        ) throws -> TestCertification.Identity {
            try certification.issue(
                "leaf-\(mark)", subject: "/CN=\(Chains.host)", key: key, issuer: issuer,
                extensions: TestCertification.server.filter { !$0.hasPrefix("subjectAltName") }
                    + ["subjectAltName=DNS:\(Chains.host)"] + more)
        }
        switch flaw {
        case "leaf-p224": return serving(try leaf(root, key: .curve("secp224r1")))
        case "below-p224", "below-k1":
            let curve = flaw == "below-k1" ? "secp256k1" : "secp224r1"
            let between = try authority("Weak Intermediate", root, key: .curve(curve))
            return try serving(leaf(between), between)
        case "forged":
            let real = try authority("Intermediate", root)
            let namesake = try certification.issue(
                "namesake-\(mark)", subject: "/CN=Intermediate", issuer: root,
                extensions: ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"])
            let leaf = try certification.issue(
                "leaf-\(mark)",
                subject: "/CN=\(Chains.host)",
                issuer: real,
                extensions: [
                    "basicConstraints=CA:FALSE", "subjectAltName=DNS:\(Chains.host)", "extendedKeyUsage=serverAuth",
                    "authorityKeyIdentifier=none", "subjectKeyIdentifier=none",
                ]
            )
            return serving(leaf, namesake)
        case "too-long":
            let last = try authority("Last Intermediate", root, path: ",pathlen:0")
            let below = try authority("One Too Many", last)
            return try serving(leaf(below), below, last)
        case "no-authority":
            let server = try certification.issue(
                "server-\(mark)", subject: "/CN=Another Server", issuer: root, extensions: TestCertification.server)
            return try serving(leaf(server), server)
        case "odd": return serving(try leaf(root, more: ["1.2.3.4=critical,ASN1:UTF8String:x"]))
        case "constrained":
            let between = try authority(
                "Constrained Intermediate", root, more: ["nameConstraints=critical,permitted;DNS:other.example"])
            return try serving(leaf(between), between)
        default: throw OpenSSLProgram.Failure(description: "no chain \(flaw)")
        }
    }

    private func serving(_ leaf: TestCertification.Identity, _ chain: TestCertification.Identity...) -> [String] {
        let options = ["-cert", leaf.certificatePath, "-key", leaf.keyPath]
        guard !chain.isEmpty else { return options }
        let path = certification.directory.path(UUID().uuidString)
        let text = chain.compactMap { try? String(contentsOfFile: $0.certificatePath, encoding: .utf8) }.joined()
        try? text.write(toFile: path, atomically: true, encoding: .utf8)
        return options + ["-cert_chain", path]
    }
}

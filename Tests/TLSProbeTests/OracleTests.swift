// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TLSModel
import TLSProbe
import TestSupport
import Testing

/// What the prober says was negotiated is what `openssl s_client` negotiates with the same offer.
@Suite struct OracleTests {
    struct Kind: Sendable, CustomTestStringConvertible {
        let name: String
        let identity: @Sendable (ProbeFixtures.Identities) -> TestCertification.Identity
        var options: [String] = []
        var second: (@Sendable (ProbeFixtures.Identities) -> TestCertification.Identity)?
        var testDescription: String { name }
    }

    static let versions = [
        ("-tls1", "TLS 1.0"), ("-tls1_1", "TLS 1.1"), ("-tls1_2", "TLS 1.2"), ("-tls1_3", "TLS 1.3"),
    ]
    static let allCiphers = ["-cipher", ProbeFixtures.everything]

    static let kinds: [Kind] =
        versions.map { option, name in
            Kind(name: "\(name) only, RSA", identity: { $0.rsa }, options: allCiphers + [option])
        }
        + versions.map { option, name in
            Kind(name: "\(name) only, P-256", identity: { $0.p256 }, options: allCiphers + [option])
        }
        + (ProbeFixtures.forwardSecret + ProbeFixtures.plainRSA + ProbeFixtures.ephemeral).filter {
            $0.keyExchange != .tls13
        }
        .map { suite in
            Kind(
                name: "only \(suite)", identity: { suite.keyExchange == .ecdheECDSA ? $0.p256 : $0.rsa },
                options: ["-no_tls1_3", "-cipher", suite.opensslName + ":@SECLEVEL=0"])
        }
        + ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"].map { suite in
            Kind(name: "only \(suite)", identity: { $0.rsa }, options: ["-tls1_3", "-ciphersuites", suite])
        }
        + ["X25519", "P-256", "P-384", "P-521"].flatMap { group in
            [
                Kind(name: "1.3 with \(group)", identity: { $0.p256 }, options: ["-tls1_3", "-curves", group]),
                Kind(
                    name: "1.2 with \(group)", identity: { $0.rsa },
                    options: allCiphers + ["-tls1_2", "-curves", group]),
            ]
        }
        + [
            Kind(name: "P-384 key", identity: { $0.p384 }, options: allCiphers),
            Kind(name: "Ed25519 key", identity: { $0.ed25519 }, options: allCiphers),
            Kind(name: "weak RSA key", identity: { $0.weak }, options: allCiphers),
            Kind(name: "two certificates", identity: { $0.rsa }, options: allCiphers, second: { $0.p256 }),
            Kind(
                name: "server's preference", identity: { $0.rsa }, options: allCiphers + ["-serverpref", "-no_tls1_3"]),
            Kind(name: "HTTP/2", identity: { $0.rsa }, options: allCiphers + ["-alpn", "h2"]),
            Kind(name: "client certificate wanted", identity: { $0.rsa }, options: allCiphers + ["-verify", "1"]),
            Kind(name: "client certificate demanded", identity: { $0.p256 }, options: allCiphers + ["-Verify", "1"]),
        ]

    /// The hellos of the configurations: three floors with two lists, and 1.3 alone.
    static let offers: [HelloOffer] =
        [TLSVersion.tls12, .tls11, .tls10].flatMap { minimum in
            [
                HelloOffer(minimumVersion: minimum, suites: ProbeFixtures.forwardSecret),
                HelloOffer(
                    minimumVersion: minimum,
                    suites: ProbeFixtures.forwardSecret + ProbeFixtures.plainRSA + ProbeFixtures.ephemeral),
            ]
        } + [
            HelloOffer(minimumVersion: .tls13, suites: ProbeFixtures.forwardSecret),
            HelloOffer(
                minimumVersion: .tls10, maximumVersion: .tls12,
                suites: ProbeFixtures.forwardSecret + ProbeFixtures.plainRSA),
        ]

    /// In `make test` each server gets two or three of the hellos, and each hello a third of the servers.
    @Test("The prober and openssl negotiate the same", arguments: zip(kinds.indices, kinds))
    func agreement(_ number: Int, _ kind: Kind) async throws {
        let identities = try ProbeFixtures.required()
        var options = ProbeFixtures.options(kind.identity(identities)) + kind.options
        if let second = kind.second?(identities) {
            options += ["-dcert", second.certificatePath, "-dkey", second.keyPath]
        }
        let server = try OpenSSLServer(options)
        for offer in LongForm.share(of: Self.offers, one: 3, from: number) {
            let outcome = try await ProbeFixtures.probe(offer, port: server.port)
            let oracle = try Oracle(offer, port: server.port)
            let observation = outcome.observation
            #expect(
                observation?.version.description == oracle.version,
                "\(offer.minimumVersion) \(offer.suites.count): \(outcome)")
            #expect(observation?.suite.opensslName == oracle.suite)
            #expect(observation?.applicationProtocol == oracle.applicationProtocol)
            guard let observation else {
                if case .alert = outcome { continue }
                if case .protocolError(let reason) = outcome, reason.contains("not offered") { continue }
                Issue.record("\(outcome)")
                continue
            }
            if let group = oracle.group { #expect(observation.group.map(Oracle.name) == group) }
            #expect(
                observation.certificates.first.map {
                    [kind.identity(identities).der, kind.second?(identities).der].contains($0)
                } == true
            )
            let expectation: Bool =
                switch (observation.suite.keyExchange, observation.version) {
                case (.rsa, _): false
                case (.ecdheRSA, ..<TLSVersion.tls12), (.dheRSA, ..<TLSVersion.tls12): false
                default: true
                }
            #expect((observation.keyPossession == .proven) == expectation, "\(observation.keyPossession)")
            #expect(observation.requestsClientCertificate == kind.options.contains { $0.lowercased() == "-verify" })
        }
    }
}

/// What `openssl s_client` says after a handshake.
struct Oracle {
    var version: String?
    var suite: String?
    var group: String?
    var applicationProtocol: String?

    init(_ offer: HelloOffer, port: Int) throws {
        let names = offer.suites.filter { $0.keyExchange != .tls13 }.map(\.opensslName)
        let text = try OpenSSLProgram.run(
            [
                "s_client", "-connect", "127.0.0.1:\(port)", "-servername", "localhost",
                "-cipher", names.joined(separator: ":") + ":@SECLEVEL=0",
                "-min_protocol", Self.option(offer.minimumVersion), "-max_protocol", Self.option(offer.maximumVersion),
                "-ciphersuites", "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256",
                "-groups", "X25519:P-256:P-384:P-521", "-alpn", offer.applicationProtocols.joined(separator: ","),
                "-sigalgs", Self.signatureAlgorithms,
            ],
            checked: false
        )
        for line in text.split(separator: "\n") {
            if line.hasPrefix("New, "), let cipher = line.components(separatedBy: "Cipher is ").last {
                suite = cipher
            } else if let found = line.firstMatch(of: /^ *Protocol *: *(\S+)/) {
                version = found.1 == "TLSv1" ? "TLSv1.0" : String(found.1)
            } else if line.hasPrefix("New, TLSv1.3") {
                version = "TLSv1.3"
            } else if let found = line.firstMatch(of: /^Server Temp Key: (?:ECDH, )?([A-Za-z0-9-]+)/) {
                group = found.1 == "DH" ? nil : String(found.1)
            } else if line.hasPrefix("ALPN protocol: ") {
                applicationProtocol = String(line.dropFirst(15))
            }
        }
        if suite == nil || suite == "(NONE)" {
            suite = nil
            version = nil
        } else if let found = text.firstMatch(of: /New, (TLSv1\.3), Cipher/) {
            version = String(found.1)
        }
    }

    static let signatureAlgorithms =
        "ECDSA+SHA256:RSA-PSS+SHA256:RSA+SHA256:ECDSA+SHA384:RSA-PSS+SHA384:RSA+SHA384:ECDSA+SHA512:RSA-PSS+SHA512:"
        + "RSA+SHA512:RSA+SHA1:ECDSA+SHA1"

    static func option(_ version: TLSVersion) -> String { version == .tls10 ? "TLSv1" : version.description }

    static func name(_ group: NamedGroup) -> String {
        switch group {
        case .x25519: "X25519"
        case .secp256r1: "prime256v1"
        case .secp384r1: "secp384r1"
        case .secp521r1: "secp521r1"
        default: group.description
        }
    }
}

extension CipherSuite {
    /// The name that the `openssl` program uses, as `openssl ciphers -stdname` lists them.
    fileprivate var opensslName: String {
        let name = description
        guard name.contains("_WITH_") else { return name }
        let rewritten = [
            ("TLS_RSA_WITH_", ""), ("TLS_", ""), ("_WITH_", "_"), ("AES_", "AES"), ("3DES_EDE_CBC", "DES-CBC3"),
            ("RC4_128", "RC4"), ("_CBC_SHA", "_SHA"), ("POLY1305_SHA256", "POLY1305"),
        ].reduce(name) { $0.replacing($1.0, with: $1.1) }
        return rewritten.replacing("_", with: "-")
    }
}

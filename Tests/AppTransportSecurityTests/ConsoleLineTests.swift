// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import TLSModel
import Testing
import Vocabulary

/// What an app and its console show for a failed load, release by release.
@Suite struct ConsoleLineTests {
    private static func lines(
        _ error: URLLoadError, _ code: Code, _ kind: Cause.KeyKind? = nil, os: String
    ) throws
        -> [ConsoleLine]
    {
        let cause = Cause(code, "", situation: nil, keyKind: kind)
        return ConsoleLine.lines(for: error, causes: [cause], host: "pay.bank.test", on: try OSProfile.asked(os))
    }

    @Test func cleartextIsBlockedInTheWordsOfTheRelease() throws {
        func texts(_ os: String) throws -> [String] {
            try Self.lines(.requiresSecureConnection, "ats.cleartext.blocked", os: os).map(\.text)
        }
        let documented =
            "App Transport Security has blocked a cleartext HTTP (http://) resource load since it is insecure. "
        for os in ["ios9", "ios12.2", "macos10.11", "macos26", "published"] {
            #expect(try texts(os).first?.hasPrefix(documented) == true, "\(os)")
        }
        #expect(try texts("ios9").count == 1)
        #expect(try texts("ios17").last?.contains("does not conform to ATS policy") == true)
    }

    @Test(
        arguments: [
            (
                "macos10.11",
                [
                    "CFNetwork SSLHandshake failed (-9824)",
                    "NSURLSession/NSURLConnection HTTP load failed (kCFStreamErrorDomainSSL, -9824)",
                ]
            ),
            ("macos10.13", ["NSURLSession/NSURLConnection HTTP load failed (kCFStreamErrorDomainSSL, -9824)"]),
            ("ios18", ["Task <UUID>.<number> finished with error [-1200] Error Domain=NSURLErrorDomain Code=-1200"]),
        ]
    )
    func aHandshakeThatFailsIsLogged(_ os: String, _ expected: [String]) throws {
        let lines = try Self.lines(.secureConnectionFailed(-9824), "ats.tls.no-forward-secrecy", os: os)
        #expect(lines.map(\.text) == expected)
        for line in lines { #expect(!line.citation.source.isEmpty) }
        // What a release was seen to write is measured there, and inferred or unknown elsewhere.
        #expect(lines.allSatisfy { $0.basis == (os == "ios18" ? .unknown : .measured) })
    }

    @Test(
        arguments: [
            ("ats.trust.expired", nil, "ATS certificate trust requirement not satisfied for server: pay.bank.test"),
            ("ats.trust.weak-key", .rsa, "]: RSA key size <bits> bits is less than minimum"),
            ("ats.trust.weak-key", .ellipticCurve, "]: ECDSA key size <bits> bits"),
            ("ats.trust.weak-signature", nil, "is not at least SHA-256 for server: pay.bank.test"),
        ] as [(String, Cause.KeyKind?, String)]
    )
    func theLibraryOf264SaysWhatATSRefused(_ code: String, _ kind: Cause.KeyKind?, _ words: String) throws {
        let error = URLLoadError.secureConnectionFailed(-9802)
        let lines = try Self.lines(error, Code(rawValue: code), kind, os: "ios26.4").map(\.text)
        #expect(lines.contains { $0.contains(words) }, "\(lines)")
        #expect(try !Self.lines(error, Code(rawValue: code), kind, os: "ios26").contains { $0.text.contains("ATS") })
    }

    /// What the judge finds decides the line: the hardened rules have their own, and those about the leaf are not shown for other certificates.
    @Test(
        arguments: [
            ("ats.tls.no-extended-master-secret", nil, -9801, "negotiated without extended master secret (EMS) for"),
            (
                "ats.trust.weak-signature", "unoffered-signature", -9801,
                "<algorithm> not advertised in client hello for"
            ),
            ("ats.trust.weak-signature", "weakly-signed-issuer", -9802, "trust requirement not satisfied for"),
            ("ats.trust.weak-key", "weak-intermediate", -9802, "trust requirement not satisfied for"),
            ("ats.trust.weak-key", "weak-root", -9802, "trust requirement not satisfied for"),
            ("ats.tls.no-common-suite", nil, -9801, nil), ("ats.trust.weak-key", "foreign-curve", -9824, nil),
        ] as [(String, String?, Int, String?)]
    )
    func theLineIsAboutWhatFailed(_ code: String, _ situation: String?, _ stream: Int, _ words: String?) throws {
        let cause = Cause(Code(rawValue: code), "", situation: situation, keyKind: .rsa)
        let lines = ConsoleLine.lines(
            for: .secureConnectionFailed(stream), causes: [cause], host: "pay.bank.test",
            on: try OSProfile.asked("macos26.4"))
        let own = lines.map(\.text).filter { $0.contains("[ATS") }
        #expect(own.count == (words == nil ? 0 : 1))
        #expect(words.map { own.first?.contains($0 + " server: pay.bank.test") == true } ?? true, "\(own)")
    }

    @Test func aMissingMasterSecretIsNamedForAHardenedLoad() throws {
        var scene = Scene()
        scene.extendedMasterSecret = false
        let verdict = try scene.verdict(#"{"NSRequiresNIAPTLSPackageVersion":"FCP_v2.1"}"#, os: "macos26.4")
        let lines = ConsoleLine.lines(
            for: try #require(verdict.error), causes: verdict.causes, host: scene.host,
            on: try OSProfile.asked("macos26.4"))
        #expect(lines.contains { $0.text.hasPrefix("Error [ATS FCPv2.1 violation]: TLS 1.2 negotiated without") })
    }

    /// Whoever runs the server chooses its subject, and the line follows the key.
    @Test func theKeyDecidesTheLineAndNotItsSubject() throws {
        var scene = Scene()
        scene.subject = "CN=an RSA key of mine"
        scene.key = .ellipticCurve(curve: "P-224", bits: 224)
        let verdict = try scene.verdict(os: "ios26.4")
        let lines = ConsoleLine.lines(
            for: try #require(verdict.error), causes: verdict.causes, host: scene.host,
            on: try OSProfile.asked("ios26.4"))
        #expect(verdict.causes.first?.code == "ats.trust.weak-key")
        #expect(lines.contains { $0.text.contains("]: ECDSA key size") })
        #expect(!lines.contains { $0.text.contains("]: RSA key size") })
    }

    @Test func theErrorBelowIsThatOfCFNetwork() {
        let refused = URLLoadError.secureConnectionFailed(-9836)
        #expect(refused.underlying?.domain == "kCFErrorDomainCFNetwork" && refused.underlying?.code == -1200)
        #expect(refused.streamDomain == 3)
        #expect(URLLoadError.requiresSecureConnection.underlying?.code == -1022)
        #expect(URLLoadError.requiresSecureConnection.streamDomain == nil)
        #expect(URLLoadError(code: -999, message: "cancelled").underlying == nil)
    }
}

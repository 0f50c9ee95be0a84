// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import TLSModel
import Testing
import Vocabulary

private let anyPurpose = ["2.5.29.37.0"]

@Suite("Judging a connection")
struct EvaluationTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let name: String
        let change: @Sendable (inout Scene) -> Void
        let macos26: Code?
        let published: Code?
        let ios9: Code?
        var testDescription: String { name }
    }

    /// The first cause under three systems; nil passes.
    static let cases: [Case] = [
        Case(name: "all is well", change: { _ in }, macos26: nil, published: nil, ios9: nil),
        Case(
            name: "revoked", change: { $0.staple = .revoked(Scene.date("2026-05-01"), reason: 1) },
            macos26: "ats.trust.revoked", published: "ats.trust.revoked", ios9: "ats.trust.revoked"),
        Case(name: "stapled as good", change: { $0.staple = .good }, macos26: nil, published: nil, ios9: nil),
        Case(
            name: "a staple that cannot be believed", change: { $0.staple = .unusable("it is out of date") },
            macos26: nil, published: nil, ios9: nil),
        Case(
            name: "unknown to the responder", change: { $0.staple = .unknown }, macos26: nil, published: nil, ios9: nil),
        Case(
            name: "TLS 1.1", change: { $0.version = .tls11 }, macos26: "ats.tls.version-too-low",
            published: "ats.tls.version-too-low", ios9: "ats.tls.version-too-low"),
        Case(
            name: "RSA key exchange", change: { $0.suite = .rsaWithAES128GCMSHA256 },
            macos26: "ats.tls.no-forward-secrecy", published: "ats.tls.no-forward-secrecy",
            ios9: "ats.tls.no-forward-secrecy"),
        Case(
            name: "CBC with SHA-256", change: { $0.suite = .ecdheRSAWithAES128CBCSHA256 },
            macos26: "ats.tls.no-common-suite", published: nil, ios9: nil),
        Case(
            name: "ChaCha20", change: { $0.suite = .ecdheRSAWithChaCha20Poly1305 }, macos26: nil,
            published: "ats.tls.no-common-suite", ios9: "ats.tls.no-common-suite"),
        Case(
            name: "RSA 1024", change: { $0.key = .rsa(bits: 1024) }, macos26: "ats.trust.weak-key",
            published: "ats.trust.weak-key", ios9: "ats.trust.weak-key"),
        Case(
            name: "P-224", change: { $0.key = .ellipticCurve(curve: "P-224", bits: 224) },
            macos26: "ats.trust.weak-key", published: "ats.trust.weak-key", ios9: "ats.trust.weak-key"),
        Case(
            name: "RSA 2047", change: { $0.key = .rsa(bits: 2047) }, macos26: "ats.trust.weak-key",
            published: "ats.trust.weak-key", ios9: "ats.trust.weak-key"),
        Case(
            name: "SHA-1", change: { $0.hash = .sha1 }, macos26: "ats.trust.weak-signature",
            published: "ats.trust.weak-signature", ios9: "ats.trust.weak-signature"),
        Case(
            name: "SHA-224", change: { $0.hash = .sha224 }, macos26: "ats.trust.weak-signature",
            published: "ats.trust.weak-signature", ios9: "ats.trust.weak-signature"),
        Case(
            name: "another host",
            change: { $0.names = AlternativeNames(dnsNames: ["other.example.com"], addresses: []) },
            macos26: "ats.trust.wrong-host", published: "ats.trust.wrong-host", ios9: "ats.trust.wrong-host"),
        Case(
            name: "common name only",
            change: {
                $0.names = nil
                $0.commonNames = ["api.example.com"]
            },
            macos26: "ats.trust.no-subject-alternative-name",
            published: "ats.trust.no-subject-alternative-name",
            ios9: nil
        ),
        Case(
            name: "no purpose, installed root", change: { $0.purposes = nil }, macos26: nil,
            published: "ats.trust.wrong-key-usage", ios9: nil),
        Case(
            name: "no purpose, system root",
            change: {
                $0.purposes = nil
                $0.anchor = .system
            },
            macos26: "ats.trust.wrong-key-usage",
            published: "ats.trust.wrong-key-usage",
            ios9: nil
        ),
        Case(
            name: "any purpose, installed root", change: { $0.purposes = anyPurpose }, macos26: nil,
            published: "ats.trust.wrong-key-usage", ios9: nil),
        Case(
            name: "any purpose, system root",
            change: {
                $0.purposes = anyPurpose
                $0.anchor = .system
            },
            macos26: "ats.trust.wrong-key-usage",
            published: "ats.trust.wrong-key-usage",
            ios9: nil
        ),
        Case(
            name: "any purpose, anchor of the app",
            change: {
                $0.purposes = anyPurpose
                $0.anchor = .app
            },
            macos26: "ats.trust.wrong-key-usage",
            published: "ats.trust.wrong-key-usage",
            ios9: nil
        ),
        Case(
            name: "any purpose, anchor of the app, issued before 2019-07",
            change: {
                $0.purposes = anyPurpose
                $0.anchor = .app
                $0.issued = Scene.date("2019-05-01")
                $0.days = 3000
            },
            macos26: nil,
            published: nil,
            ios9: nil
        ),
        Case(
            name: "ten years, trusted itself",
            change: {
                $0.isSelfSigned = true
                $0.isOwnAnchor = true
                $0.days = 3650
            },
            macos26: nil,
            published: "ats.trust.validity-too-long",
            ios9: nil
        ),
        Case(
            name: "826 days", change: { $0.days = 826 }, macos26: "ats.trust.validity-too-long",
            published: "ats.trust.validity-too-long", ios9: nil),
        Case(name: "825 days", change: { $0.days = 825 }, macos26: nil, published: nil, ios9: nil),
        Case(
            name: "399 days, system root",
            change: {
                $0.days = 399
                $0.anchor = .system
            },
            macos26: "ats.trust.validity-too-long",
            published: "ats.trust.validity-too-long",
            ios9: nil
        ),
        Case(
            name: "825 days, issued earlier",
            change: {
                $0.issued = Scene.date("2025-01-01")
                $0.days = 825
            },
            macos26: nil,
            published: nil,
            ios9: nil
        ),
        Case(
            name: "self-signed",
            change: {
                $0.anchor = nil
                $0.isSelfSigned = true
            },
            macos26: "ats.trust.self-signed",
            published: "ats.trust.self-signed",
            ios9: "ats.trust.self-signed"
        ),
        Case(
            name: "a leaf alone", change: { $0.anchor = nil }, macos26: "ats.trust.missing-intermediate",
            published: "ats.trust.missing-intermediate", ios9: "ats.trust.missing-intermediate"),
        Case(
            name: "missing intermediate",
            change: {
                $0.anchor = nil
                $0.issuerAddresses = ["http://ca.example/i.der"]
            },
            macos26: "ats.trust.missing-intermediate",
            published: "ats.trust.missing-intermediate",
            ios9: "ats.trust.missing-intermediate"
        ),
        Case(
            name: "a signature that does not match", change: { $0.possession = .refuted },
            macos26: "ats.tls.handshake-failed", published: "ats.tls.handshake-failed", ios9: "ats.tls.handshake-failed"
        ),
        Case(
            name: "expired", change: { $0.days = 30 }, macos26: "ats.trust.expired", published: "ats.trust.expired",
            ios9: "ats.trust.expired"),
        Case(
            name: "not yet valid", change: { $0.issued = Scene.date("2026-07-01") }, macos26: "ats.trust.not-yet-valid",
            published: "ats.trust.not-yet-valid", ios9: "ats.trust.not-yet-valid"),
    ]

    @Test("the first cause by system", arguments: EvaluationTests.cases)
    func causes(one: Case) throws {
        var scene = Scene()
        one.change(&scene)
        for (os, expected) in [("macos26", one.macos26), ("published", one.published), ("ios9", one.ios9)] {
            let verdict = try scene.verdict(os: os)
            #expect(verdict.causes.first?.code == expected, "under \(os)")
            #expect(verdict.passed == (expected == nil))
            #expect((verdict.error == nil) == verdict.passed)
        }
    }

    @Test("the numbers of a cause name it again", arguments: EvaluationTests.cases)
    func numbers(one: Case) throws {
        var scene = Scene()
        one.change(&scene)
        scene.extendedMasterSecret = false
        let insecure = #"{"NSExceptionDomains":{"api.example.com":{"NSExceptionAllowsInsecureHTTPLoads":true}}}"#
        let hardened = #"{"NSRequiresNIAPTLSPackageVersion":"FCP_v2.1"}"#
        let minimum = #"{"NSExceptionDomains":{"api.example.com":{"NSExceptionMinimumTLSVersion":"TLSv1.3"}}}"#
        for json in ["{}", insecure, hardened, minimum, #"{"NSAllowsArbitraryLoads":true}"#] {
            for os in ["ios9", "macos10.14", "macos26.4", "published"] {
                let verdict = try scene.verdict(json, os: os)
                guard let error = verdict.error, let cause = verdict.causes.first?.code else { continue }
                #expect(RefusalNumbers.causes(urlError: error.code).contains(cause), "\(error.summary) \(cause)")
                let stream = try #require(error.streamCode)
                #expect(RefusalNumbers.causes(stream: stream).contains(cause), "\(error.summary) \(cause)")
            }
        }
    }

    @Test("validity counts to the second: both ends are inside")
    func edges() throws {
        let scene = Scene()
        #expect(try scene.verdict(at: "2026-01-01").passed)
        #expect(try scene.verdict(at: "2026-10-28").passed)
        #expect(try !scene.verdict(at: "2026-10-29").passed)
    }

    @Test("a certificate's dates are printed as days") func days() throws {
        let late = try Scene().verdict(at: "2027-06-01").causes.map(\.message)
        #expect(late == ["CN=leaf expired on 2026-10-28."])
        let early = try Scene().verdict(at: "2025-06-01").causes.map(\.message)
        #expect(early == ["CN=leaf is not valid before 2026-01-01."])
    }

    @Test("the errors of an app: -9802 under ATS, a code for each cause where insecure loads are permitted")
    func errors() throws {
        var scene = Scene()
        scene.names = AlternativeNames(dnsNames: ["other.example.com"], addresses: [])
        #expect(try scene.verdict().error == .secureConnectionFailed(-9802))
        let permitted = #"{"NSExceptionDomains":{"api.example.com":{"NSExceptionAllowsInsecureHTTPLoads":true}}}"#
        let verdict = try scene.verdict(permitted)
        #expect(verdict.error?.code == -1202 && verdict.error?.streamCode == -9843)
        #expect(verdict.causes.map(\.code) == ["ats.trust.wrong-host", "ats.trust.needs-delegate"])
        #expect(verdict.onlyTrustFailed && !verdict.passed)
        scene.names = Scene().names
        scene.days = 30
        #expect(try scene.verdict(permitted).error?.code == -1201)
        scene.version = .tls10
        #expect(try scene.verdict(permitted).onlyTrustFailed == false)
        #expect(try scene.verdict(permitted).causes.allSatisfy { $0.code != "ats.trust.needs-delegate" })
    }

    @Test("switching forward secrecy off drops the key-size check on old systems only")
    func keySize() throws {
        var scene = Scene()
        scene.key = .rsa(bits: 1024)
        let json = #"{"NSExceptionDomains":{"api.example.com":{"NSExceptionRequiresForwardSecrecy":false}}}"#
        #expect(try scene.verdict(json, os: "macos10.14").passed)
        #expect(try !scene.verdict(json, os: "macos10.15").passed)
    }

    @Test("outside ATS old systems take SHA-1 and small keys, new ones do not")
    func plainTrust() throws {
        var scene = Scene()
        scene.hash = .sha1
        scene.key = .rsa(bits: 1024)
        let open = #"{"NSAllowsArbitraryLoads":true}"#
        #expect(try scene.verdict(open, os: "macos10.11").passed)
        #expect(
            try scene.verdict(open, os: "macos26").causes.map(\.code) == [
                "ats.trust.weak-key", "ats.trust.weak-signature", "ats.trust.needs-delegate",
            ]
        )
    }

    @Test("hardening asks for the extended master secret in TLS 1.2")
    func hardening() throws {
        var scene = Scene()
        let json = #"{"NSRequiresNIAPTLSPackageVersion":"recommended"}"#
        #expect(try scene.verdict(json, os: "macos26.4").passed)
        scene.extendedMasterSecret = false
        #expect(try !scene.verdict(json, os: "macos26.4").passed)
        #expect(try scene.verdict(json, os: "macos26").passed)
    }

    static let leafPin = Data(repeating: 1, count: 32).base64EncodedString()
    static let rootPin = Data(repeating: 2, count: 32).base64EncodedString()

    @Test(
        "pins",
        arguments: [
            (#"{"NSPinnedLeafIdentities":[{"SPKI-SHA256-BASE64":"LEAF"}]}"#, true),
            (#"{"NSPinnedLeafIdentities":[{"SPKI-SHA256-BASE64":"ROOT"}]}"#, false),
            (#"{"NSPinnedCAIdentities":[{"SPKI-SHA256-BASE64":"ROOT"}]}"#, true),
            (#"{"NSPinnedCAIdentities":[{"SPKI-SHA256-BASE64":"LEAF"}]}"#, false),
            (
                #"{"NSPinnedCAIdentities":[{"SPKI-SHA256-BASE64":"ROOT"}],"NSPinnedLeafIdentities":[{"SPKI-SHA256-BASE64":"ROOT"}]}"#,
                false
            ),
            (#"{"NSPinnedLeafIdentities":[]}"#, false),
            (#"{"NSPinnedLeafIdentities":[{"SPKI-SHA256-BASE64":"%%"}]}"#, false), (#"{}"#, true),
        ]
    )
    func pins(entry: String, passes: Bool) throws {
        let entry = entry.replacingOccurrences(of: "LEAF", with: EvaluationTests.leafPin).replacingOccurrences(
            of: "ROOT", with: EvaluationTests.rootPin)
        for key in ["api.example.com", "API.Example.com."] {
            let verdict = try Scene().verdict(#"{"NSPinnedDomains":{"\#(key)":\#(entry)}}"#)
            #expect(verdict.passed == passes)
            #expect(passes || verdict.causes.map(\.code) == ["ats.trust.pin-mismatch"])
        }
        // One dot at the end is left out, of the key as of the host.
        #expect(try Scene().verdict(#"{"NSPinnedDomains":{"api.example.com..":\#(entry)}}"#).passed)
        // Systems before iOS 14 read no pins.
        #expect(try Scene().verdict(#"{"NSPinnedDomains":{"api.example.com":\#(entry)}}"#, os: "ios13").passed)
    }

    @Test("pins that are no SHA-256 block the host before any server is asked")
    func pinsOfAnotherLength() throws {
        for pin in [String(repeating: "00", count: 32), "AAAA", "%%"] {
            let entry = #"{"NSPinnedLeafIdentities":[{"SPKI-SHA256-BASE64":"\#(pin)"}]}"#
            let decision = try decide(
                "https://api.example.com/", #"{"NSPinnedDomains":{"api.example.com":\#(entry)}}"#)
            #expect(decision.verdict == .blocked, "\(pin)")
        }
    }

    @Test("pins have a calendar, which changes no verdict")
    func pinCalendar() throws {
        func note(_ entry: String, _ scene: Scene = Scene(), os: String = "macos26") throws -> String? {
            let entry = entry.replacingOccurrences(of: "LEAF", with: EvaluationTests.leafPin)
                .replacingOccurrences(of: "ROOT", with: EvaluationTests.rootPin)
                .replacingOccurrences(of: "SPARE", with: Data(repeating: 9, count: 32).base64EncodedString())
            let verdict = try scene.verdict(#"{"NSPinnedDomains":{"api.example.com":\#(entry)}}"#, os: os)
            #expect(verdict.passed)
            return verdict.notes.first { $0.code == "ats.note.pinned-keys" }?.message
        }
        let leaf = #"{"NSPinnedLeafIdentities":[{"SPKI-SHA256-BASE64":"LEAF"}]}"#
        let end = CivilDate.text(of: Scene().issued.addingTimeInterval(Scene().days * 86_400))
        let lone = try #require(try note(leaf))
        #expect(
            lone.contains(EvaluationTests.leafPin) && lone.contains("ends with its certificate on \(end)"), "\(lone)")
        #expect(lone.contains("locks every installed app out"))
        let spare = #"{"NSPinnedLeafIdentities":[{"SPKI-SHA256-BASE64":"LEAF"},{"SPKI-SHA256-BASE64":"SPARE"}]}"#
        var scene = Scene()
        scene.anchor = .system
        scene.timestamps = Scene.someTimestamp
        scene.issued = Scene.date("2026-05-01")
        scene.days = 200
        let both = try #require(try note(spare, scene))
        #expect(
            both.contains("at most 200 days, until 2027-06-05, then 100 days, from 2029-03-15 on 47 days"), "\(both)")
        #expect(both.contains("One pinned key is not in this chain"))
        let root = try #require(try note(#"{"NSPinnedCAIdentities":[{"SPKI-SHA256-BASE64":"ROOT"}]}"#))
        #expect(root.contains("The pinned key of an authority \(EvaluationTests.rootPin)"), "\(root)")
        #expect(root.contains("locks every installed app out"), "\(root)")
        #expect(try note("{}") == nil && note(leaf, os: "ios13") == nil)
    }

    @Test("no limit of days holds for a leaf that the user trusts itself, which on iOS only an authority can be")
    func trustedItself() throws {
        var scene = Scene()
        scene.isSelfSigned = true
        scene.isOwnAnchor = true
        scene.days = 3650
        for os in ["macos10.15", "macos26", "macos27"] {
            let verdict = try scene.verdict(os: os)
            let note = verdict.notes.first { $0.code == "ats.note.validity-exempt" }?.message
            #expect(verdict.passed && note?.contains("HT210176") == true && note?.contains("3650") == true, "\(os)")
        }
        #expect(try scene.verdict(os: "ios26").causes.map(\.code) == ["ats.trust.validity-too-long"])
        scene.isLeafAuthority = true
        #expect(try scene.verdict(os: "ios26").passed)
        scene.anchor = .app
        #expect(try scene.verdict(os: "macos26").causes.map(\.code) == ["ats.trust.validity-too-long"])
        scene.anchor = .installed
        scene.days = 300
        #expect(try scene.verdict().notes.isEmpty)
    }

    @Test("where the exemption of installed roots decides is noted, for a purpose that is absent or any")
    func exemptPurposes() throws {
        for purposes in [nil, anyPurpose] {
            var scene = Scene()
            scene.purposes = purposes
            #expect(try scene.verdict().notes.map(\.code) == ["ats.note.purpose-exempt"])
        }
        #expect(try Scene().verdict().notes.isEmpty)
    }

    @Test("below an anchor of the app a note says what ATS does once more")
    func appAnchor() throws {
        var scene = Scene()
        scene.anchor = .app
        #expect(try scene.verdict().passed && scene.verdict().notes.map(\.code) == ["ats.note.app-anchor"])
        #expect(try scene.verdict(os: "ios10").notes.isEmpty)
        let open = #"{"NSExceptionDomains":{"api.example.com":{"NSExceptionAllowsInsecureHTTPLoads":true}}}"#
        #expect(try scene.verdict(open).notes.isEmpty)
    }

    @Test("an alert that says what is wrong is explained, with what to do")
    func alerts() throws {
        func cause(_ alert: UInt8, _ host: String, os: String = "macos26") throws -> (message: String, fix: String?) {
            let requirements = try decide("https://\(host)/", os: os).requirements
            let verdict = evaluate(requirements, failed: .alert(level: 2, description: alert), host: host)
            let cause = try #require(verdict.causes.first)
            return (cause.message, Remediation(for: cause)?.server)
        }
        #expect(try cause(80, "api.example.com").message.contains("failed itself"))
        #expect(try cause(80, "api.example.com").fix?.contains("the app can do nothing") == true)
        #expect(try cause(112, "api.example.com").message.contains("no site of that name"))
        #expect(try cause(112, "api.example.com").fix?.contains("certificate for this host") == true)
        #expect(try cause(112, "192.0.2.1").message.contains("a ClientHello without a name"))
        #expect(try cause(112, "192.0.2.1").fix?.contains("load by a host name") == true)
        #expect(try cause(112, "192.0.2.1", os: "ios12").message.contains("no site of that name"))
    }

    /// A server that asked for no certificate refuses none: with bad_certificate it means something else. certificate_required says that it asks.
    @Test(arguments: [
        (42, "ats.tls.handshake-failed", "-1200, stream code -9825"),
        (116, "ats.tls.client-certificate-required", "-1206"),
    ])
    func alertsAboutTheAppsCertificate(_ alert: UInt8, _ code: String, _ number: String) throws {
        let requirements = try decide("https://api.example.com/").requirements
        let verdict = evaluate(requirements, failed: .alert(level: 2, description: alert), host: "api.example.com")
        #expect(verdict.causes.map(\.code.rawValue) == [code] && verdict.error.number == "NSURLErrorDomain \(number)")
        // Who reads the number or the alert alone has that cause among those that it may have.
        let ofNumber = verdict.error.streamCode.flatMap(ErrorNumber.stream) ?? ErrorNumber.url(verdict.error.code)
        #expect(ofNumber?.codes.map(\.rawValue).contains(code) == true)
        #expect(ConnectionCauses.codes(ofAlert: alert).map(\.rawValue).contains(code))
    }

    /// SecBase.h has a number for each alert but one, whose number is not read as that of a server without TLS.
    @Test(arguments: [
        (UInt8(86), -9860, "errSSLInappropriateFallback"), (109, -9861, "errSSLMissingExtension"),
        (110, -9855, "errSSLUnsupportedExtension"), (112, -9865, "errSSLUnrecognizedName"),
        (113, -9862, "errSSLBadCertificateStatusResponse"), (115, -9864, "errSSLUnknownPSKIdentity"),
        (120, -9800, "errSSLProtocol"),
    ])
    func numbersOfAlerts(_ alert: UInt8, _ number: Int, _ name: String) {
        #expect(URLLoadError.streamCode(ofAlert: alert) == number)
        #expect(ErrorNumber.stream(number)?.name == name)
        #expect(ConnectionCauses.codes(ofAlert: alert) == [.tlsHandshakeFailed])
    }

    @Test("a leaf that is installed itself is no authority above itself, and is judged once")
    func ownAnchor() throws {
        var scene = Scene()
        scene.isSelfSigned = true
        scene.isOwnAnchor = true
        func pinned(_ key: String) -> String {
            let pin = #"[{"SPKI-SHA256-BASE64":"\#(EvaluationTests.leafPin)"}]"#
            return #"{"NSPinnedDomains":{"api.example.com":{"\#(key)":\#(pin)}}}"#
        }
        let verdict = try scene.verdict(pinned("NSPinnedCAIdentities"))
        #expect(verdict.causes.map(\.code) == ["ats.trust.pin-mismatch"])
        #expect(verdict.error == .secureConnectionFailed(-9802))
        #expect(RefusalNumbers.causes(stream: -9802).contains("ats.trust.pin-mismatch"))
        #expect(try scene.verdict(pinned("NSPinnedLeafIdentities")).passed)
        #expect(try scene.verdict(at: "2027-06-01").causes.map(\.code) == ["ats.trust.expired"])
    }

    @Test("pins reach one label down, and entries are joined")
    func pinReach() throws {
        let entry =
            #"{"NSIncludesSubdomains":true,"NSPinnedLeafIdentities":[{"SPKI-SHA256-BASE64":"\#(EvaluationTests.rootPin)"}]}"#
        #expect(try !Scene().verdict(#"{"NSPinnedDomains":{"example.com":\#(entry)}}"#).passed)
        #expect(try Scene().verdict(#"{"NSPinnedDomains":{"com":\#(entry)}}"#).passed)
        let own = #"{"NSPinnedLeafIdentities":[{"SPKI-SHA256-BASE64":"\#(EvaluationTests.leafPin)"}]}"#
        #expect(try Scene().verdict(#"{"NSPinnedDomains":{"example.com":\#(entry),"api.example.com":\#(own)}}"#).passed)
    }

    @Test(
        "wildcards: one whole label, never two, never a top level",
        arguments: [
            ("*.example.com", true), ("*.com", false), ("a*.example.com", false), ("API.EXAMPLE.COM", true),
            ("*.api.example.com", false),
        ]
    )
    func wildcards(pattern: String, covers: Bool) throws {
        var scene = Scene()
        scene.names = AlternativeNames(dnsNames: [pattern], addresses: [])
        #expect(try scene.verdict().passed == covers)
    }

    @Test(
        "a wide handshake that ended at the group tells nothing of a broken hello, one with certificates does, readable or not"
    )
    func handshakeCutShortAtTheGroup() throws {
        let requirements = try decide("https://api.example.com/").requirements
        var widest = HandshakeObservation(
            version: .tls13, suite: .aes128GCMSHA256, group: NamedGroup(rawValue: 30),
            keyPossession: .unproven("The key exchange cannot be done here"), usedHelloRetryRequest: true)
        func code() -> Code? {
            let broken = HandshakeOutcome.protocolError("The server broke the protocol")
            return evaluate(requirements, failed: broken, host: "api.example.com", widest: widest).causes.first?.code
        }
        #expect(widest.endsAtGroup && code() == "ats.tls.handshake-failed")
        widest.certificates = [[0x30, 0x00]]
        #expect(!widest.endsAtGroup && code() == "ats.tls.no-common-group")
        widest.usedHelloRetryRequest = false
        widest.certificates = []
        #expect(!widest.endsAtGroup)
    }

    @Test("what stood in the way of a failed hello is told from what the server does otherwise")
    func failedHello() throws {
        let requirements = try decide("https://api.example.com/").requirements
        let refused = evaluate(requirements, failed: .alert(level: 2, description: 40), host: "api.example.com")
        #expect(
            refused.isDetermined && refused.causes.first?.code == "ats.tls.no-common-suite"
                && refused.error.streamCode == -9824)
        let old = HandshakeObservation(version: .tls10, suite: .ecdheRSAWithAES128CBCSHA, keyPossession: .proven)
        let explained = evaluate(
            requirements, failed: .alert(level: 2, description: 70), host: "api.example.com", widest: old)
        #expect(explained.causes.first?.code == "ats.tls.version-too-low" && explained.error.streamCode == -9836)
        // The first systems name an address as the server, the widest hello does not.
        let address = try decide("https://127.0.0.1/", os: "ios10").requirements
        let modern = HandshakeObservation(
            version: .tls12, suite: .ecdheRSAWithAES128GCMSHA256, signatureScheme: .rsaPSSSHA256,
            keyPossession: .proven)
        for (description, isName) in [(UInt8(47), true), (112, true), (40, false)] {
            let verdict = evaluate(
                address, failed: .alert(level: 2, description: description), host: "127.0.0.1", widest: modern)
            #expect(
                verdict.causes.first.map { $0.code == .tlsHandshakeFailed && $0.message.contains("names the address") }
                    == isName, "\(verdict.causes)")
        }
        for (failure, code) in [
            (ConnectionFailure.refused, Code(rawValue: "ats.net.refused")), (.timeout, "ats.net.timeout"),
            (.reset, "ats.net.reset"), (.closed, "ats.net.closed"), (.notTLS(prefix: []), "ats.net.not-tls"),
            (.nameNotFound("nobody knows it"), "ats.net.dns"),
        ] {
            let verdict = evaluate(requirements, failed: .connection(failure), host: "api.example.com")
            if case .nameNotFound(let reason) = failure {
                #expect(
                    verdict.causes.first?.message == "The name api.example.com cannot be resolved: \(reason).")
            }
            #expect(!verdict.isDetermined && verdict.causes.first?.code == code)
        }
    }
}

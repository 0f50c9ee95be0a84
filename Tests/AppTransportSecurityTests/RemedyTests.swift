// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel
import Testing
import Vocabulary

@testable import AppTransportSecurity

/// What is proposed helps, says all that must be written, and gives up no more than it must.
@Suite struct RemedyTests {
    @Test(
        "The keys that lift a block are those that the system obeys for this host",
        arguments: [
            // An address: entries name it since iOS 17, and before that it is local unless the app says otherwise.
            ("http://203.0.113.5/", "{}", "ios18", "203.0.113.5.NSExceptionAllowsInsecureHTTPLoads = YES"),
            ("http://203.0.113.5/", #"{"NSAllowsLocalNetworking":false}"#, "ios16", "NSAllowsLocalNetworking = YES"),
            ("http://192.168.1.5/", #"{"NSAllowsLocalNetworking":false}"#, "ios18", "NSAllowsLocalNetworking = YES"),
            ("http://127.0.0.1/", "{}", "ios9", "NSAllowsArbitraryLoads = YES"),
            ("https://127.0.0.1/", "{}", "ios9", "NSAllowsArbitraryLoads = YES"),
            // A local name.
            ("http://nas.local/", #"{"NSAllowsLocalNetworking":false}"#, "ios18", "NSAllowsLocalNetworking = YES"),
            ("http://intranet/", "{}", "ios9", "intranet.NSExceptionAllowsInsecureHTTPLoads = YES"),
            ("https://intranet/", "{}", "ios9", "intranet = {}"),
            // The entry that decides is the one to change.
            (
                "http://100.64.1.2/", #"{"NSExceptionDomains":{"100.64.0.0/16":{}}}"#, "ios18",
                "100.64.0.0/16.NSExceptionAllowsInsecureHTTPLoads = YES"
            ),
            (
                "http://a.example.com/", #"{"NSExceptionDomains":{"example.com":{"NSIncludesSubdomains":true}}}"#,
                "ios18", "a.example.com.NSExceptionAllowsInsecureHTTPLoads = YES"
            ),
        ] as [(String, String, String, String)])
    func blocked(_ url: String, _ json: String, _ os: String, _ wanted: String) throws {
        let keys = Remedy.keys(Remedy.forBlocked(try decide(url, json, os: os)))
        #expect(keys.replacing("NSExceptionDomains.", with: "") == wanted)
    }

    @Test(
        "The keys for a server keep what the deciding entry says besides",
        arguments: [
            (
                #""api.example.com":{"NSExceptionMinimumTLSVersion":"TLSv1.3"}"#,
                "NSExceptionMinimumTLSVersion = TLSv1.2"
            ),
            (
                #""example.com":{"NSIncludesSubdomains":true,"NSExceptionAllowsInsecureHTTPLoads":true,"NSExceptionMinimumTLSVersion":"TLSv1.3"}"#,
                "NSExceptionAllowsInsecureHTTPLoads = YES, NSExceptionMinimumTLSVersion = TLSv1.2"
            ),
        ])
    func refused(_ entry: String, _ wanted: String) throws {
        let decision = try decide("https://api.example.com/", #"{"NSExceptionDomains":{\#(entry)}}"#)
        let remedies = Remedy.forRefused(decision, Scene().facts, at: Scene.date("2026-06-01"), logs: nil)
        #expect(Remedy.keys(remedies).replacing("NSExceptionDomains.api.example.com.", with: "") == wanted)
        #expect(Remedy.sentence(remedies).contains("would allow this connection"))
    }

    @Test("A minimum that the entry has lowered already is not raised")
    func lowMinimum() throws {
        let json = #"{"NSExceptionDomains":{"api.example.com":{"NSExceptionMinimumTLSVersion":"TLSv1.0"}}}"#
        let url = try LoadURL("https://api.example.com/")
        let edits = ExceptionLadder.edits(of: try dictionary(json), for: url, on: .standard)
        #expect(edits.allSatisfy { $0.exceptions["api.example.com"]?.minimumTLSVersion == .tls10 })
    }

    @Test("What the server must do is what is missing", arguments: [("TLSv1.3", "enable TLS 1.3"), ("TLSv1.2", nil)])
    func tls13(_ minimum: String, _ wanted: String?) throws {
        let json = #"{"NSExceptionDomains":{"api.example.com":{"NSExceptionMinimumTLSVersion":"\#(minimum)"}}}"#
        let decision = try decide("https://api.example.com/", json)
        let verdict = evaluate(
            decision.requirements, Scene().facts, host: "api.example.com", at: Scene.date("2026-06-01"))
        let fix = verdict.causes.first.flatMap { Remediation(for: $0)?.server }
        #expect(fix?.contains(wanted ?? "") == wanted.map { _ in true })
        let old = try decide("https://api.example.com/", json, os: "macos10.14")
        let refused = evaluate(old.requirements, Scene().facts, host: "api.example.com", at: Scene.date("2026-06-01"))
        let advice = refused.causes.first.flatMap { Remediation(for: $0)?.server }
        #expect(advice?.contains("write TLSv1.2") == wanted.map { _ in true })
    }

    @Test("Where iOS 9 blocks a host over https too, https alone is no advice", arguments: ["127.0.0.1", "intranet"])
    func firstSystems(_ host: String) throws {
        for scheme in ["http", "https"] {
            let decision = try decide("\(scheme)://\(host)/", os: "ios9")
            let fix = try #require(decision.failures.first.flatMap { Remediation(for: $0)?.server })
            #expect(fix.contains("full host name"))
            #expect(try decide("https://nas.example.com/", os: "ios9").verdict != .blocked)
        }
    }

    @Test(
        "Installing the root is advised only if nothing else is wrong with the certificate",
        arguments: [
            ("macos26", 800.0, "api.example.com", true), ("macos26", 3650, "api.example.com", true),
            ("ios26", 3650, "api.example.com", false), ("macos26", 800, "a.example", false),
        ])
    func installing(_ os: String, _ days: Double, _ host: String, _ isAdvised: Bool) throws {
        var scene = Scene()
        (scene.isSelfSigned, scene.anchor, scene.days, scene.host) = (true, nil, days, host)
        let causes = try scene.verdict(os: os).causes
        #expect(causes.first?.code == .trustSelfSigned)
        #expect(AppTrust.sentence(keys: nil, after: causes).contains("install the root") == isAdvised, "\(causes)")
        (scene.anchor, scene.isOwnAnchor) = (.installed, true)
        #expect(try scene.verdict(os: os).passed == isAdvised)
    }

    @Test("Nobody is advised to accept a revoked certificate", arguments: [false, true])
    func revoked(_ isRevoked: Bool) throws {
        var scene = Scene()
        scene.host = "other.example.com"
        if isRevoked { scene.staple = .revoked(Scene.date("2026-05-01"), reason: 1) }
        let decision = try decide("https://other.example.com/")
        let remedies = Remedy.forRefused(decision, scene.facts, at: Scene.date("2026-06-01"), logs: nil)
        #expect(remedies.isEmpty == isRevoked)
        #expect(!remedies.contains { !$0.needsDelegate })
    }

    @Test("Where sources contradict each other about what is broken, nothing is said to help")
    func disputed() throws {
        let json = #"{"NSExceptionDomains":{"api.example.com":{"NSRequiresCertificateTransparency":true}}}"#
        let decision = try decide("https://api.example.com/", json, os: "ios13")
        let remedies = Remedy.forRefused(decision, Scene().facts, at: Scene.date("2026-06-01"), logs: nil)
        #expect(remedies.isEmpty, "\(remedies)")
    }

    @Test("Beside a client certificate that is asked for, no connection is promised")
    func asked() throws {
        var scene = Scene()
        (scene.isSelfSigned, scene.anchor) = (true, nil)
        var handshake = scene.facts.handshake
        handshake.requestsClientCertificate = true
        for (facts, isAsked) in [
            (scene.facts, false), (ConnectionFacts(handshake: handshake, chain: scene.facts.chain), true),
        ] {
            let remedies = Remedy.forRefused(
                try decide("https://api.example.com/"), facts, at: Scene.date("2026-06-01"), logs: nil)
            #expect(Remedy.sentence(remedies).contains("let this connection through"))
            #expect(Remedy.sentence(remedies).contains("asks for a client certificate too") == isAsked)
        }
    }

    @Test("Where pins cut a host off over https, https alone is no advice")
    func unusablePins() throws {
        let json = #"{"NSPinnedDomains":{"api.example.com":{"NSPinnedLeafIdentities":[]}}}"#
        let cause = try #require(try decide("http://api.example.com/", json).failures.first)
        #expect(cause.code == .cleartextBlocked && Remediation(for: cause)?.server.contains("usable pin") == true)
    }

    @Test("A public CA is advised only for hosts that one issues for")
    func publicAuthorities() throws {
        for (host, isPrivate) in [
            ("localhost", true), ("nas.local", true), ("intranet", true), ("app.internal", true), ("nas.lan", true),
            ("nas.lan.", true), ("nas.home.arpa", true), ("a.test", true), ("10.1.2.3", true), ("::1", true),
            ("100.64.0.1", true), ("fd00::1", true), ("app.localhost", true), ("8.8.8.8", false),
            ("api.example.com", false), ("internal.example.com", false), ("mytest", true), ("lan.example", false),
        ] {
            #expect(LocalHosts.hasNoPublicCA(host) == isPrivate, "\(host)")
            for code in [Code.trustSelfSigned, .trustUnknownRoot] {
                let fix = try #require(Remediation(for: code, at: host)?.server)
                #expect(fix.contains("CA of your own") == isPrivate, "\(host) \(fix)")
                #expect(fix.contains("use a certificate from a public CA") != isPrivate, "\(host) \(fix)")
            }
        }
        var scene = Scene()
        (scene.isSelfSigned, scene.anchor, scene.host) = (true, nil, "nas.local")
        let cause = try #require(try scene.verdict().causes.first)
        #expect(cause.code == .trustSelfSigned && Remediation(for: cause)?.server.contains("CA of your own") == true)
    }
}

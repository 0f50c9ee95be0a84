// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Testing
import Vocabulary

@testable import TrustService

/// `requireHost`: what was signed for another server is no proof here.
@Suite struct SignedHostTests {
    private func configuration(_ change: (inout Configuration) -> Void = { _ in }) -> Configuration {
        RunningService.configuration {
            $0.hosts = ["api.example.com"]
            $0.apps[0].requireHost = true
            change(&$0)
        }
    }

    private func host(_ name: JSONValue) -> [JSONValue.Member] { [.init("host", name)] }

    @Test func onlyTheHostsOfTheServiceAreTaken() async throws {
        try await RunningService.with(configuration()) { service in
            let (phone, keyId) = try await Phone.attested(service)
            for (name, verdict) in [
                ("api.example.com", "200"), ("API.example.com:8443", "200"), ("127.0.0.1:1", "200"),
                ("localhost", "200"), ("api.example.com.evil.example", "403 policy.host"),
                ("evil.example", "403 policy.host"), ("203.0.113.5", "403 policy.host"), ("", "403 policy.host"),
                ("https://api.example.com", "403 policy.host"), ("user@api.example.com", "403 policy.host"),
                ("api.example.com:443@evil.example", "403 policy.host"), ("api.example.com/x", "403 policy.host"),
            ] as [(JSONValue, String)] {
                let body = try await phone.assertion(keyId, extra: host(name))
                #expect(try await phone.assert(body).verdict == verdict, "\(name)")
            }
            for extra in [[], host(7), host(["api.example.com"])] {
                let body = try await phone.assertion(keyId, extra: extra)
                #expect(try await phone.assert(body).verdict == "403 policy.host")
                #expect(try await service.post("/v1/apps/shop/tokens", body).verdict == "403 policy.host")
            }
            // The host is signed: who changes it has no proof.
            let challenge = try await phone.challenge("assert")
            let text = #"{"challenge":"\#(Base64.encode(challenge))","host":"%"}"#
            let forged = try await phone.signed(
                keyId, Array(text.replacing("%", with: "api.example.com").utf8),
                over: Array(text.replacing("%", with: "evil.example").utf8))
            #expect(try await phone.assert(forged).verdict == "403 assert.signature.invalid")
            // With the challenge beside the client data, which need not be JSON.
            let plain = Array("order 7".utf8)
            let beside = try await phone.signed(keyId, plain, over: plain + challenge, challenge: challenge)
            #expect(try await phone.assert(beside).verdict == "403 policy.host")
        }
    }

    @Test func aRefusedHostChangesNothing() async throws {
        try await RunningService.with(configuration()) { service in
            let (phone, keyId) = try await Phone.attested(service)
            let challenge = try await phone.challenge("assert")
            let refused = try await phone.assertion(keyId, challenge: challenge)
            #expect(try await phone.assert(refused).verdict == "403 policy.host")
            let good = try await phone.assertion(keyId, challenge: challenge, extra: host("api.example.com"))
            #expect(try await service.post("/v1/apps/shop/tokens", good).status == 200)
        }
    }

    @Test func itIsOffUnlessTheAppRequiresIt() async throws {
        try await RunningService.with(RunningService.configuration()) { service in
            let (phone, keyId) = try await Phone.attested(service)
            for extra in [[], host("evil.example")] {
                #expect(try await phone.assert(try await phone.assertion(keyId, extra: extra)).status == 200)
            }
        }
        let watched = configuration { $0.apps[0].mode = .monitor }
        try await RunningService.with(watched) { service in
            let (phone, keyId) = try await Phone.attested(service)
            let reply = try await phone.assert(try await phone.assertion(keyId))
            #expect(reply.status == 200 && reply["enforcement"]?.member("code") == "policy.host")
        }
    }

    @Test func aHostMustBeNamedSomewhere() {
        for (listen, hosts, isWrong) in [
            ("0.0.0.0", [], true), ("::", [], true), ("0.0.0.0", ["api.example.com"], false),
            ("trust.example.com", [], false), ("127.0.0.1", [], false),
        ] {
            let settings = configuration {
                $0.listen = ListenAddress(host: listen, port: 0)
                $0.hosts = hosts
            }
            let places = settings.issues.map(\.description).filter { $0.contains("apps[0].requireHost") }
            #expect(places.isEmpty != isWrong, "\(listen) \(hosts)")
        }
        #expect(
            SignedHosts(configuration { $0.listen = ListenAddress(host: "2001:db8::1", port: 0) })
                .contains("[2001:DB8:0::1]:8443"))
    }
}

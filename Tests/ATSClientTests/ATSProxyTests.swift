// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import PropertyLists
import TLSProbe
import TestSupport
import Testing
import Vocabulary

/// The proxy on a free port, for the length of one test.
struct RunningProxy: Sendable {
    let proxy: ATSProxy
    let port: Int
    let events: Recorder

    /// What comes back for a request that is written as it stands.
    func exchange(
        _ text: String, after: (String, String)? = nil, limit: TimeAmount = .seconds(10), keeps size: Int = .max
    ) async throws -> String {
        try await RawConnection.exchange(port: port, send: text, after: after, limit: limit, keeps: size)
    }

    func status(_ text: String) async -> String { await RawConnection.status(port: port, send: text) }

    /// What curl loads through the proxy, whatever the certificate of the server.
    func curl(_ arguments: String...) async throws -> ProgramRun {
        try await Programs.run("curl", ["-sk", "-m", "30", "-x", "http://127.0.0.1:\(port)"] + arguments)
    }

    actor Recorder {
        private(set) var all: [ATSProxy.Event] = []
        func add(_ event: ATSProxy.Event) { all.append(event) }
    }

    /// Waits until the proxy counts no connection; whether it does before the limit.
    func becomesEmpty(within limit: Duration) async -> Bool {
        (try? await eventually("nothing stays open", within: limit) { proxy.openConnections == 0 }) != nil
    }

    static func with(
        _ json: String = "{}", os: String = "macos26", sdk: Int? = nil,
        change: (inout ATSProxy.Configuration) -> Void = { _ in }, body: @Sendable (RunningProxy) async throws -> Void
    ) async throws {
        let overrides = try Fixture.servers.resolveEntries.map { try AddressOverride($0) }
        try await plain(
            policy: try Fixture.policy(json, os: os, sdk: sdk),
            fetcher: HTTPIntermediateFetcher(group: MultiThreadedEventLoopGroup.singleton), trust: try Fixture.trust(),
            {
                $0.addressOverrides = overrides
                change(&$0)
            }, body: body)
    }

    /// One that needs neither roots nor exceptions to lead to plain HTTP on loopback.
    static func plain(
        policy: ATSPolicy? = nil, fetcher: (any IntermediateFetcher)? = nil, trust: TrustAnchors = TrustAnchors(),
        _ change: (inout ATSProxy.Configuration) -> Void = { _ in }, body: @Sendable (RunningProxy) async throws -> Void
    ) async throws {
        var configuration = ATSProxy.Configuration()
        configuration.port = 0
        configuration.connectTimeout = .seconds(3)
        change(&configuration)
        let (ports, announce) = AsyncStream.makeStream(of: Int.self)
        let recorder = Recorder()
        let proxy = try ATSProxy(
            policy: try policy ?? Fixture.policy("{}"), trust: trust, fetcher: fetcher, configuration: configuration,
            onListening: { _, port in announce.yield(port) }, onEvent: { event in Task { await recorder.add(event) } })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await proxy.run() }
            var iterator = ports.makeAsyncIterator()
            let port = try #require(await iterator.next())
            try await body(RunningProxy(proxy: proxy, port: port, events: recorder))
            group.cancelAll()
        }
    }
}

@Suite(.enabled(if: LoopbackServers.isAvailable && Programs.has("curl")))
struct ATSProxyTests {
    @Test(
        "curl through CONNECT: what complies arrives, what does not gets 403 or, where nothing answers, 502",
        arguments: [
            ("modern", "200", 0), ("http2", "200", 0), ("tls13-only", "200", 0), ("expired", "403", 56),
            ("self-signed", "403", 56), ("tls11-only", "403", 56), ("suite-static-aes128-gcm-sha256", "403", 56),
            ("plain-http", "502", 56), ("refused", "502", 56), ("closing", "502", 56),
        ]
    )
    func connect(kind: String, status: String, exit: Int) async throws {
        try await RunningProxy.with { running in
            let server = try Fixture.server(kind)
            let result = try await running.curl("-o", "/dev/null", "-w", "%{http_connect} %{http_code}", server.url)
            #expect(result.status == Int32(exit), "\(result.errors)")
            #expect(result.output.contains(status), "\(result.output)")
        }
    }

    @Test("The refusal explains itself: cause, error and key")
    func explanation() async throws {
        try await RunningProxy.with(sdk: 18) { running in
            let server = try Fixture.server("tls11-only")
            let answer = try await running.exchange(
                "CONNECT \(server.host):\(server.port) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 403 "))
            #expect(answer.contains("ats.tls.version-too-low"))
            #expect(answer.contains("NSExceptionMinimumTLSVersion = TLSv1.1"))
            #expect(answer.contains("-1200"))
        }
    }

    @Test("Monitor mode lets through and reports")
    func monitor() async throws {
        try await RunningProxy.with(change: { $0.isMonitoring = true }) { running in
            let result = try await running.curl(try Fixture.server("expired").url)
            #expect(result.status == 0, "\(result.errors)")
            #expect(await running.events.all.map(\.result).contains(.wouldRefuse))
        }
    }

    @Test("Something that is not TLS goes nowhere, even into a tunnel that was opened")
    func cleartextInTunnel() async throws {
        try await RunningProxy.with { running in
            let server = try Fixture.server("modern")
            let answer = try await running.exchange(
                "CONNECT \(server.host):\(server.port) HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(answer == "HTTP/1.1 200 Connection established\r\n\r\n")
        }
    }

    @Test(
        "What a program negotiates is no matter of the app's: the server was judged by the app's own handshake",
        arguments: [false, true])
    func watchedHandshake(offersLess: Bool) async throws {
        try await RunningProxy.with { running in
            // A client that offers less than the app would make this server choose a suite without forward secrecy.
            let server = try Fixture.server("tls13-and-static-12")
            var arguments = ["-sk", "-m", "20", "-x", "http://127.0.0.1:\(running.port)", server.url]
            if offersLess { arguments += ["--tls-max", "1.2", "--ciphers", "AES128-GCM-SHA256:@SECLEVEL=0"] }
            let result = try await Programs.run("curl", arguments)
            #expect(result.status == 0, "\(result.errors)")
        }
    }

    @Test("A server that asks for a second hello is reached through a tunnel")
    func helloRetryRequest() async throws {
        try await RunningProxy.with { running in
            let server = try Fixture.server("group-p384")
            let result = try await running.curl(server.url)
            #expect(result.status == 0, "\(result.errors)")
        }
    }

    @Test(
        "The proxy refuses itself, link-local and metadata addresses",
        arguments: [
            "169.254.169.254:80", "169.254.1.1:443", "[fe80::1]:443", "100.100.100.200:443", "0.0.0.0:443", "self",
        ]
    )
    func forbidden(target: String) async throws {
        try await RunningProxy.with { running in
            let place = target == "self" ? "127.0.0.1:\(running.port)" : target
            let answer = try await running.exchange("CONNECT \(place) HTTP/1.1\r\nConnection: close\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 403 "), "\(answer)")
            let plain = try await running.exchange(
                "GET http://\(place)/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            #expect(plain.hasPrefix("HTTP/1.1 403 "), "\(plain)")
            #expect(answer.contains("ats.proxy.forbidden-address"), "\(answer)")
            // In cleartext the policy may have refused before the name was even resolved.
            #expect(
                ["ats.proxy.forbidden-address", "ats.cleartext.blocked"].contains { plain.contains($0) }, "\(plain)")
        }
    }

    @Test(
        "Requests that are none get an answer, and nothing else happens",
        arguments: [
            ("GET / HTTP/1.1\r\nHost: x\r\n", "400"), ("CONNECT nonsense HTTP/1.1\r\n", "400"),
            ("CONNECT a/b:443 HTTP/1.1\r\n", "400"), ("CONNECT a.example?b:443 HTTP/1.1\r\n", "400"),
            ("GET https://api.example.com/ HTTP/1.1\r\nHost: x\r\n", "400"),
            ("\u{1}\u{2}\u{3}\r\n", "400"),
        ]
    )
    func malformed(request: String, status: String) async throws {
        try await RunningProxy.with { running in
            let answer = try await running.exchange(request + "Connection: close\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
        }
    }

    @Test("Beyond loopback only with passwords, and then only with the right one")
    func credentials() async throws {
        var open = ATSProxy.Configuration()
        open.listenAddress = "0.0.0.0"
        #expect(throws: ATSProxy.Misconfiguration.self) {
            try ATSProxy(policy: try Fixture.policy("{}"), trust: try Fixture.trust(), configuration: open)
        }
        let url = try Fixture.server("modern").url
        try await RunningProxy.with(change: { $0.credentials = ["me:secret"] }) { running in
            for (user, status) in [("me:secret", Int32(0)), ("me:wrong", 56), ("", 56)] {
                let proxy =
                    user.isEmpty ? "http://127.0.0.1:\(running.port)" : "http://\(user)@127.0.0.1:\(running.port)"
                let result = try await Programs.run("curl", ["-sk", "-m", "20", "-x", proxy, url])
                #expect(result.status == status, "\(user): \(result.errors)")
            }
        }
    }

    @Test("A wrong password ends the connection, a missing one does not, and too many are not looked at")
    func wrongPasswords() async throws {
        try await RunningProxy.with(change: { $0.credentials = ["me:secret"] }) { running in
            func ask(_ fields: String) async throws -> String {
                let request = "GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
                // Two at once: what comes after a wrong one is not answered.
                return try await running.exchange(request + request, limit: .seconds(2))
            }
            let (wrong, right) = ("bWU6d3Jvbmc=", "bWU6c2VjcmV0")
            #expect(try await ask("").components(separatedBy: "HTTP/1.1 407 ").count == 3)
            #expect(try await !ask("Proxy-Authorization: Basic \(right)\r\n").contains(" 407 "))
            // One comes back each second, so a slow machine answers some more with 407.
            var answers = ""
            for _ in 0..<400 where !answers.contains(" 429 ") {
                let answer = try await ask("Proxy-Authorization: Basic \(wrong)\r\n")
                #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2, "\(answer)")
                answers += answer
            }
            #expect(answers.contains("HTTP/1.1 429 "))
        }
    }

    @Test("What the policy itself blocks over TLS too is refused without a probe", arguments: [false, true])
    func blockedAddress(isMonitoring: Bool) async throws {
        let port = try Fixture.server("modern").port
        try await RunningProxy.with(os: "ios9", change: { $0.isMonitoring = isMonitoring }) { running in
            let answer = try await running.exchange(
                "CONNECT 127.0.0.1:\(port) HTTP/1.1\r\nConnection: close\r\n\r\n",
                limit: .seconds(2))
            #expect(answer.hasPrefix("HTTP/1.1 \(isMonitoring ? 200 : 403) "), "\(answer)")
            #expect(answer.contains("ats.local.blocked") == !isMonitoring)
            #expect(answer.contains("NSAllowsArbitraryLoads = true") == !isMonitoring)
            try await eventually("it is noted") { await !running.events.all.isEmpty }
            #expect(await running.events.all.map(\.result) == [isMonitoring ? .wouldRefuse : .refused])
        }
    }

    @Test("An answer that comes before the request is over reaches its client: from the server, and a refusal")
    func earlyAnswer() async throws {
        try await PlainServer.with { server in
            let blocked = AddressOverride(host: LoopbackServers.otherHost, port: server.port, address: "127.0.0.1")
            try await RunningProxy.with(change: { $0.addressOverrides = [blocked] }) { running in
                let folder = try TemporaryDirectory()
                try Data(repeating: 7, count: 10_000_000).write(to: URL(fileURLWithPath: folder.path("body")))
                let common = [
                    "-s", "-m", "20", "-x", "http://127.0.0.1:\(running.port)", "-w", " %{http_code}", "--data-binary",
                    "@" + folder.path("body"),
                ]
                let early = try await Programs.run("curl", common + [server.url + "/hasty"])
                #expect(early.output == "hasty 413", "\(early)")
                let refused = try await Programs.run(
                    "curl", common + ["http://\(LoopbackServers.otherHost):\(server.port)/"])
                #expect(refused.output.contains("ats.cleartext.blocked"), "\(refused)")
                #expect(refused.output.hasSuffix(" 403"))
            }
        }
    }

    @Test("A client that waits for 100 Continue is told to go on, where the policy lets its request through")
    func expectContinue() async throws {
        try await PlainServer.with { server in
            try await RunningProxy.with { running in
                let answer = try await running.exchange(
                    "POST \(server.url)/count HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                        + "Expect: 100-continue\r\nConnection: close\r\n\r\n", after: ("100 Continue\r\n\r\n", "hello"))
                #expect(answer.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"), "\(answer)")
                #expect(answer.hasSuffix("\r\n\r\n5"), "\(answer)")
                let refused = try await running.exchange(
                    "POST http://\(LoopbackServers.otherHost)/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                        + "Expect: 100-continue\r\nConnection: close\r\n\r\n")
                #expect(refused.hasPrefix("HTTP/1.1 403 "), "\(refused)")
            }
        }
    }

    @Test(
        "Connections over the limit are closed at once, header fields over theirs get 400, and a request that never ends is cut"
    )
    func limits() async throws {
        try await RunningProxy.with(
            change: {
                $0.connectionLimit = 2
                $0.headerLimit = 2_000
                $0.requestTimeout = .milliseconds(500)
            }
        ) { running in
            let request = "CONNECT \(LoopbackServers.host):1 HTTP/1.1\r\n"
            let large = request + String(repeating: "X-Field: " + String(repeating: "a", count: 400) + "\r\n", count: 8)
            #expect(await running.status(large + "\r\n") == "400")
            // Two that say nothing hold the places; a third is turned away; when they are cut, there is room again.
            try await eventually("nothing stays open") { running.proxy.openConnections == 0 }
            async let first = running.status("CONN")
            async let second = running.status("CONN")
            let third = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
            try await eventually("both are there") { running.proxy.openConnections == 2 }
            #expect(await running.status(third) == "closed")
            try await eventually("there is room") { await running.status(third) == "400" }
            #expect(await [first, second] == ["closed", "closed"])
        }
    }

    @Test(
        "When connections without a request take all places, the longest idle one makes room for a client of another address"
    )
    func idleClientsMakeRoom() async throws {
        try await RunningProxy.with(change: { $0.connectionLimit = 2 }) { running in
            let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
            // One has not begun a request, one has had an answer.
            let held = try (0..<2).map { _ in try LoopbackClient(from: 2, port: running.port) }
            held[1].send(request)
            #expect(await held[1].answer().hasPrefix("HTTP/1.1 400"))
            var honest: [LoopbackClient] = []
            for _ in held {
                let client = try LoopbackClient(from: 3, port: running.port)
                honest.append(client)
                client.send(request)
                #expect(await client.answer().hasPrefix("HTTP/1.1 400"))
            }
            withExtendedLifetime((held, honest)) {}
        }
    }

    @Test("A client that takes nothing of its answer makes room too")
    func unreadAnswersMakeRoom() async throws {
        try await PlainServer.with { server in
            let json = #"{"NSAllowsArbitraryLoads": true}"#
            // The client's connection and the one to the server.
            try await RunningProxy.with(json, change: { $0.connectionLimit = 2 }) { running in
                let slow = try LoopbackClient(from: 2, port: running.port)
                let place = "127.0.0.1:\(server.port)"
                slow.send("GET http://\(place)/bytes/20000000 HTTP/1.1\r\nHost: \(place)\r\n\r\n")
                for _ in 0..<500 where running.proxy.openConnections < 2 {
                    try await Task.sleep(for: .milliseconds(10))
                }
                var answer = ""
                for _ in 0..<500 where answer.isEmpty {
                    try await Task.sleep(for: .milliseconds(10))
                    let honest = try LoopbackClient(from: 3, port: running.port)
                    honest.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    answer = await honest.answer()
                }
                #expect(answer.hasPrefix("HTTP/1.1 400"))
                withExtendedLifetime(slow) {}
            }
        }
    }

    @Test("From traffic to policy: the smallest dictionary that lets all of it through")
    func summary() async throws {
        try await RunningProxy.with(sdk: 18) { running in
            for kind in ["modern", "tls11-only", "expired"] {
                let url = try Fixture.server(kind).url
                _ = try await running.curl(url)
            }
            let summary = await running.proxy.summary()
            #expect(summary.hosts.count == 3)
            #expect(summary.hosts.map(\.refused).reduce(0, +) == 2)
            #expect(
                summary.dictionary.propertyListValue
                    == .dictionary([
                        "NSExceptionDomains": .dictionary([
                            LoopbackServers.host: .dictionary(["NSExceptionMinimumTLSVersion": .string("TLSv1.1")])
                        ])
                    ])
            )
            #expect(summary.impossible == ["\(LoopbackServers.host):\(try Fixture.server("expired").port)"])
        }
    }

    @Test("From traffic to policy: an address that no exception names needs the key for the whole app, which suffices")
    func summaryOfAddresses() async throws {
        try await PlainServer.with { server in
            let place = "http://127.0.0.1:\(server.port)/bytes/1"
            func load(_ json: String) async throws -> (code: String, summary: ProxySummary) {
                let seen = NIOLockedValueBox<(String, ProxySummary)?>(nil)
                try await RunningProxy.with(json, os: "ios9") { running in
                    let result = try await running.curl(
                        "-o", "/dev/null", "-w", "%{http_code}", "--noproxy", "", place)
                    let summary = await running.proxy.summary()
                    seen.withLockedValue { $0 = (result.output, summary) }
                }
                return try #require(seen.withLockedValue { $0 })
            }
            let refused = try await load("{}")
            #expect(refused.code == "403")
            #expect(refused.summary.dictionary == .allowingEverything)
            #expect(refused.summary.impossible == [])
            #expect(try await load("{\"NSAllowsArbitraryLoads\": true}").code == "200")
        }
    }

    @Test("Plain HTTP passes where the dictionary allows it: keep-alive, 10 MB both ways, and urllib")
    func plainHTTP() async throws {
        try await PlainServer.with { server in
            let entry = AddressOverride(host: LoopbackServers.host, port: server.port, address: "127.0.0.1")
            let other = AddressOverride(host: LoopbackServers.otherHost, port: server.port, address: "127.0.0.1")
            let allowed = Fixture.exception("\"NSExceptionAllowsInsecureHTTPLoads\":true")
            try await RunningProxy.with(allowed, change: { $0.addressOverrides = [entry, other] }) { running in
                let proxy = "http://127.0.0.1:\(running.port)"
                let base = "http://\(LoopbackServers.host):\(server.port)"
                let big = try await running.curl(
                    "-o", "/dev/null", "-w", "%{size_download}", base + "/bytes/10000000")
                #expect(big.output == "10000000", "\(big.errors)")
                let two = try await running.curl("-w", "%{num_connects}\n", base + "/bytes/1", base + "/bytes/1")
                #expect(two.output.contains("1\n") && two.output.hasSuffix("0\n"), "\(two.output)")
                let folder = try TemporaryDirectory()
                try Data(repeating: 7, count: 10_000_000).write(to: URL(fileURLWithPath: folder.path("body")))
                let up = try await running.curl("--data-binary", "@" + folder.path("body"), base + "/count")
                #expect(up.output == "10000000", "\(up.errors)")
                let script =
                    "import sys,urllib.request as u;o=u.build_opener(u.ProxyHandler({'http':sys.argv[1]}));"
                    + "print(len(o.open(sys.argv[2]).read()))"
                let python = try await Programs.run("python3", ["-c", script, proxy, base + "/bytes/12345"])
                #expect(python.output == "12345\n", "\(python.errors)")
                let blocked = try await running.curl(
                    "-w", "%{http_code}", "http://user:secret@\(LoopbackServers.otherHost):\(server.port)/")
                #expect(blocked.output.hasSuffix("403"))
                #expect(blocked.output.contains("ats.cleartext.blocked"))
                #expect(!blocked.output.contains("secret"))
            }
        }
    }
}

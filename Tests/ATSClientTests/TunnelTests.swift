// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import Foundation
import TestSupport
import Testing
import Vocabulary

/// What programs send through a tunnel arrives as it was.
@Suite(.enabled(if: LoopbackServers.isAvailable))
struct TunnelTests {
    @Test("10 MB both ways, keep-alive, urllib and a WebSocket through CONNECT")
    func intact() async throws {
        try await RunningProxy.with { running in
            let script = LoopbackServers.repository + "/Tests/Vectors/tunnel/tunnel_check.py"
            let result = try await Programs.run(
                "timeout",
                [
                    "60", "python3", script, String(running.port), Fixture.servers.folder, Fixture.servers.authority,
                ])
            let lines = result.output.split(separator: "\n").map(String.init)
            let all = [
                "10 MB down", "10 MB up", "kept alive", "urllib", "curl 10 MB down", "curl 10 MB up", "curl kept alive",
                "websocket",
            ]
            #expect(lines == all, "\(result.errors)")
        }
    }

    @Test(
        "2,000 tunnels leave descriptors and memory as they were",
        .enabled(if: LongForm.isAsked))
    func manyTunnels() async throws {
        let server = try Fixture.server("modern")
        try await RunningProxy.with { running in
            @Sendable func open(_ count: Int) async {
                await withTaskGroup(of: String.self) { group in
                    for index in 0..<count {
                        if index >= 16 { #expect(await group.next() == "200") }
                        group.addTask {
                            await RawConnection.status(
                                port: running.port, send: "CONNECT \(server.host):\(server.port) HTTP/1.1\r\n\r\n")
                        }
                    }
                }
            }
            await open(500)
            let before = (MisbehaviourTests.descriptors(), MisbehaviourTests.residentKilobytes())
            await open(2_000)
            let after = (MisbehaviourTests.descriptors(), MisbehaviourTests.residentKilobytes())
            print("2,000 tunnels: descriptors and kilobytes \(before) before, \(after) after")
            #expect(after.0 <= before.0 + 40)
            #expect(after.1 - before.1 < 8_000)
        }
    }

    @Test(
        "A hello for another host than the tunnel's is cut, logged and counted",
        .enabled(if: Programs.has("openssl")),
        arguments: [
            (["-servername", "api.example.com"], true), (["-servername", "API.Example.com"], true),
            (["-noservername"], true),
            (["-servername", "www.example.com"], false), (["-servername", "api.example.com.evil.example"], false),
        ]
    )
    func serverName(options: [String], isLetThrough: Bool) async throws {
        let server = try Fixture.server("modern")
        try await RunningProxy.with { running in
            let arguments =
                [
                    "20", "openssl", "s_client", "-proxy", "127.0.0.1:\(running.port)", "-connect",
                    "\(server.host):\(server.port)",
                ]
                + options
            let client = try await Programs.run("timeout", arguments)
            #expect(client.output.contains("BEGIN CERTIFICATE") == isLetThrough, "\(client)")
            // Events come on a task of their own, and the list of hosts is older than any of them.
            let host = try #require(await running.proxy.summary(within: .seconds(5)).hosts.first)
            #expect((host.causes.first?.code == "ats.proxy.name-mismatch") == !isLetThrough, "\(host)")
            if !isLetThrough {
                let text = host.causes.first?.message ?? ""
                #expect(text.contains(server.host) && text.contains(options.last ?? "-"))
            }
        }
    }

    @Test(
        "What is refused says why to every kind of program",
        arguments: [
            ("expired", "403", "ats.trust.expired"), ("tls11-only", "403", "ats.tls.version-too-low"),
            ("refused", "502", "ats.net.refused"),
        ]
    )
    func refused(kind: String, status: String, code: String) async throws {
        try await RunningProxy.with { running in
            let server = try Fixture.server(kind)
            let proxy = "http://127.0.0.1:\(running.port)"
            let script =
                "import sys,urllib.request as u\n"
                + "try: u.build_opener(u.ProxyHandler({'https':sys.argv[1]})).open(sys.argv[2],timeout=20)\n"
                + "except OSError as e: print(e)"
            let python = try await Programs.run("python3", ["-c", script, proxy, server.url])
            #expect(python.output.contains("\(status) ") && python.output.contains(code), "\(python)")
            let curl = try await Programs.run("curl", ["-sv", "-m", "20", "-x", proxy, server.url])
            #expect(curl.status == 56 && curl.errors.contains(code), "\(curl)")
            let plain = try await running.exchange(
                "CONNECT \(server.host):\(server.port) HTTP/1.1\r\nConnection: close\r\n\r\n")
            let body = plain.components(separatedBy: "\r\n\r\n").last ?? ""
            #expect(plain.hasPrefix("HTTP/1.1 \(status) ") && body.contains(code), "\(plain)")
        }
    }
}

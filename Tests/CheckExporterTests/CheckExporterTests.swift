// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import Foundation
import HTTPTypes
import Logging
import TLSProbe
import Testing
import Vocabulary

@testable import HTTPService
@testable import sealward

@Suite struct CheckExporterTests {
    @Test(arguments: [
        (nil, 30_000), ("10", 9_500), ("0.2", 500), ("60", 30_000), ("-1", 30_000), ("nan", 30_000), ("inf", 30_000),
        ("1e300", 30_000), ("", 30_000), ("10,5", 30_000), ("00000000000000000000005", 30_000),
    ])
    func aScrapesTimeIsKept(_ text: String?, _ milliseconds: Int) throws {
        var headers = HTTPFields()
        let name = try #require(HTTPField.Name("X-Prometheus-Scrape-Timeout-Seconds"))
        headers[name] = text
        #expect(ExporterResponder.limit(of: headers, atMost: .seconds(30)) == .milliseconds(milliseconds))
    }

    /// A verdict that is no longer "pass" is one of two others, and the rule fires for both.
    @Test func theAlertOfAChangeNamesEachVerdict() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let rules = try String(contentsOf: root.appending(path: "packaging/sealward-ats-alerts.yml"), encoding: .utf8)
        let rule = try #require(
            rules.components(separatedBy: "- alert: ").first { $0.hasPrefix("SealwardVerdictChanged\n") })
        for word in ["passes", "fails", "undetermined"] { #expect(rule.contains(word), "\(rule)") }
    }

    /// Slow paths of one server, and slow servers of one client, leave room for others.
    @Test func nobodyGetsMoreThanHisShare() async throws {
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let checks = SharedChecks(limit: 16, observer: RequestObserver(registry: PrometheusRegistry(), log: log))
        let report = try await CheckSession(.init()).check(CheckTarget("https://127.0.0.1:9"))
        let gate = Task { try? await Task.sleep(for: .seconds(600)) }
        /// Begins a check that ends with the gate, once it has its place or is refused.
        func begin(_ client: String, _ server: String, _ path: Int) async -> Bool {
            let (places, place) = AsyncStream<Bool>.makeStream()
            Task {
                let answer = await checks.report(
                    UTF8Key("\(server)/\(path) \(client)"), for: client, of: server, within: .seconds(60)
                ) {
                    place.yield(true)
                    _ = await gate.value
                    return report
                }
                if case .shareTaken = answer { place.yield(false) }
                if case .busy = answer { place.yield(false) }
            }
            for await isBegun in places { return isBegun }
            return false
        }
        var begun = 0
        for path in 0..<16 { begun += await begin("stranger", "slow", path) ? 1 : 0 }
        #expect(begun == 4)
        // The same server is checked for somebody else, and another server for the same client.
        #expect(await begin("prometheus", "slow", 0))
        for server in 0..<16 { begun += await begin("stranger", "slow\(server)", 0) ? 1 : 0 }
        #expect(begun == 8)
        #expect(await begin("prometheus", "other", 0))
        gate.cancel()
    }

    @Test(arguments: [
        ("a.example", "https://a.example/", true), ("a.example", "https://a.example:8443/x", false),
        ("a.example", "http://a.example/", true), ("a.example:443", "https://a.example", true),
        ("a.example:443", "https://a.example:8443", false), ("a.example", "https://b.a.example", false),
        ("A.example", "https://a.EXAMPLE", true), ("::1", "https://[::1]", true), ("::1", "https://[::1]:9", false),
        ("https://a.example", "https://a.example:8443", false), ("a.example", "https://a.example:80/", true),
        ("https://a.example:8443/x", "https://a.example", false), ("a.example:443", "https://a.example:443/", true),
        ("[::1]", "https://[::1]:9", false),
        ("[::1]:9", "https://[::1]:10", false),
    ])
    func aTargetIsAllowedByHostAndPort(_ rule: String, _ target: String, _ isAllowed: Bool) throws {
        #expect(try AllowedTarget(rule).allows(CheckTarget(target)) == isAllowed)
    }

    /// An address that the operator wrote is his word; what a name server says is not.
    @Test func aNameThatIsAllowedMayBeInside() throws {
        let allowed = try ["in.example", "10.0.0.1:8443", "169.254.169.254"].map { try AllowedTarget($0) }
        for (host, port, address, isReached) in [
            ("in.example", 443, "10.0.0.1", true), ("in.example", 80, "127.0.0.1", true),
            ("in.example", 443, "169.254.169.254", false), ("in.example", 443, "fe80::1", false),
            ("in.example", 8443, "10.0.0.1", false), ("out.example", 443, "10.0.0.1", false),
            ("out.example", 443, "93.184.215.14", true), ("10.0.0.1", 8443, "10.0.0.1", true),
            ("10.0.0.1", 443, "10.0.0.1", false), ("169.254.169.254", 80, "169.254.169.254", true),
        ] {
            #expect(
                AllowedTarget.scope(of: host, port, among: allowed).allows(address: address) == isReached,
                "\(host):\(port) at \(address)")
        }
    }
}

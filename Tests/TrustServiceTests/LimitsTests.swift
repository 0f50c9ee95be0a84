// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TLSModel
import Testing
import TrustStores
import TrustTokens

@testable import HTTPService
@testable import TrustService

@Suite struct LimitsTests {
    @Test func bucketsHoldTwoSecondsAndRefill() {
        let limits = RequestLimits(perSecond: 5)
        let passed = (0..<20).count { _ in limits.take("a", at: 0) == nil }
        #expect(passed == 10)
        #expect(limits.take("b", at: 0) == nil)
        #expect(limits.take("a", at: 0.1) != nil)
        #expect(limits.take("a", at: 0.3) == nil)
    }

    @Test func theTableIsBounded() {
        let limits = RequestLimits(perSecond: 1, burst: 1, tableLimit: 10)
        for index in 0..<10 { #expect(limits.take("\(index)", at: 0) == nil) }
        // Full: newcomers share one bucket, the others keep theirs.
        #expect(limits.take("x", at: 0) == nil)
        #expect(limits.take("y", at: 0) != nil)
        #expect(limits.take("3", at: 0) != nil)
        #expect(limits.take("z", at: 5) == nil)
    }

    @Test func forwardedAddressesCountBehindTrustedProxiesAlone() throws {
        let trusted = try ["10.0.0.0/8", "2001:db8:1::/48"].map { try #require(AddressRange($0)) }
        func resolve(_ peer: String, _ header: String?) -> String {
            CallerAddress.resolve(peer: peer, forwarded: header, trusted: trusted)
        }
        #expect(resolve("9.9.9.9", "1.1.1.1") == "9.9.9.9")
        #expect(resolve("10.0.0.1", "6.6.6.6, 1.1.1.1, 10.0.0.2") == "1.1.1.1")
        #expect(resolve("::ffff:10.0.0.1", "1.1.1.1") == "1.1.1.1")
        #expect(resolve("10.0.0.1", "junk") == "10.0.0.1")
        #expect(resolve("10.0.0.1", "6.6.6.6, junk, 10.0.0.2") == "10.0.0.2")
        #expect(resolve("10.0.0.1", nil) == "10.0.0.1")
        #expect(resolve("10.0.0.1", "") == "10.0.0.1")
        #expect(resolve("10.0.0.1", "10.0.0.2,10.0.0.3") == "10.0.0.2")
    }

    /// Some load balancers add the port, and brackets around IPv6.
    @Test(arguments: [
        ("1.2.3.4:5678", "1.2.3.4"), ("[2001:db8::9]", "2001:db8:0:0:0:0:0:9"),
        ("[2001:db8::9]:443", "2001:db8:0:0:0:0:0:9"), ("2001:db8::9", "2001:db8:0:0:0:0:0:9"),
        ("\t 1.2.3.4 \t", "1.2.3.4"), ("::ffff:1.2.3.4", "1.2.3.4"),
    ])
    func hopsMayNamePorts(_ hop: String, _ address: String) throws {
        let trusted = [try #require(AddressRange("10.0.0.0/8"))]
        #expect(CallerAddress.resolve(peer: "10.0.0.1", forwarded: "6.6.6.6, " + hop, trusted: trusted) == address)
    }

    /// Whatever the client wrote, the hop that the trusted proxy added decides: U+0600 and every other character that Swift joins with a
    /// comma, and hops that are an address and something else.
    @Test(arguments: [
        "6.6.7.1 \u{600}", "6.6.7.1\u{600}", "\u{600}", "6.6.7.1 \u{110BD}", "6.6.7.1 \u{200D}", "6.6.7.1\u{301}",
        "\r\n", "6.6.7.1 x",
        "[6.6.7.1", "6.6.7.1:", "[::1]6.6.7.1", String(repeating: "\u{600}", count: 8000),
    ])
    func theClientCannotChooseItsAddress(_ header: String) throws {
        let trusted = [try #require(AddressRange("10.0.0.0/8"))]
        for separator in [", ", ","] {
            let forwarded = header + separator + "9.9.9.9"
            #expect(CallerAddress.resolve(peer: "10.0.0.1", forwarded: forwarded, trusted: trusted) == "9.9.9.9")
        }
        #expect(CallerAddress.resolve(peer: "10.0.0.1", forwarded: header, trusted: trusted) == "10.0.0.1")
    }

    @Test func anIPv6NetworkIsOneCaller() {
        #expect(CallerAddress.bucket(of: "2001:db8::1") == CallerAddress.bucket(of: "2001:db8::2"))
        #expect(CallerAddress.bucket(of: "2001:db8::1") != CallerAddress.bucket(of: "2001:db8:0:1::1"))
        #expect(CallerAddress.bucket(of: "1.2.3.4") == "1.2.3.4")
        #expect(CallerAddress.bucket(of: "::ffff:1.2.3.4") == "1.2.3.4")
        #expect(CallerAddress.bucket(of: "fe80::1%eth0") == CallerAddress.bucket(of: "fe80::2"))
    }

    /// Whoever has a network has all its addresses, and is one voice in the operators' picture.
    @Test func signalsWeighByNetwork() async throws {
        let store = Store.inMemory()
        let book = SignalBook(store: store, log: .silent)
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        for index in 0..<200 {
            for address in ["2001:db8:1:\(String(index, radix: 16))::1", "192.0.2.\(index)", "::ffff:192.0.2.\(index)"]
            {
                await book.countOnce("shop", kind: "unsupported", address: address, at: now)
            }
        }
        for address in ["2001:db8:2::1", "192.0.3.1"] {
            await book.countOnce("shop", kind: "unsupported", address: address, at: now)
        }
        await book.flush()
        let tallies = try await store.tallies(app: "shop", from: now - 3600, to: now + 3600)
        #expect(tallies.map(\.count) == [4])
    }

    /// Whoever has 256 networks of 48 bits makes no alert with them in a day, and says no more than the phones in a provider's network. As many of
    /// 24 bits of IPv4 are many networks.
    @Test func strangersOfOneWideNetworkMakeNoAlert() async throws {
        let store = Store.inMemory()
        let book = SignalBook(store: store, log: .silent)
        let start = Date(timeIntervalSince1970: 1_800_057_600)
        func signals(_ kind: String, _ addresses: (Int) -> String, hours: Range<Int>) async throws -> [SupportCount] {
            for hour in hours {
                for index in 0..<150 {
                    let now = start.addingTimeInterval(3600 * Double(hour))
                    await book.countOnce("shop", kind: kind, address: addresses(index), at: now)
                }
            }
            await book.flush()
            let tallies = try await store.tallies(app: "shop", from: start - 86_400, to: start + 2 * 86_400)
            return tallies.filter { $0.kind == EventKind.unsupported }.map {
                SupportCount(hour: $0.hour, unsupported: $0.count, total: $0.count)
            }
        }
        let kind = EventKind.unsupported
        _ = try await signals(kind, { "2001:db8:\(String($0, radix: 16))::1" }, hours: 0..<24)
        let counted = try await signals(kind, { "2001:db7:\(String($0, radix: 16))::1" }, hours: 0..<24)
        #expect(counted.map(\.unsupported).reduce(0, +) == 16)
        #expect(UnsupportedMonitor.report(counted, at: start + 82_800).risingSince == nil)
        // A carrier, of whose phones some attest.
        _ = try await signals(EventKind.attestedAddress, { "2001:db9:\($0)::1" }, hours: 24..<25)
        let carrier = try await signals(kind, { "2001:db9:\($0)::1" }, hours: 24..<26)
        #expect(carrier.map(\.unsupported).reduce(0, +) == 16 + 150)
        let legacy = try await signals(kind, { "10.9.\($0).1" }, hours: 26..<27)
        #expect(legacy.map(\.unsupported).reduce(0, +) == 316)
    }

    /// A proxy on this machine asks for clients everywhere.
    @Test(
        arguments: [
            ("", nil, 200), ("", ("X-Forwarded-For", "8.8.8.8"), 401), ("127.0.0.1", nil, 200),
            ("127.0.0.1", ("X-Forwarded-For", "8.8.8.8"), 401), ("127.0.0.1", ("X-Forwarded-For", "127.0.0.2"), 200),
            // Another proxy is trusted, or this one names its client in a field that is not read.
            ("10.0.0.1", ("X-Forwarded-For", "8.8.8.8"), 401), ("127.0.0.1", ("Forwarded", "for=8.8.8.8"), 401),
            ("", ("Via", "1.1 a"), 401), ("", ("X-Real-IP", "8.8.8.8"), 401),
        ] as [(String, (String, String)?, Int)])
    func metricsGoByTheClientsAddress(_ trusted: String, _ field: (String, String)?, _ status: Int) async throws {
        let configuration = RunningService.configuration {
            $0.trustedProxies = [trusted].compactMap { AddressRange("\($0)/32") }
        }
        try await RunningService.with(configuration) { service in
            let headers = field.map { [$0.0: $0.1] } ?? [:]
            let reply = try await RunningService.call("GET", service.base + "/metrics", headers: headers)
            #expect(reply.status == status)
            let known = try await RunningService.call(
                "GET", service.base + "/metrics", token: RunningService.adminToken, headers: headers)
            #expect(known.status == 200)
        }
    }

    @Test func prometheusTextHoldsWhatWasCounted() {
        let registry = PrometheusRegistry()
        registry.count(.riskAlerts, [("code", "a\"b\\")], by: 3)
        registry.add(0.003, to: .requestDuration, [])
        registry.set(.ready, 1.5)
        let text = registry.render()
        #expect(
            text.contains(
                "# TYPE sealward_risk_alerts_total counter\nsealward_risk_alerts_total{code=\"a\\\"b\\\\\"} 3\n"))
        #expect(text.contains("sealward_http_request_duration_seconds_bucket{le=\"0.005\"} 1\n"))
        #expect(text.contains("sealward_http_request_duration_seconds_count 1\n"))
        #expect(text.contains("# TYPE sealward_ready gauge\nsealward_ready 1.5\n"))
    }

    /// What a caller can put into a label ends in one series when there are too many.
    @Test func seriesAreBounded() {
        let registry = PrometheusRegistry()
        for number in 0..<PrometheusRegistry.seriesLimit + 10 { registry.count(.signals, [("code", "\(number)")]) }
        let text = registry.render()
        #expect(text.contains("sealward_signals_total{overflow=\"true\"} 10\n"))
        #expect(text.split(separator: "\n").count == PrometheusRegistry.seriesLimit + 2)
    }
}

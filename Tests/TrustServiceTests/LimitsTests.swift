// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Testing

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

    @Test(arguments: [
        ("10.0.0.0/8", "10.1.2.3", true), ("10.0.0.0/8", "11.0.0.1", false), ("::1", "::1", true),
        ("127.0.0.1", "::ffff:127.0.0.1", true),
        ("2001:db8::/33", "2001:db8:7fff::1", true), ("2001:db8::/33", "2001:db8:8000::1", false),
        ("0.0.0.0/0", "9.9.9.9", true),
        ("10.0.0.1", "nonsense", false),
    ])
    func rangesContain(_ range: String, _ address: String, _ expected: Bool) throws {
        #expect(try #require(AddressRange(range)).contains(address) == expected)
    }

    @Test(arguments: ["", "10.0.0.0/33", "10.0.0.0/x", "host", "1.2.3.4/8/8", "::1/129"])
    func nonsenseIsNoRange(_ text: String) { #expect(AddressRange(text) == nil) }

    @Test func forwardedAddressesCountBehindTrustedProxiesAlone() throws {
        let trusted = [try #require(AddressRange("10.0.0.0/8"))]
        func resolve(_ peer: String, _ header: String?) -> String {
            CallerAddress.resolve(peer: peer, forwarded: header, trusted: trusted)
        }
        #expect(resolve("9.9.9.9", "1.1.1.1") == "9.9.9.9")
        #expect(resolve("10.0.0.1", "6.6.6.6, 1.1.1.1, 10.0.0.2") == "1.1.1.1")
        #expect(resolve("10.0.0.1", "junk") == "10.0.0.1")
        #expect(resolve("10.0.0.1", nil) == "10.0.0.1")
        #expect(CallerAddress.bucket(of: "2001:db8::1") == CallerAddress.bucket(of: "2001:db8::2"))
        #expect(CallerAddress.bucket(of: "1.2.3.4") == "1.2.3.4")
    }

    @Test func prometheusTextHoldsWhatWasCounted() {
        let registry = PrometheusRegistry()
        registry.makeCounter(label: "sealward.x", dimensions: [("code", "a\"b\\")]).increment(by: 3)
        registry.makeTimer(label: "sealward.t", dimensions: []).recordNanoseconds(3_000_000)
        registry.makeMeter(label: "sealward.m", dimensions: []).set(1.5)
        let text = registry.render()
        #expect(text.contains("# TYPE sealward_x_total counter\nsealward_x_total{code=\"a\\\"b\\\\\"} 3\n"))
        #expect(text.contains("sealward_t_seconds_bucket{le=\"0.005\"} 1\n"))
        #expect(text.contains("sealward_t_seconds_count 1\n"))
        #expect(text.contains("sealward_m 1.5\n"))
    }
}

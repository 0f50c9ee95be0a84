// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import TLSModel
import TestSupport
import Testing

@testable import ConnectionAdmission

struct AdmissionTests {
    private func admission(_ total: Int, _ perAddress: Int, exempt: [AddressRange] = []) -> Admission {
        Admission(limits: Admission.Limits(total: total, perAddress: perAddress, exempt: exempt)) { _ in }
    }

    @Test("The cap on all connections counts every address, and room comes back with each connection that ends")
    func total() throws {
        let admission = admission(3, 3)
        let addresses = ["192.0.2.1", "192.0.2.2", "2001:db8::1"].map { IPAddress($0) }
        for address in addresses { #expect(admission.admit(address) == .admitted) }
        #expect(admission.admit(IPAddress("192.0.2.9")) == .full)
        #expect(admission.admit(nil) == .full)
        admission.release(addresses[0])
        #expect(admission.admit(nil) == .admitted)
        #expect(admission.open == 3)
    }

    @Test(
        "An address is an IPv4 address, mapped or not, or an IPv6 network of 64 bits",
        arguments: [
            ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true), ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
        ]
    )
    func sameAddress(first: String, second: String, isOne: Bool) throws {
        let admission = admission(10, 1)
        let (one, other) = (try #require(IPAddress(first)), try #require(IPAddress(second)))
        #expect(admission.admit(one) == .admitted)
        #expect(admission.admit(other) == (isOne ? .addressFull : .admitted))
        admission.release(one)
        if isOne { #expect(admission.admit(other) == .admitted) }
    }

    @Test("Exempt addresses have no cap of their own and take no place in the table, but count in the total")
    func exempt() throws {
        let admission = admission(4, 1, exempt: [try #require(AddressRange("10.0.0.0/8"))])
        let proxy = IPAddress("10.1.2.3")
        for _ in 0..<4 { #expect(admission.admit(proxy) == .admitted) }
        #expect(admission.addresses == 0)
        #expect(admission.admit(proxy) == .full)
    }

    @Test("The table is empty when every connection has ended")
    func table() throws {
        let admission = admission(1000, 2)
        let addresses = (0..<200).map { IPAddress("192.0.2.\($0)") }
        for address in addresses + addresses { #expect(admission.admit(address) == .admitted) }
        #expect(admission.addresses == 200)
        for address in addresses + addresses { admission.release(address) }
        #expect(admission.addresses == 0)
        #expect(admission.open == 0)
    }

    /// A connection of an address, as a gate has let it in.
    private func connection(_ admission: Admission, _ address: String, waits: Bool) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        channel.remoteAddress = try SocketAddress(ipAddress: address, port: 1)
        #expect(admission.admit(IPAddress(address), channel).verdict == .admitted)
        try #require(admission.place(of: channel)).isWaiting(waits)
        return channel
    }

    @Test("While all places are taken, the longest waiting connection of the address with most makes room")
    func room() throws {
        let admission = admission(5, 5)
        let busy = try connection(admission, "192.0.2.1", waits: false)
        let first = try connection(admission, "192.0.2.1", waits: true)
        let second = try connection(admission, "192.0.2.1", waits: true)
        let other = try connection(admission, "192.0.2.2", waits: true)
        _ = try connection(admission, "192.0.2.2", waits: true)
        for expected in [first, second] {
            let newcomer = EmbeddedChannel()
            let (verdict, replaced) = admission.admit(IPAddress("192.0.2.\(expected === first ? 3 : 4)"), newcomer)
            #expect(verdict == .admitted && admission.open == 5)
            // The address with most has three connections, then two as another one has: the longest waiting of both.
            #expect(replaced === expected)
        }
        // What lost its place is not forgotten twice.
        admission.release(IPAddress("192.0.2.1"), ObjectIdentifier(first))
        admission.release(IPAddress("192.0.2.1"), ObjectIdentifier(second))
        #expect(admission.open == 5)
        // One that works keeps its place, whatever waits at an address with fewer.
        let working = self.admission(3, 3)
        _ = try connection(working, "192.0.2.1", waits: false)
        _ = try connection(working, "192.0.2.1", waits: false)
        _ = try connection(working, "192.0.2.2", waits: true)
        #expect(working.admit(IPAddress("192.0.2.3"), EmbeddedChannel()).verdict == .full)
        // A connection to somewhere else takes a place as a newcomer does.
        let idle = self.admission(1, 1)
        let waiting = try connection(idle, "192.0.2.1", waits: true)
        #expect(idle.admit(IPAddress("192.0.2.2")) == .admitted && idle.open == 1)
        #expect(throws: ChannelError.alreadyClosed) { try waiting.finish() }
        for (channel, address) in [(busy, "192.0.2.1"), (other, "192.0.2.2")] {
            admission.release(IPAddress(address), ObjectIdentifier(channel))
        }
        #expect(admission.open == 3)
    }

    /// One look at all connections serves several newcomers, in the same order.
    @Test func roomForSeveral() throws {
        let admission = admission(48, 48)
        var held: [String: [EmbeddedChannel]] = [:]
        // 26 of the first address, 22 of the second; they began to wait in turn.
        for index in 0..<48 {
            let address = index % 2 == 0 || index >= 44 ? "192.0.2.1" : "192.0.2.2"
            held[address, default: []].append(try connection(admission, address, waits: true))
        }
        let (first, second) = (try #require(held["192.0.2.1"]), try #require(held["192.0.2.2"]))
        func replaced(by number: Int) -> (any Channel)? {
            admission.admit(IPAddress("198.51.100.\(number)"), EmbeddedChannel()).replaced
        }
        // A look finds three: one of them is served before its turn comes, and one ends.
        #expect(replaced(by: 1) === first[0])
        try #require(admission.place(of: first[1])).isWaiting(true)
        admission.release(IPAddress("192.0.2.1"), ObjectIdentifier(first[2]))
        #expect(admission.admit(nil) == .admitted)
        #expect(replaced(by: 2) === first[3])
        // 23, then as many as the second address has: the longest waiting of both.
        #expect(replaced(by: 3) === first[4])
        #expect(replaced(by: 4) === second[0])
        #expect(replaced(by: 5) === first[5])
        #expect(admission.open == 48)
    }

    /// The processor time of so many newcomers, each of which takes a place of so many waiting connections.
    private func cost(of newcomers: Int, beside count: Int) throws -> Double {
        let admission = admission(count, count)
        let held = try (0..<count).map { try connection(admission, "192.0.2.\($0 % 16)", waits: true) }
        let others = (0..<newcomers).map { _ in EmbeddedChannel() }
        let cost = CPUTime.measure {
            for (index, other) in others.enumerated() { _ = admission.admit(IPAddress("198.51.100.\(index)"), other) }
        }
        #expect(admission.refused.isEmpty && admission.addresses == 16 + newcomers)
        withExtendedLifetime(held) {}
        return cost
    }

    @Test("A newcomer costs the same, however many connections wait", Measuring.only)
    func costOfNewcomers() throws {
        let (few, many) = (try cost(of: 200, beside: 400), try cost(of: 200, beside: 8000))
        #expect(many < 10 * few + 0.05, "\(few) s, \(many) s")
    }

    @Test("An exempt connection loses its place to nobody, and an address at its own cap gets none")
    func exemptPlaces() throws {
        let admission = admission(2, 1, exempt: [try #require(AddressRange("10.0.0.0/8"))])
        let proxy = EmbeddedChannel()
        proxy.remoteAddress = try SocketAddress(ipAddress: "10.1.2.3", port: 1)
        #expect(admission.admit(IPAddress("10.1.2.3"), proxy).verdict == .admitted && admission.place(of: proxy) == nil)
        let own = try connection(admission, "192.0.2.1", waits: true)
        #expect(admission.admit(IPAddress("192.0.2.1"), EmbeddedChannel()).verdict == .full)
        #expect(admission.admit(IPAddress("192.0.2.2"), EmbeddedChannel()).replaced === own)
    }

    @Test("Refusals are reported at once after a quiet second, then once a second, and none is lost")
    func reports() throws {
        let loop = EmbeddedEventLoop()
        let reports = NIOLockedValueBox<[Admission.Refusals]>([])
        let admission = Admission(limits: Admission.Limits(total: 1, perAddress: 1)) { refusals in
            reports.withLockedValue { $0.append(refusals) }
        }
        for _ in 0..<100 { admission.refuse(.full, on: loop) }
        #expect(reports.withLockedValue { $0.map(\.full) } == [1])
        for _ in 0..<50 { admission.refuse(.addressFull, on: loop) }
        loop.advanceTime(by: .seconds(1))
        #expect(reports.withLockedValue { $0.map(\.full) } == [1, 99])
        #expect(reports.withLockedValue { $0.map(\.addressFull) } == [0, 50])
        loop.advanceTime(by: .seconds(5))
        admission.note(\.exhausted, on: loop)
        #expect(reports.withLockedValue { $0.map(\.exhausted) } == [0, 0, 1])
        #expect(admission.refused.full == 100)
        #expect(admission.refused.addressFull == 50)
    }
}

struct DescriptorLimitTests {
    @Test(
        "Connections get what the descriptors leave after the reserve",
        arguments: [
            (256, 2, 1, 186, 93), (256, 2, 2, 93, 46), (1024, 2, 1, 890, 445), (1024, 2, 2, 445, 256),
            (65_536, 8, 1, 64_488, 32_244), (64, 2, 1, 8, 4), (0, 1, 1, 8, 4), (-1, 0, 0, 8, 4),
            (Int.max, Int.max, 1, 1_035_264, 517_632),
        ]
    )
    func limits(descriptors: Int, processors: Int, each: Int, total: Int, perAddress: Int) {
        let limit = DescriptorLimit(descriptors: descriptors, processors: processors)
        #expect(limit.limits(taking: each) == Admission.Limits(total: total, perAddress: perAddress))
    }

    @Test("A configured total counts up to what the system allows")
    func configured() {
        let limit = DescriptorLimit(descriptors: 1024, processors: 2)
        #expect(limit.limits(total: 100) == Admission.Limits(total: 100, perAddress: 100))
        #expect(limit.limits(total: 5000) == Admission.Limits(total: 890, perAddress: 445))
    }

    @Test(
        "Event loops take a quarter of the descriptors at most, and there is always one",
        arguments: [(1024, 2, 2), (256, 128, 21), (65_536, 128, 128), (24, 2, 2), (12, 2, 1), (0, 8, 1)])
    func eventLoops(descriptors: Int, processors: Int, loops: Int) {
        #expect(DescriptorLimit(descriptors: descriptors, processors: processors).eventLoops == loops)
    }

    @Test("The limit of this process can be read")
    func current() {
        #expect(DescriptorLimit.current().descriptors > 0)
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TLSModel

struct AddressTests {
    @Test(arguments: [
        ("8.8.8.8", AddressKind.global), ("172.32.0.1", .global), ("192.0.0.9", .global), ("192.0.0.8", .special),
        ("10.1.2.3", .privateNetwork), ("172.16.0.1", .privateNetwork), ("172.31.255.255", .privateNetwork),
        ("192.168.1.1", .privateNetwork), ("100.64.0.1", .privateNetwork), ("100.127.255.255", .privateNetwork),
        ("100.128.0.1", .global), ("127.0.0.1", .loopback), ("127.255.0.1", .loopback),
        ("169.254.169.254", .metadata), ("169.254.170.2", .metadata), ("169.254.1.1", .linkLocal),
        ("100.100.100.200", .metadata), ("192.0.0.192", .metadata),
        ("168.63.129.16", .metadata), ("168.63.129.17", .global), ("0.0.0.0", .special), ("0.1.2.3", .special),
        ("192.0.2.1", .special), ("198.51.100.1", .special), ("203.0.113.1", .special), ("198.19.0.1", .special),
        ("192.88.99.1", .special), ("224.0.0.1", .special), ("240.0.0.1", .special), ("255.255.255.255", .special),
    ])
    func ipv4(_ text: String, _ kind: AddressKind) throws {
        #expect(AddressKind(try #require(IPAddress(text))) == kind)
    }

    @Test(arguments: [
        ("2606:4700::1", AddressKind.global), ("::1", .loopback), ("::", .special), ("fe80::1", .linkLocal),
        ("febf::1", .linkLocal), ("fec0::1", .privateNetwork), ("fc00::1", .privateNetwork),
        ("fd00::1", .privateNetwork), ("fd00:ec2::254", .metadata), ("fd20:ce::254", .metadata), ("ff02::1", .special),
        ("2001:db8::1", .special), ("3fff::1", .special), ("3fff:1000::1", .global), ("100::1", .special),
        ("5f00::1", .special), ("4000::1", .special), ("2001::1", .special), ("2001:1::1", .global),
        ("2001:4:112::1", .global), ("2001:200::1", .global), ("64:ff9b:1::a00:1", .privateNetwork),
        // Addresses that lead to an IPv4 address are of its kind.
        ("::ffff:10.0.0.1", .privateNetwork), ("::ffff:8.8.8.8", .global), ("::ffff:168.63.129.16", .metadata),
        ("64:ff9b::a00:1", .privateNetwork), ("64:ff9b::808:808", .global), ("2002:7f00:1::", .loopback),
        ("2002:808:808::1", .global), ("::127.0.0.1", .loopback), ("::a9fe:a9fe", .metadata),
        ("fe80::a9fe:a9fe", .metadata),
    ])
    func ipv6(_ text: String, _ kind: AddressKind) throws {
        #expect(AddressKind(try #require(IPAddress(text))) == kind)
    }

    @Test(arguments: [
        ("1.2.3.4", "1.2.3.4"), ("2001:db8::1", "2001:db8:0:0:0:0:0:1"), ("::", "0:0:0:0:0:0:0:0"),
        ("1::", "1:0:0:0:0:0:0:0"), ("::ffff:1.2.3.4", "0:0:0:0:0:ffff:102:304"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
    ])
    func literals(_ text: String, _ description: String) throws {
        #expect(try #require(IPAddress(text)).description == description)
    }

    @Test(arguments: [
        "", ".", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.4 ", "1.2.3.٤", ":", ":::", "1::2::3",
        "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "g::", "::1.2.3", "1.2.3.4::", "1::2:3:4:5:6:7:8", "::1%eth0",
        "1.2.3.4\u{0600}", "1.2.3.4\u{0301}",
    ])
    func notAddresses(_ text: String) { #expect(IPAddress(text) == nil) }

    @Test(arguments: [
        ("localhost", true), ("127.0.0.1", true), ("127.255.0.9", true), ("::1", true), ("::ffff:127.0.0.1", true),
        ("127.0.0.1.example", false), ("127.example", false), ("127.1", false), ("localhost.example", false),
        ("0.0.0.0", false), ("::", false), ("", false),
    ])
    func namesThatBeginLikeALoopbackAddressAreNone(_ host: String, _ isLoopback: Bool) {
        #expect(AddressKind.isLoopback(host: host) == isLoopback)
    }

    @Test func mappedAddressesAreUnmapped() throws {
        #expect(try #require(IPAddress("::ffff:1.2.3.4")).unmapped == IPAddress("1.2.3.4"))
        #expect(try #require(IPAddress("::1.2.3.4")).unmapped == IPAddress("::1.2.3.4"))
    }
}

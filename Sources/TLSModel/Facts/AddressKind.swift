// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What kind of network an address belongs to.
///
/// Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, read 2026-11-22), and for ``metadata`` the documentation of
/// the cloud providers. The one classifier of the product: the prober, the client, the proxy and the service ask it.
package enum AddressKind: Sendable, Equatable {
    case loopback
    /// RFC 1918, carrier-grade NAT (RFC 6598), unique local addresses (RFC 4193), and local-use translation (RFC 8215).
    case privateNetwork
    /// 169.254/16 and fe80::/10, without the metadata services among them.
    case linkLocal
    /// Metadata services of clouds.
    case metadata
    /// Unspecified, broadcast, multicast, documentation, benchmarking, reserved: never a server of the internet.
    case special
    case global

    package init(_ address: IPAddress) {
        self = AddressKind.classify(address)
    }

    /// Whether the address is not one of a server on the public internet.
    package var isPrivate: Bool { self != .global }

    /// Whether a host, without brackets, is this machine itself: `localhost`, or an address of the loopback networks. No other name is.
    package static func isLoopback(host: String) -> Bool {
        host.utf8.elementsEqual("localhost".utf8) || IPAddress(host).map(AddressKind.init) == .loopback
    }

    private static func classify(_ address: IPAddress) -> AddressKind {
        if let found = (address.isIPv4 ? ipv4 : ipv6).first(where: { $0.range.contains(address) }) { return found.kind }
        if address.isIPv4 { return .global }
        if let inner = embedded(in: address.bytes) { return classify(inner) }
        // Global unicast is 2000::/3; everything else is unassigned or reserved.
        return address.bytes[0] & 0xE0 == 0x20 ? .global : .special
    }

    /// The IPv4 address that a mapped (::ffff:0:0/96), compatible (::/96), NAT64 (64:ff9b::/96) or 6to4 (2002::/16) address leads to.
    private static func embedded(in bytes: [UInt8]) -> IPAddress? {
        guard bytes.count == 16 else { return nil }
        if bytes[0] == 0x20, bytes[1] == 0x02 { return IPAddress(bytes: Array(bytes[2..<6])) }
        let prefix = bytes[..<12]
        let leadsToIPv4 =
            prefix.allSatisfy { $0 == 0 }
            || prefix.elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
            || prefix.elementsEqual([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0])
        return leadsToIPv4 ? IPAddress(bytes: Array(bytes[12...])) : nil
    }

    private typealias Row = (range: AddressRange, kind: AddressKind)

    private static func rows(_ texts: [String], _ kind: AddressKind) -> [Row] {
        texts.compactMap { text in AddressRange(text).map { ($0, kind) } }
    }

    /// The first range that contains the address decides: exceptions stand before the ranges that enclose them.
    private static let ipv4: [Row] =
        // Alibaba Cloud, Oracle Cloud, Azure; most clouds; Amazon ECS and EKS.
        rows(["100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32"], .metadata)
        + rows(["169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32"], .metadata)
        + rows(["192.0.0.9/32", "192.0.0.10/32"], .global)
        + rows(["127.0.0.0/8"], .loopback)
        + rows(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"], .privateNetwork)
        + rows(["169.254.0.0/16"], .linkLocal)
        + rows(
            [
                "0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
                "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
            ],
            .special
        )

    private static let ipv6: [Row] =
        // Amazon EC2, Google Compute Engine, OpenStack.
        rows(["fd00:ec2::/96", "fd20:ce::/96", "fe80::a9fe:a9fe/128"], .metadata)
        + rows(["::1/128"], .loopback)
        + rows(["::/128"], .special)
        + rows(["fe80::/10"], .linkLocal)
        + rows(["fc00::/7", "fec0::/10", "64:ff9b:1::/48"], .privateNetwork)
        + rows(
            ["2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:3::/32", "2001:4:112::/48", "2001:20::/28"]
                + ["2001:30::/28"], .global)
        + rows(["2001::/23", "2001:db8::/32", "3fff::/20", "ff00::/8"], .special)
}

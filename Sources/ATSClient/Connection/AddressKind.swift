// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity

/// What kind of network an address belongs to (IANA special-purpose registries, RFC 6890).
package enum AddressKind: Sendable {
    case loopback
    /// RFC 1918, carrier-grade NAT (RFC 6598) and unique local addresses (RFC 4193).
    case privateNetwork
    /// 169.254/16 and fe80::/10: among them the metadata services of clouds.
    case linkLocal
    /// Metadata services outside the link-local ranges.
    case metadata
    /// Unspecified, broadcast, multicast, documentation, reserved: never a server of the internet.
    case special
    case global

    package init(_ address: IPAddress) {
        let bytes = address.bytes
        if bytes.count == 16 {
            self = AddressKind.v6(bytes)
        } else {
            self = AddressKind.v4(bytes)
        }
    }

    /// Whether an address of this kind is inside somebody's own network.
    package var isPrivate: Bool { self != .global }

    private static func v4(_ bytes: [UInt8]) -> AddressKind {
        guard bytes.count == 4 else { return .special }
        switch (bytes[0], bytes[1], bytes[2], bytes[3]) {
        case (127, _, _, _): return .loopback
        case (10, _, _, _), (172, 16...31, _, _), (192, 168, _, _): return .privateNetwork
        case (100, 100, 100, 200), (192, 0, 0, 192): return .metadata
        case (100, 64...127, _, _): return .privateNetwork
        case (169, 254, _, _): return .linkLocal
        case (0, _, _, _), (192, 0, 0, _), (192, 0, 2, _), (198, 18...19, _, _), (198, 51, 100, _), (203, 0, 113, _),
            (224..., _, _, _):
            return .special
        default: return .global
        }
    }

    private static func v6(_ bytes: [UInt8]) -> AddressKind {
        let isZero = bytes.dropLast().allSatisfy { $0 == 0 }
        if isZero, bytes[15] == 1 { return .loopback }
        if isZero, bytes[15] == 0 { return .special }
        // IPv4-mapped, and the translation prefixes 64:ff9b::/96 and 2002::/16, which lead to an IPv4 address.
        if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF { return v4(Array(bytes[12...])) }
        if bytes[..<12].elementsEqual([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) { return v4(Array(bytes[12...])) }
        if bytes[0] == 0x20, bytes[1] == 0x02 { return v4(Array(bytes[2..<6])) }
        if bytes[..<12].allSatisfy({ $0 == 0 }) { return v4(Array(bytes[12...])) }
        if bytes[0] == 0xFE, bytes[1] & 0xC0 == 0x80 { return .linkLocal }
        if bytes[..<6].elementsEqual([0xFD, 0, 0x0E, 0xC2, 0, 0]) { return .metadata }
        if bytes[0] & 0xFE == 0xFC { return .privateNetwork }
        if bytes[0] == 0xFF { return .special }
        if bytes[0] == 0x20, bytes[1] == 0x01, bytes[2] == 0x0D, bytes[3] == 0xB8 { return .special }
        return .global
    }
}

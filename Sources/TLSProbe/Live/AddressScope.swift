// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
package import NIOCore

/// How far an address reaches.
package enum AddressScope: Sendable, Equatable {
    case global
    /// Loopback, link-local, private, shared, unspecified, multicast or reserved.
    case local

    /// From the IANA special-purpose address registries (RFC 6890, RFC 1918, RFC 6598, RFC 4193, RFC 4291).
    package init(_ address: SocketAddress) {
        // By place, behind family and port (POSIX, netinet/in.h), and flow (RFC 3493 section 3.3): the names of the members belong to
        // whichever module of C was imported first, so a whole-module build would depend on the order of files.
        switch address {
        case .v4(let value):
            let bytes = withUnsafeBytes(of: value.address) { Array($0.dropFirst(4).prefix(4)) }
            self = AddressScope.isLocal(v4: bytes) ? .local : .global
        case .v6(let value):
            let bytes = withUnsafeBytes(of: value.address) { Array($0.dropFirst(8).prefix(16)) }
            self = AddressScope.isLocal(v6: bytes) ? .local : .global
        case .unixDomainSocket: self = .local
        }
    }

    private static func isLocal(v4 bytes: [UInt8]) -> Bool {
        guard bytes.count == 4 else { return true }
        switch (bytes[0], bytes[1]) {
        case (0, _), (10, _), (127, _), (224...255, _): return true
        case (100, 64...127), (169, 254), (172, 16...31), (192, 168), (198, 18...19): return true
        case (192, 0) where bytes[2] == 0: return true
        default: return false
        }
    }

    private static func isLocal(v6 bytes: [UInt8]) -> Bool {
        guard bytes.count == 16 else { return true }
        // Addresses that carry an IPv4 one: mapped and compatible (first 96 bits), NAT64 (64:ff9b::/96).
        if bytes.prefix(10).allSatisfy({ $0 == 0 }) {
            return !bytes[10..<12].elementsEqual([255, 255]) || isLocal(v4: Array(bytes.suffix(4)))
        }
        if bytes.prefix(12).elementsEqual([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) {
            return isLocal(v4: Array(bytes.suffix(4)))
        }
        // 6to4 carries it behind 2002; everything outside 2000::/3 is local, multicast or reserved.
        if bytes[0] == 0x20, bytes[1] == 0x02 { return isLocal(v4: Array(bytes[2..<6])) }
        return bytes[0] & 0xE0 != 0x20
    }
}

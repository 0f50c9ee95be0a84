// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One address or a CIDR block of addresses, for example `10.0.0.0/8` or `::1`.
package struct AddressRange: Sendable, Equatable {
    private let bytes: [UInt8]
    private let prefix: Int

    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let first = parts.first, let bytes = AddressRange.bytes(of: String(first)) else {
            return nil
        }
        var prefix = bytes.count * 8
        if parts.count == 2 {
            guard let given = Int(parts[1]), 0...prefix ~= given else { return nil }
            prefix = given
        }
        self.bytes = bytes
        self.prefix = prefix
    }

    package func contains(_ address: String) -> Bool {
        guard let other = AddressRange.bytes(of: address), other.count == bytes.count else { return false }
        var left = prefix
        for (mine, its) in zip(bytes, other) where left > 0 {
            let mask: UInt8 = left >= 8 ? 0xFF : ~(0xFF >> UInt8(left))
            if mine & mask != its & mask { return false }
            left -= 8
        }
        return true
    }

    /// The 4 or 16 bytes of a literal address; an IPv4 address in IPv6 clothes counts as IPv4.
    static func bytes(of address: String) -> [UInt8]? {
        var four = in_addr()
        if inet_pton(AF_INET, address, &four) == 1 {
            return withUnsafeBytes(of: four) { Array($0) }
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, address, &six) == 1 else { return nil }
        let bytes = withUnsafeBytes(of: six) { Array($0) }
        let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
        return bytes.starts(with: mapped) ? Array(bytes.suffix(4)) : bytes
    }
}

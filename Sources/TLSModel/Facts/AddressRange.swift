// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A range of addresses in CIDR notation, as exception keys may be since iOS 17 and macOS 14.
public struct AddressRange: Hashable, Sendable {
    /// The first address with the bits after the prefix cleared.
    package let base: IPAddress
    /// How many leading bits count: 0 to 32 for IPv4, 0 to 128 for IPv6.
    package let prefixLength: Int
    /// Whether the text had bits set behind the prefix.
    package private(set) var hadHostBits = false

    /// Reads `10.0.0.0/8`, the short form `10/8`, or `2001:db8::/32`; nil for anything else, scopes included.
    @inlinable public init?(_ text: some StringProtocol) { self.init(cidr: Array(text.utf8.prefix(50))) }

    @usableFromInline init?(cidr text: [UInt8]) {
        guard text.count <= 49, let slash = text.firstIndex(of: 0x2F) else { return nil }
        let address = text[..<slash]
        let length = text[(slash + 1)...]
        guard (1...3).contains(length.count), length.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let bits = length.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        let parsed =
            address.contains(0x3A) ? IPAddress.v6(address) : IPAddress.v4(address, fields: 1...4)
        guard let bytes = parsed, bits <= bytes.count * 8 else { return nil }
        let masked = AddressRange.masked(bytes, bits)
        guard let base = IPAddress(bytes: masked) else { return nil }
        self.base = base
        prefixLength = bits
        hadHostBits = masked != bytes
    }

    /// The range with this prefix that contains an address; nil if the family has no such length.
    package init?(around address: IPAddress, prefixLength: Int) {
        guard (0...address.bytes.count * 8).contains(prefixLength),
            let base = IPAddress(bytes: AddressRange.masked(address.bytes, prefixLength))
        else { return nil }
        self.base = base
        self.prefixLength = prefixLength
    }

    /// The same range, however it was written.
    package var clean: AddressRange { AddressRange(around: base, prefixLength: prefixLength) ?? self }

    /// The range that contains nothing but this address.
    package init(_ address: IPAddress) {
        base = address
        prefixLength = address.bytes.count * 8
    }

    /// Whether the address is of the same family and shares the leading bits.
    package func contains(_ address: IPAddress) -> Bool {
        address.bytes.count == base.bytes.count && AddressRange.masked(address.bytes, prefixLength) == base.bytes
    }

    private static func masked(_ bytes: [UInt8], _ bits: Int) -> [UInt8] {
        bytes.enumerated().map { index, byte in
            let kept = min(8, max(0, bits - index * 8))
            return kept == 0 ? 0 : byte & (0xFF << UInt8(8 - kept))
        }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// An IPv4 or IPv6 address: 4 or 16 bytes.
public struct IPAddress: Hashable, Sendable {
    /// Network byte order; the count is 4 or 16.
    public let bytes: [UInt8]

    /// Reads a literal as it stands in a URL: dotted quad, or IPv6 without brackets and without a scope.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 45 else { return nil }
        let isV6 = text.utf8.contains(0x3A)
        // Most texts are names, and one letter tells.
        guard isV6 || text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }),
            let bytes = isV6 ? IPAddress.v6(text) : IPAddress.v4(text, fields: 4...4)
        else { return nil }
        self.bytes = bytes
    }

    /// Makes an address of 4 or 16 bytes; nil for any other count.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Whether the address has four bytes.
    public var isIPv4: Bool { bytes.count == 4 }

    /// Reads one to four decimal fields; missing ones are zero, as in `10/8`.
    static func v4(_ text: some StringProtocol, fields allowed: ClosedRange<Int>) -> [UInt8]? {
        let fields = text.split(separator: ".", omittingEmptySubsequences: false)
        guard allowed.contains(fields.count) else { return nil }
        var bytes: [UInt8] = []
        for field in fields {
            let isCanonical = field == "0" || !field.hasPrefix("0")
            guard (1...3).contains(field.utf8.count), isCanonical,
                field.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = UInt8(field)
            else { return nil }
            bytes.append(number)
        }
        return bytes + [UInt8](repeating: 0, count: 4 - bytes.count)
    }

    /// RFC 4291 2.2, all three forms.
    static func v6(_ text: some StringProtocol) -> [UInt8]? {
        let halves = text.split(separator: "::", maxSplits: 2, omittingEmptySubsequences: false).map { String($0) }
        guard halves.count <= 2, let head = halves.first.flatMap({ groups($0, mayEndInV4: halves.count == 1) }) else {
            return nil
        }
        guard halves.count == 2 else { return head.count == 16 ? head : nil }
        guard let last = halves.last, let tail = groups(last, mayEndInV4: true), head.count + tail.count <= 14 else {
            return nil
        }
        return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
    }

    private static func groups(_ text: String, mayEndInV4: Bool) -> [UInt8]? {
        if text.isEmpty { return [] }
        var bytes: [UInt8] = []
        let fields = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, field) in fields.enumerated() {
            if index == fields.count - 1, mayEndInV4, field.contains(".") {
                guard let tail = v4(field, fields: 4...4) else { return nil }
                bytes += tail
            } else {
                guard (1...4).contains(field.utf8.count), field.utf8.allSatisfy({ $0.isHexadecimalDigit }),
                    let group = UInt16(field, radix: 16)
                else { return nil }
                bytes += [UInt8(group >> 8), UInt8(group & 0xFF)]
            }
        }
        return bytes.count <= 16 ? bytes : nil
    }
}

extension UInt8 {
    fileprivate var isHexadecimalDigit: Bool {
        (0x30...0x39).contains(self) || (0x41...0x46).contains(self) || (0x61...0x66).contains(self)
    }
}

/// A range of addresses in CIDR notation, as exception keys may be since iOS 17 and macOS 14.
public struct AddressRange: Hashable, Sendable {
    /// The first address with the bits behind the prefix cleared.
    public let base: IPAddress
    /// How many leading bits count: 0 to 32 for IPv4, 0 to 128 for IPv6.
    public let prefixLength: Int
    /// Whether the text had bits set behind the prefix.
    public let hadHostBits: Bool

    /// Reads `10.0.0.0/8`, the short form `10/8`, or `2001:db8::/32`; nil for anything else, scopes included.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, text.utf8.count <= 49, let address = parts.first, let length = parts.last,
            (1...3).contains(length.utf8.count), length.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let bits = Int(length)
        else { return nil }
        let parsed = address.contains(":") ? IPAddress.v6(address) : IPAddress.v4(address, fields: 1...4)
        guard let bytes = parsed, bits <= bytes.count * 8 else { return nil }
        let masked = AddressRange.masked(bytes, bits)
        guard let base = IPAddress(bytes: masked) else { return nil }
        self.base = base
        prefixLength = bits
        hadHostBits = masked != bytes
    }

    /// Whether the address is of the same family and shares the leading bits.
    public func contains(_ address: IPAddress) -> Bool {
        address.bytes.count == base.bytes.count && AddressRange.masked(address.bytes, prefixLength) == base.bytes
    }

    private static func masked(_ bytes: [UInt8], _ bits: Int) -> [UInt8] {
        bytes.enumerated().map { index, byte in
            let kept = min(8, max(0, bits - index * 8))
            return kept == 0 ? 0 : byte & (0xFF << UInt8(8 - kept))
        }
    }
}

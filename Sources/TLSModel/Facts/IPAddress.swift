// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// An IPv4 or IPv6 address: 4 or 16 bytes.
@usableFromInline package struct IPAddress: Hashable, Sendable {
    /// Network byte order; the count is 4 or 16.
    package let bytes: [UInt8]

    /// Reads a literal as it appears in a URL: dotted quad, or IPv6 without brackets and without a scope.
    @inlinable package init?(_ text: some StringProtocol) { self.init(literal: Array(text.utf8.prefix(46))) }

    /// Reads a literal as systems print it, perhaps with a scope: `fe80::1%eth0`.
    package init?(scoped text: String) { self.init(text.prefix { $0 != "%" }) }

    @usableFromInline package init?(literal text: [UInt8]) {
        guard text.count <= 45 else { return nil }
        let isV6 = text.contains(0x3A)
        // Most texts are names, and one letter tells.
        guard isV6 || text.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }),
            let bytes = isV6 ? IPAddress.v6(text[...]) : IPAddress.v4(text[...], fields: 4...4)
        else { return nil }
        self.bytes = bytes
    }

    /// Makes an address of 4 or 16 bytes; nil for any other count.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    package var isIPv4: Bool { bytes.count == 4 }

    /// Reads one to four decimal fields; missing ones are zero, as in `10/8`.
    static func v4(
        _ text: ArraySlice<UInt8>, fields allowed: ClosedRange<Int>, mayBePadded: Bool = false
    ) -> [UInt8]? {
        guard text.count <= 15 else { return nil }
        let fields = text.split(separator: 0x2E, omittingEmptySubsequences: false)
        guard allowed.contains(fields.count) else { return nil }
        var bytes: [UInt8] = []
        for field in fields {
            guard (1...3).contains(field.count), mayBePadded || field.count == 1 || field.first != 0x30,
                field.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = UInt8(exactly: field.reduce(0) { $0 * 10 + Int($1 - 0x30) })
            else { return nil }
            bytes.append(number)
        }
        return bytes + [UInt8](repeating: 0, count: 4 - bytes.count)
    }

    /// RFC 4291 section 2.2, all three forms.
    static func v6(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count <= 45 else { return nil }
        let gap = text.indices.dropLast().first { text[$0] == 0x3A && text[$0 + 1] == 0x3A }
        guard let gap else { return groups(text, mayEndInV4: true).flatMap { $0.count == 16 ? $0 : nil } }
        guard let head = groups(text[..<gap], mayEndInV4: false),
            let tail = groups(text[(gap + 2)...], mayEndInV4: true), head.count + tail.count <= 14
        else { return nil }
        return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
    }

    private static func groups(_ text: ArraySlice<UInt8>, mayEndInV4: Bool) -> [UInt8]? {
        if text.isEmpty { return [] }
        var bytes: [UInt8] = []
        let fields = text.split(separator: 0x3A, omittingEmptySubsequences: false)
        for (index, field) in fields.enumerated() {
            if index == fields.count - 1, mayEndInV4, field.contains(0x2E) {
                guard let tail = v4(field, fields: 4...4) else { return nil }
                bytes += tail
            } else {
                let digits = field.compactMap(\.hexadecimalValue)
                guard (1...4).contains(field.count), digits.count == field.count else { return nil }
                let group = digits.reduce(UInt16(0)) { $0 << 4 | UInt16($1) }
                bytes += [UInt8(group >> 8), UInt8(group & 0xFF)]
            }
        }
        return bytes.count <= 16 ? bytes : nil
    }

    /// Dotted quad, or eight groups without leading zeros and without `::`.
    package var description: String {
        isIPv4 ? bytes.map(String.init).joined(separator: ".") : IPAddress.text(groups[...])
    }

    private var groups: [UInt16] {
        stride(from: 0, to: bytes.count, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
    }

    private static func text(_ groups: ArraySlice<UInt16>) -> String {
        groups.map { String($0, radix: 16) }.joined(separator: ":")
    }

    /// Reads an address also in the forms that are not canonical: octets with leading zeros, which are decimal here, and one hexadecimal
    /// number of 32 bits.
    package init?(loosely text: String) {
        if let address = IPAddress(text) {
            self = address
            return
        }
        let characters = Array(text.utf8)
        guard characters.count <= 45 else { return nil }
        if characters.count == 10, characters[0] == 0x30, characters[1] | 0x20 == 0x78 {
            let digits = characters.dropFirst(2).compactMap(\.hexadecimalValue)
            guard digits.count == 8 else { return nil }
            self.init(bytes: stride(from: 0, to: 8, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
            return
        }
        guard let octets = IPAddress.v4(characters[...], fields: 4...4, mayBePadded: true) else { return nil }
        self.init(bytes: octets)
    }

    /// Dotted quad, or the one text that RFC 5952 section 4 gives an IPv6 address.
    package var canonicalText: String {
        if isIPv4 { return description }
        let groups = groups
        var gap = 0..<0
        var start = 0
        for index in groups.indices {
            if groups[index] != 0 {
                start = index + 1
            } else if index + 1 - start > gap.count {
                gap = start..<(index + 1)
            }
        }
        guard gap.count > 1 else { return description }
        return IPAddress.text(groups[..<gap.lowerBound]) + "::" + IPAddress.text(groups[gap.upperBound...])
    }

    /// The IPv4 address inside an IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2), else the address itself.
    package var unmapped: IPAddress {
        guard bytes.count == 16, bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF,
            let inner = IPAddress(bytes: Array(bytes[12...]))
        else { return self }
        return inner
    }
}

extension UInt8 {
    fileprivate var hexadecimalValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import TLSModel
import Vocabulary

/// What a key of NSExceptionDomains or NSPinnedDomains names.
struct HostKey: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// A host name, valid or not.
        case name
        case address(IPAddress)
        case block(AddressRange)
        /// Looks like a range of addresses and is none.
        case malformedBlock
        /// A URL, or a host with a path.
        case url
    }

    let text: String
    let kind: Kind

    /// What to give `ats check` for it: the key, or a word for one of its addresses where it is a range.
    var checkTarget: String { isRange ? "ADDRESS" : text }

    init(_ text: String) {
        self.text = text
        let host = text.utf8.prefix { $0 != 0x2F && $0 != 0x3F && $0 != 0x23 }
        if let range = AddressRange(text) {
            kind = .block(range)
        } else if let address = IPAddress(text) {
            kind = .address(address)
        } else if host.endIndex == text.endIndex {
            kind = .name
        } else {
            let isNumeric =
                host.allSatisfy { $0.hexadecimalValue != nil || $0 == 0x2E || $0 == 0x3A }
                && host.contains { $0 == 0x2E || $0 == 0x3A }
            let suffix = text.utf8[host.endIndex...].dropFirst()
            let isRange = isNumeric && suffix.allSatisfy { HostKey.isDigit($0) || $0 == 0x2E || $0 == 0x2D }
            kind = isRange ? .malformedBlock : .url
        }
    }

    /// Whether a port is behind the name.
    var hasPort: Bool {
        let rest = text.utf8.dropLast(text.utf8.reversed().prefix(while: HostKey.isDigit).count)
        guard kind == .name, rest.count < text.utf8.count, rest.last == 0x3A else { return false }
        return rest.dropLast().last == 0x5D || !rest.dropLast().contains(0x3A)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    var isAddress: Bool {
        switch kind {
        case .address, .block: true
        default: false
        }
    }

    var isRange: Bool {
        if case .block = kind { true } else { false }
    }

    var isWildcard: Bool { text.utf8.contains(0x2A) }
    /// Whether letters keep the key from matching. A range is compared by its bits.
    var hasUppercase: Bool { !isRange && isASCII && text.utf8.contains { (0x41...0x5A).contains($0) } }
    /// How the address is usually written, if the key spells it otherwise; capitals apart.
    var usualSpelling: String? {
        let address: IPAddress
        switch kind {
        case .address(let own): address = own
        case .name where isPartOfAddress:
            guard let meant = IPAddress(loosely: hasTrailingDot ? String(text.dropLast()) : text) else { return nil }
            address = meant
        case .name, .block, .malformedBlock, .url: return nil
        }
        let usual = address.canonicalText
        return usual.utf8.elementsEqual(text.utf8.asciiLowercased) ? nil : usual
    }
    var isASCII: Bool { text.utf8.allSatisfy { $0 < 0x80 } }
    var hasTrailingDot: Bool { kind == .name && text.utf8.last == 0x2E && text.utf8.count > 1 }
    var labels: [Substring] { text.lowercased().utf8.split(separator: 0x2E).map { Substring($0) } }
    /// How many labels there are, without making them.
    var labelCount: Int { text.utf8.split(separator: 0x2E).count }

    /// Whether the key was meant for addresses and is none: `192.168.1`, `10.*.*.*`, `10.0.0.1-20`, `192.168.1.300`.
    var isPartOfAddress: Bool { kind == .name && HostName.isMisspelledAddress(text) }

    /// Whether ATS requires no TLS of the host since iOS 10, or of any in the range: local names, and the addresses that Apple's own tests treat as
    /// local.
    var isLocal: Bool { isLocal(LocalHosts.confirmed) }

    func isLocal(_ ranges: [AddressRange]) -> Bool {
        switch kind {
        case .address, .block: ranges.contains(where: isInside)
        case .name: LocalHosts.isLocalName(text.lowercased())
        case .malformedBlock, .url: false
        }
    }

    /// Why a name that looks like none of the local network is local; empty for all others.
    var localReason: String { isTopLevel ? " ATS counts every name without a dot as local." : "" }

    /// Whether the hosts below the key are those of a whole top-level domain: `com`, but not `local` and not `lan`.
    var isTopLevel: Bool {
        kind == .name && labelCount == 1 && !LocalHosts.privateDomains.contains(text.lowercased())
    }

    /// Whether the address or the whole range lies inside another range.
    func isInside(_ range: AddressRange) -> Bool {
        switch kind {
        case .address(let address): range.contains(address)
        case .block(let own): own.prefixLength >= range.prefixLength && range.contains(own.base)
        default: false
        }
    }

    /// Whether the key is a range that covers all of another one.
    func covers(_ range: AddressRange) -> Bool {
        guard case .block(let own) = kind else { return false }
        return own.prefixLength <= range.prefixLength && own.contains(range.base)
    }
}

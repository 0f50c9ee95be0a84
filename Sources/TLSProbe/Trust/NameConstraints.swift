// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
package import TLSModel
import Vocabulary

/// What an authority may issue certificates for (RFC 5280 section 4.2.1.10).
package struct NameConstraints: Sendable {
    private let permitted: NameSubtrees
    private let excluded: NameSubtrees
    /// Why the extension cannot be read; then nothing below it can be trusted.
    let fault: String?

    /// Subtrees of both lists.
    var count: Int { permitted.count + excluded.count }

    /// The constraints of a certificate; nil if it has none.
    init?(of certificate: CertificateFacts) {
        guard certificate.hasNameConstraints else { return nil }
        var (permitted, excluded) = (NameSubtrees(), NameSubtrees())
        var fault: String?
        do throws(MalformedInput) {
            guard let entry = try CertificateOutline(of: certificate).entry("2.5.29.30") else { return nil }
            var reader = try DERReader(try DERReader.parse(entry.value, "nameConstraints"), "nameConstraints")
            if let list = reader.optional(context: 0) { try permitted.read(list) }
            if let list = reader.optional(context: 1) { try excluded.read(list) }
            if reader.next() != nil { throw MalformedInput.certificate("nameConstraints has an unknown member") }
            if permitted.count + excluded.count == 0 { throw MalformedInput.certificate("nameConstraints is empty") }
        } catch {
            fault = error.reason
        }
        self.permitted = permitted
        self.excluded = excluded
        self.fault = fault
    }

    /// What is taken here although RFC 5280 does not allow it, as the end of a sentence; nil if there are no constraints or nothing is.
    package static func laxity(of certificate: CertificateFacts) -> String? {
        guard let constraints = NameConstraints(of: certificate) else { return nil }
        return constraints.permitted.hasLeadingDot || constraints.excluded.hasLeadingDot
            ? "have a DNS name with a leading dot" : nil
    }

    /// What the constraints do to the names of a certificate below, as the end of a sentence; nil if all of them are allowed.
    func violation(_ certificate: ConstrainedNames) -> String? {
        if let fault { return "cannot be read: \(fault)" }
        if let fault = certificate.fault { return "cannot be applied, because the names cannot be read: \(fault)" }
        for name in certificate.names {
            let (permits, excludes) = (permitted.concern(name), excluded.concern(name))
            guard permits || excludes else { continue }
            guard let isPermitted = permitted.contain(name), let isExcluded = excluded.contain(name) else {
                return "cannot be compared with \(name.words)"
            }
            if excludes, isExcluded || excluded.mayContain(wildcard: name) { return "exclude \(name.words)" }
            if permits, !isPermitted { return "do not permit \(name.words)" }
        }
        return nil
    }
}

/// The permitted or the excluded subtrees of one certificate.
///
/// They are kept in a set, and a name is looked up with each of its own parents: the work grows with the names, not with names times
/// subtrees.
struct NameSubtrees: Sendable {
    /// Where a subtree begins, and which part of it is meant.
    enum Place: Hashable, Sendable {
        /// A host in names with this tag, and everything below it in DNS names, where empty is every name.
        case host(UInt32, [UInt8])
        /// What is below a host, and not the host itself: a leading dot, which RFC 5280 does not know in DNS names and authorities write.
        case below(UInt32, [UInt8])
        /// The one label below which a host name stands: a wildcard there covers the name.
        case wildcardCovering([UInt8])
        case mailbox([UInt8])
        case network(Network)
        case directory([[UInt8]])
    }

    /// The first bits of addresses of one length: an IPv4 address fills the upper half of `high`.
    struct Network: Hashable, Sendable {
        let isIPv4: Bool
        let prefix: Int
        let high: UInt64
        let low: UInt64

        /// The network of that length around an address of 4 or 16 bytes; nil for any other count, and for a length that it has not.
        init?(_ bytes: some Collection<UInt8>, prefix: Int) {
            guard bytes.count == 4 || bytes.count == 16, prefix <= bytes.count * 8 else { return nil }
            var (high, low): (UInt64, UInt64) = (0, 0)
            for (index, byte) in bytes.enumerated() {
                if index < 8 {
                    high |= UInt64(byte) << UInt64(56 - index * 8)
                } else {
                    low |= UInt64(byte) << UInt64(120 - index * 8)
                }
            }
            self.init(isIPv4: bytes.count == 4, high: high, low: low, prefix: prefix)
        }

        private init(isIPv4: Bool, high: UInt64, low: UInt64, prefix: Int) {
            self.isIPv4 = isIPv4
            self.prefix = prefix
            // Shifts by all 64 bits give 0.
            self.high = prefix >= 64 ? high : high & ~(UInt64.max >> UInt64(prefix))
            self.low = prefix <= 64 ? 0 : low & ~(UInt64.max >> UInt64(prefix - 64))
        }

        /// A shorter prefix of the same address.
        func shortened(to prefix: Int) -> Network { Network(isIPv4: isIPv4, high: high, low: low, prefix: prefix) }
    }

    /// Subtrees, also those of kinds that are not compared here.
    private(set) var count = 0
    /// Whether a subtree of DNS names begins with a dot.
    private(set) var hasLeadingDot = false
    /// The tags of the names that they are about.
    private var kinds: Set<UInt32> = []
    private var places: Set<Place> = []
    /// The lengths of the networks among them.
    private var prefixes: Set<Int> = []

    func concern(_ name: GeneralName) -> Bool { kinds.contains(name.tag) }

    /// Whether the name is in one of the subtrees; nil if it is not of the form that its kind has, so that nothing can be said of it.
    func contain(_ name: GeneralName) -> Bool? {
        if case .address(let bytes) = name {
            guard let whole = Network(bytes, prefix: bytes.count * 8) else { return nil }
            // An address is in as many networks as it has bits; only lengths that occur are looked up.
            return prefixes.contains { $0 <= whole.prefix && places.contains(.network(whole.shortened(to: $0))) }
        }
        return NameSubtrees.places(of: name).map { $0.contains { places.contains($0) } }
    }

    /// Whether a wildcard could stand for a name in a subtree that it is not itself in (CVE-2025-61727).
    func mayContain(wildcard name: GeneralName) -> Bool {
        guard case .dns(let bytes) = name, bytes.starts(with: "*.".utf8) else { return false }
        return places.contains(.wildcardCovering(bytes.dropFirst(2).asciiLowercased))
    }

    /// Reads GeneralSubtrees.
    mutating func read(_ node: ASN1Element) throws(MalformedInput) {
        var list = try DERReader(node, "subtrees")
        while let subtree = list.next() {
            var reader = try DERReader(subtree, "subtree")
            let base = try reader.required("base")
            // The only minimum that RFC 5280 allows is 0, and it allows no maximum.
            if let minimum = reader.optional(context: 0), try minimum.primitive("minimum").contains(where: { $0 != 0 })
            {
                throw .certificate("a subtree has a minimum other than 0")
            }
            if reader.next() != nil { throw .certificate("a subtree has a maximum") }
            try add(base)
        }
        if count == 0 { throw .certificate("a list of subtrees is empty") }
    }

    private mutating func add(_ base: ASN1Element) throws(MalformedInput) {
        count += 1
        // The base of an address has a mask behind it, which no name has.
        if base.contextNumber == 7 {
            kinds.insert(7)
            let network = try NameSubtrees.network(try base.primitive("iPAddress"))
            prefixes.insert(network.prefix)
            places.insert(.network(network))
            return
        }
        let name = try GeneralName(base)
        kinds.insert(name.tag)
        switch name {
        case .dns(let bytes) where bytes.isEmpty: places.insert(.host(name.tag, []))
        case .dns(let bytes):
            let host = bytes.asciiLowercased
            try add(host, name.tag, "a subtree of DNS names is not a host name")
            if host.first == 0x2E {
                hasLeadingDot = true
            } else if let dot = host.firstIndex(of: 0x2E) {
                places.insert(.wildcardCovering(Array(host[(dot + 1)...])))
            }
        case .email(let bytes):
            if let mailbox = NameSubtrees.mailbox(bytes) {
                places.insert(.mailbox(mailbox.local + [0x40] + mailbox.host))
            } else {
                try add(bytes.asciiLowercased, name.tag, "a subtree of mail addresses is not a mail address")
            }
        case .uri(let bytes): try add(bytes.asciiLowercased, name.tag, "a subtree of URIs is not a host name")
        case .directory(let keys): places.insert(.directory(keys))
        case .address, .other: break
        }
    }

    /// - Parameter fault: what is wrong if it is no host name, with a leading dot or without.
    private mutating func add(_ host: [UInt8], _ tag: UInt32, _ fault: String) throws(MalformedInput) {
        let isBelow = host.first == 0x2E
        let bare = isBelow ? Array(host.dropFirst()) : host
        guard NameForm.isHostName(bare) else { throw .certificate(fault) }
        places.insert(isBelow ? .below(tag, bare) : .host(tag, bare))
    }

    /// An address and a mask of its length, whose ones all come first (RFC 4632).
    private static func network(_ bytes: ArraySlice<UInt8>) throws(MalformedInput) -> Network {
        let (address, mask) = (bytes.prefix(bytes.count / 2), bytes.suffix(bytes.count / 2))
        let ones = mask.reduce(0) { $0 + $1.nonzeroBitCount }
        guard bytes.count.isMultiple(of: 2), let network = Network(address, prefix: ones) else {
            throw .certificate("a subtree of addresses has \(bytes.count) bytes")
        }
        let leading =
            mask.prefix { $0 == 0xFF }.count * 8 + (mask.first { $0 != 0xFF }.map { (~$0).leadingZeroBitCount } ?? 0)
        guard leading == ones else { throw .certificate("a subtree of addresses has a mask with a gap") }
        return network
    }

    // MARK: - Names

    /// Every place that a name other than an address is in.
    private static func places(of name: GeneralName) -> [Place]? {
        switch name {
        case .dns(let bytes):
            let host = bytes.asciiLowercased
            let bare = host.starts(with: "*.".utf8) ? host.dropFirst(2) : host[...]
            guard NameForm.isHostName(bare) else { return nil }
            return [.host(name.tag, host), .host(name.tag, [])]
                + parents(of: host).flatMap { [.host(name.tag, $0), .below(name.tag, $0)] }
        case .email(let bytes):
            guard let mailbox = mailbox(bytes) else { return nil }
            return [.mailbox(mailbox.local + [0x40] + mailbox.host), .host(name.tag, mailbox.host)]
                + parents(of: mailbox.host).map { .below(name.tag, $0) }
        case .uri(let bytes):
            guard let host = uriHost(bytes) else { return nil }
            return [.host(name.tag, host)] + parents(of: host).map { .below(name.tag, $0) }
        case .directory(let keys):
            guard keys.count <= maximumRelativeNames else { return nil }
            return (0...keys.count).map { .directory(Array(keys.prefix($0))) }
        case .address, .other: return nil
        }
    }

    /// What follows each dot.
    private static func parents(of host: [UInt8]) -> [[UInt8]] {
        host.indices.filter { host[$0] == 0x2E }.map { Array(host[($0 + 1)...]) }
    }

    /// The two parts of a mail address: the local part as it stands, the host in lower case; nil if it is none. Quoted local parts,
    /// which may contain anything, are not read.
    private static func mailbox(_ bytes: [UInt8]) -> (local: [UInt8], host: [UInt8])? {
        guard let at = bytes.lastIndex(of: 0x40) else { return nil }
        let (local, host) = (bytes[..<at], bytes[(at + 1)...])
        guard (1...64).contains(local.count), local.first != 0x2E, local.last != 0x2E,
            local.allSatisfy({ (0x21...0x7E).contains($0) && !unquoted.contains($0) }), NameForm.isHostName(host)
        else { return nil }
        return (Array(local), host.asciiLowercased)
    }

    /// The host of a URI with an authority, unless it is an address, for which no constraint is defined.
    private static func uriHost(_ bytes: [UInt8]) -> [UInt8]? {
        guard let colon = bytes.firstIndex(of: 0x3A), bytes[(colon + 1)...].starts(with: "//".utf8) else { return nil }
        var authority = bytes[(colon + 3)...].prefix { $0 != 0x2F && $0 != 0x3F && $0 != 0x23 }
        if let at = authority.lastIndex(of: 0x40) { authority = authority[(at + 1)...] }
        let host = authority.prefix { $0 != 0x3A }
        guard NameForm.isHostName(host), IPAddress(String(decoding: host, as: UTF8.self)) == nil else { return nil }
        return host.asciiLowercased
    }

    /// RFC 5322 section 3.2.3: what an unquoted local part may not contain.
    private static let unquoted = Set("()<>[]:;@\\,\"".utf8)
    /// Names of the web have under ten; each prefix of a name is looked up.
    private static let maximumRelativeNames = 64
}

extension GeneralName {
    /// For a sentence.
    fileprivate var words: String {
        func shown(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self).terminalSafe(limit: 128) }
        switch self {
        case .email(let bytes): return "the mail address \(shown(bytes))"
        case .dns(let bytes): return "the name \(shown(bytes))"
        case .uri(let bytes): return "the URI \(shown(bytes))"
        case .address(let bytes):
            return "the address \(IPAddress(bytes: bytes)?.description ?? "of \(bytes.count) bytes")"
        case .directory: return "the distinguished name"
        case .other: return "a name of a type that is not compared here"
        }
    }
}

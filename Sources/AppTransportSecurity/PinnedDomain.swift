// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import PropertyLists
import Vocabulary

/// One entry of NSPinnedDomains. Source: Security 61901, SecPolicy.c (`parseNSPinnedDomains`).
public struct PinnedDomain: Sendable, Equatable {
    /// Lower case, without a trailing dot: pins match whatever the case.
    public let domain: String
    /// `NSIncludesSubdomains`; one label more, and no deeper.
    public let includesSubdomains: Bool
    /// Nil if the key is absent. An empty list fails every chain.
    public let authorities: [[UInt8]]?
    /// `NSPinnedLeafIdentities` as SHA-256 of SubjectPublicKeyInfo, 32 bytes each; nil if the key is absent, empty fails closed.
    public let leaves: [[UInt8]]?

    /// An entry that is built in code.
    ///
    /// - Parameters:
    ///   - authorities: SHA-256 of the SubjectPublicKeyInfo of any certificate above the leaf, 32 bytes each; nil leaves the list out.
    ///   - leaves: the same for the leaf.
    public init(
        domain: String, includesSubdomains: Bool = false, authorities: [[UInt8]]? = nil, leaves: [[UInt8]]? = nil
    ) {
        self.domain = PinnedDomain.normalized(domain)
        self.includesSubdomains = includesSubdomains
        self.authorities = authorities
        self.leaves = leaves
    }

    /// The entry for an Info.plist.
    package var propertyListValue: PropertyListValue {
        func identities(_ pins: [[UInt8]]) -> PropertyListValue {
            .array(pins.map { .dictionary([ATSKey.pin: .string(Base64.encode($0))]) })
        }
        var members: [String: PropertyListValue] = [:]
        if includesSubdomains { members[ATSKey.includesSubdomains] = .boolean(true) }
        members[ATSKey.pinnedAuthorities] = authorities.map(identities)
        members[ATSKey.pinnedLeaves] = leaves.map(identities)
        return .dictionary(members)
    }

    /// Whether this entry speaks for a host: the same name, or exactly one label below it where subdomains are included.
    package func covers(_ host: String) -> Bool {
        let host = PinnedDomain.normalized(host)
        guard host.isSameOrBelow(domain) else { return false }
        let labels = host.utf8.dropLast(domain.utf8.count).count { $0 == UInt8(ascii: ".") }
        return labels == 0 || includesSubdomains && labels == 1
    }

    static func normalized(_ host: String) -> String {
        let lower = host.lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }

    static func all(in value: PropertyListValue?, _ remarks: inout Remarks) -> [PinnedDomain] {
        guard let value else { return [] }
        guard let members = value.members else {
            remarks.add(.dictionaryWrongType, "NSPinnedDomains is \(value.kind), not a dictionary: nothing is pinned.")
            return []
        }
        var domains: [PinnedDomain] = []
        for name in members.keys.sorted() {
            remarks.subject = .pins(name)
            defer { remarks.subject = .dictionary }
            guard let entry = members[name]?.members else {
                remarks.add(.dictionaryWrongType, "NSPinnedDomains.\(name) is not a dictionary: this entry is dropped.")
                continue
            }
            let authorities = pins(entry[ATSKey.pinnedAuthorities], name, ATSKey.pinnedAuthorities, &remarks)
            let leaves = pins(entry[ATSKey.pinnedLeaves], name, ATSKey.pinnedLeaves, &remarks)
            let includesSubdomains = entry[ATSKey.includesSubdomains] == .boolean(true)
            if authorities == nil, leaves == nil {
                remarks.add(.dictionaryBadValue, "NSPinnedDomains.\(name) names no identities: it pins nothing.")
            }
            domains.append(
                PinnedDomain(
                    domain: name, includesSubdomains: includesSubdomains, authorities: authorities,
                    leaves: leaves))
        }
        return domains
    }

    private static func pins(
        _ value: PropertyListValue?, _ name: String, _ key: String, _ remarks: inout Remarks
    )
        -> [[UInt8]]?
    {
        guard let value else { return nil }
        guard case .array(let elements) = value else {
            remarks.add(
                .dictionaryWrongType, "NSPinnedDomains.\(name).\(key) is \(value.kind), not an array: it is skipped.")
            return nil
        }
        var pins: [[UInt8]] = []
        for (index, element) in elements.enumerated() {
            let written: String? = if case .string(let text)? = element.members?[ATSKey.pin] { text } else { nil }
            let hash = written.flatMap { Base64.decodeIgnoringStrayBits($0) }
            if hash?.count != 32, let right = written.flatMap(PinText.right) {
                remarks.add(
                    .dictionaryBadValue,
                    "NSPinnedDomains.\(name).\(key)[\(index)] is a pin as other tools write it, and matches nothing: here it is '\(right)'."
                )
                if let hash { pins.append(hash) }
                continue
            }
            guard let hash else {
                remarks.add(
                    .dictionaryBadValue,
                    "NSPinnedDomains.\(name).\(key)[\(index)] contains no base64 under \(ATSKey.pin): it is skipped.")
                continue
            }
            if hash.count != 32 {
                remarks.add(
                    .dictionaryBadValue,
                    "NSPinnedDomains.\(name).\(key)[\(index)] is \(hash.count) bytes, not 32: it matches nothing.")
            }
            pins.append(hash)
        }
        if pins.isEmpty {
            remarks.add(.pinsEmpty, "NSPinnedDomains.\(name).\(key) has no usable pin: every chain is refused.")
        }
        return pins
    }
}

/// A pin as other tools write it: `sha256/...`, hexadecimal, or base64 of the alphabet for URLs.
package enum PinText {
    /// The same as NSPinnedDomains reads it; nil if it is no SHA-256.
    package static func right(_ text: String) -> String? {
        guard text.utf8.count <= 128 else { return nil }
        var rest = text.trimmed()[...]
        for prefix in ["sha256//", "sha256/", "sha256:", "sha-256:"] where rest.lowercased().hasPrefix(prefix) {
            rest = rest.dropFirst(prefix.count)
            break
        }
        if let bytes = String(rest).hexadecimalBytes, bytes.count == 32 { return Base64.encode(bytes) }
        var standard = rest.replacing("-", with: "+").replacing("_", with: "/")
        if standard.utf8.count == 43 { standard += "=" }
        guard let bytes = Base64.decodeIgnoringStrayBits(String(standard)), bytes.count == 32 else { return nil }
        return Base64.encode(bytes)
    }
}

/// The pins that hold for one host: the union of all entries that cover it.
package struct PinSet: Sendable, Equatable {
    /// SHA-256 of SubjectPublicKeyInfo, 32 bytes each; nil if nothing is pinned there.
    package let authorities: Set<[UInt8]>?
    /// SHA-256 of the SubjectPublicKeyInfo of accepted leaves; nil if none are named.
    package let leaves: Set<[UInt8]>?

    /// Nil if no entry with identities covers the host.
    package init?(_ domains: [PinnedDomain], host: String) {
        let covering = domains.filter { $0.covers(host) }
        let authorities = covering.compactMap(\.authorities)
        let leaves = covering.compactMap(\.leaves)
        guard !authorities.isEmpty || !leaves.isEmpty else { return nil }
        // A pin of another length matches no key.
        self.authorities = authorities.isEmpty ? nil : Set(authorities.joined().filter { $0.count == 32 })
        self.leaves = leaves.isEmpty ? nil : Set(leaves.joined().filter { $0.count == 32 })
    }
}

extension PinSet {
    /// Lists without a usable pin, which no chain satisfies.
    func unusable(for host: String) -> [Cause] {
        let leaf = leaves?.isEmpty == true ? [PinSet.emptyCause(ATSKey.pinnedLeaves, host)] : []
        return leaf + (authorities?.isEmpty == true ? [PinSet.emptyCause(ATSKey.pinnedAuthorities, host)] : [])
    }

    private static func emptyCause(_ key: String, _ host: String) -> Cause {
        Cause(
            .trustPinMismatch, "\(key) has no usable pin for \(host), so every chain is refused.",
            citation: .security("SecPolicy.c, parseNSPinnedDomains"),
            situation: Remediation.Situation.emptyPins.rawValue)
    }
}

/// The pins of a dictionary by the name of their domain: a host is looked up twice, however many entries there are.
struct PinIndex: Sendable {
    private let domains: [UTF8Key: [PinnedDomain]]

    init(_ domains: [PinnedDomain]) { self.domains = Dictionary(grouping: domains) { UTF8Key($0.domain) } }

    /// The pins that hold for a host; nil if no entry with identities covers it.
    func pins(for host: String) -> PinSet? {
        if domains.isEmpty { return nil }
        // An entry covers its own name and what is one label below.
        let names = PinnedDomain.normalized(host).selfAndParents.prefix(2)
        let candidates = names.flatMap { domains[UTF8Key($0)] ?? [] }
        return candidates.isEmpty ? nil : PinSet(candidates, host: host)
    }
}

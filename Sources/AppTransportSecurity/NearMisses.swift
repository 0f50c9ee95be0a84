// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel
import Vocabulary

/// The entries of NSExceptionDomains that almost match a host, and why they do not: what `explain` tells beside the decision.
///
/// Every key is read once; a host is then looked up by its name and the names above it.
package struct NearMisses: Sendable {
    /// Why a key does not match the host that it seems to mean.
    package enum Reason: Hashable, Sendable {
        case letterCase
        case port
        case url
        case trailingDot
        case missingDot
        case wildcard
        case leadingDot
        case blank
        case brackets
        case zone
        case addressSpelling
        case international(String)
        case subdomains
        case parentOfHost
        /// Whoever decides that addresses are not read: the system or, below it, the SDK.
        case addressKeys(by: String)

        /// For people, the rest of a sentence.
        package var words: String {
            switch self {
            case .letterCase: "keys are compared letter by letter with the host in lower case"
            case .port: "a key contains no port: it covers every port"
            case .url: "a key is a host, without scheme and path"
            case .trailingDot: "the key ends with a dot and the host does not, and the dot is part of the comparison"
            case .missingDot: "the host ends with a dot and the key does not, and the dot is part of the comparison"
            case .wildcard: "an asterisk matches nothing; subdomains are covered by NSIncludesSubdomains"
            case .leadingDot: "a key does not begin with a dot; subdomains are covered by NSIncludesSubdomains"
            case .blank: "the key has spaces around the host"
            case .brackets: "a key has no brackets around an address"
            case .zone: "a key names no interface: an address covers all of them"
            case .addressSpelling: "an address is compared as text, in the way it is usually written"
            case .international(let ascii): "the host is requested in ASCII, as \(ascii)"
            case .subdomains: "the entry does not set NSIncludesSubdomains to YES, so it covers only that host"
            case .parentOfHost: "the entry is for a host below this one"
            case .addressKeys(let decider): "\(decider) does not read addresses and ranges as keys"
            }
        }
    }

    private struct Candidate {
        let key: String
        let reasons: [Reason]
        let coversSubdomains: Bool
    }

    private let candidates: [UTF8Key: [Candidate]]
    private let ranges: [(range: AddressRange, key: String)]
    private let addressDecider: String
    /// Keys that are not known before the build, with whether they cover subdomains.
    private let filledIn: [(key: String, coversSubdomains: Bool)]

    package init(_ policy: ATSPolicy) {
        var candidates: [UTF8Key: [Candidate]] = [:]
        var ranges: [(AddressRange, String)] = []
        var filledIn: [(String, Bool)] = []
        for key in policy.dictionary.exceptions.keys.sorted() {
            guard let entry = policy.dictionary.exceptions[key] else { continue }
            if !policy.profile.readsAddressKeys.value,
                let range = AddressRange(key) ?? IPAddress(key).map({ AddressRange($0) })
            {
                ranges.append((range, key))
            }
            if BuildVariable.isIn(key) { filledIn.append((key, entry.includesSubdomains)) }
            guard let (host, reasons) = NearMisses.meant(by: key) else { continue }
            let isWild = reasons.contains(.wildcard) || reasons.contains(.leadingDot)
            candidates[UTF8Key(host), default: []].append(
                Candidate(key: key, reasons: reasons, coversSubdomains: entry.includesSubdomains || isWild))
        }
        self.candidates = candidates
        self.ranges = ranges
        addressDecider = policy.profile.addressKeysDecider
        self.filledIn = filledIn
    }

    /// The decision with a note for each entry that almost decided, at most three, the closest first.
    package func explaining(_ decision: URLDecision) -> URLDecision {
        guard decision.applies else { return decision }
        var decision = decision
        decision.nearMisses = notes(decision)
        return decision
    }

    private func notes(_ decision: URLDecision) -> [Cause] {
        let host = decision.url.host
        if let address = decision.url.literalAddress {
            let keys = ranges.filter { $0.range.contains(address) }.map(\.key)
            return keys.prefix(3).map { note($0, host, [.addressKeys(by: addressDecider)]) }
                + exact(host, decision).prefix(3)
        }
        // An entry that decided is as close as one can be, unless it is one for a domain above.
        var notes = exact(host, decision)
        if decision.rule.source != .exception {
            for name in bare(host).selfAndParents.dropFirst() {
                for candidate in candidates[UTF8Key(name)] ?? [] {
                    let reasons = reasons(of: candidate, host) + (candidate.coversSubdomains ? [] : [.subdomains])
                    if !reasons.isEmpty { notes.append(note(candidate.key, host, reasons)) }
                }
            }
            if notes.isEmpty, candidates[UTF8Key("www." + bare(host))] != nil {
                notes.append(note("www." + bare(host), host, [.parentOfHost]))
            }
            for (key, covers) in filledIn
            where notes.count < 3 && BuildVariable.mayBecome(host, key, coversSubdomains: covers) {
                notes.append(
                    Cause(
                        .noteEntryAlmostMatches,
                        "The build fills in the key NSExceptionDomains.\(key.terminalSafe(limit: 253)): whether it becomes \(host) is not known "
                            + "here; beside --info-plist, --define NAME=VALUE says it.", kind: .note))
            }
        }
        return Array(notes.prefix(3))
    }

    /// Entries that mean the host itself.
    private func exact(_ host: String, _ decision: URLDecision) -> [Cause] {
        (candidates[UTF8Key(bare(host))] ?? []).compactMap { candidate in
            let reasons = reasons(of: candidate, host)
            // No reason: the key matches, or its host is an address on a system that reads none.
            return reasons.isEmpty ? nil : note(candidate.key, host, reasons)
        }
    }

    /// The dot at the end is part of the comparison: of host and key both have it, or neither.
    private func reasons(of candidate: Candidate, _ host: String) -> [Reason] {
        guard host.utf8.last == 0x2E else { return candidate.reasons }
        return candidate.reasons.contains(.trailingDot)
            ? candidate.reasons.filter { $0 != .trailingDot } : candidate.reasons + [.missingDot]
    }

    private func note(_ key: String, _ host: String, _ reasons: [Reason]) -> Cause {
        Cause(
            .noteEntryAlmostMatches,
            "The entry NSExceptionDomains.\(key.terminalSafe(limit: 253)) almost matches \(host) but is not read for it: "
                + reasons.map(\.words).joined(separator: "; ") + ".",
            citation: .security("SecProtocolConfiguration.m, find_exception_for_host"), kind: .note)
    }

    private func bare(_ host: String) -> String { host.utf8.last == 0x2E ? String(host.dropLast()) : host }

    /// The host that a key was probably meant for, with what keeps it from matching; nil if it means none.
    package static func meant(by key: String) -> (host: String, reasons: [Reason])? {
        // A host has 254 bytes in ASCII, and a URL around it some more.
        guard key.utf8.count <= 4096 else { return nil }
        var reasons: [Reason] = []
        var rest = Substring(key)
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        if rest.utf8.first.map(isBlank) == true || rest.utf8.last.map(isBlank) == true {
            reasons.append(.blank)
            rest = Substring(rest.utf8.trimmed(while: isBlank))
        }
        if AddressRange(rest) == nil {
            let scheme = rest.utf8.indices.first { rest.utf8[$0] == 0x3A && rest.utf8[$0...].starts(with: "://".utf8) }
            if let scheme {
                reasons.append(.url)
                rest = rest[rest.utf8.index(scheme, offsetBy: 3)...]
            }
            if let end = rest.utf8.firstIndex(where: { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 }) {
                if scheme == nil { reasons.append(.url) }
                rest = rest[..<end]
            }
            if rest.utf8.first == 0x5B, let close = rest.utf8.firstIndex(of: 0x5D) {
                let port = rest.utf8[rest.utf8.index(after: close)...]
                guard port.isEmpty || port.first == 0x3A else { return nil }
                reasons += port.isEmpty ? [.brackets] : [.port, .brackets]
                rest = rest[..<close].dropFirst()
            }
            if let zone = rest.utf8.firstIndex(of: 0x25), IPAddress(rest[..<zone]) != nil {
                reasons.append(.zone)
                rest = rest[..<zone]
            }
            if let address = IPAddress(loosely: String(rest)) {
                let usual = address.canonicalText
                if !usual.hasSameBytes(as: rest) {
                    reasons.append(usual.hasSameBytes(as: rest.lowercased()) ? .letterCase : .addressSpelling)
                }
                return (usual, reasons)
            }
            if let colon = rest.utf8.firstIndex(of: 0x3A) {
                guard rest.utf8[colon...].dropFirst().allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
                reasons.append(.port)
                rest = rest[..<colon]
            }
        }
        if rest.utf8.starts(with: "*.".utf8) {
            reasons.append(.wildcard)
            rest = Substring(rest.utf8.dropFirst(2))
        } else if rest.utf8.first == 0x2E {
            reasons.append(.leadingDot)
            rest = Substring(rest.utf8.dropFirst())
        }
        guard let ascii = HostName.ascii(String(rest)), !HostName.isMisspelledAddress(ascii) else { return nil }
        if !rest.utf8.allSatisfy({ $0 < 0x80 }) {
            reasons.append(.international(ascii))
        } else if !ascii.hasSameBytes(as: rest) {
            reasons.append(.letterCase)
        }
        guard ascii.utf8.last == 0x2E else { return (ascii, reasons) }
        return (String(ascii.dropLast()), reasons + [.trailingDot])
    }
}

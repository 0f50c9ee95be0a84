// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import PropertyLists
import Vocabulary

/// The keys of an exception that had other names in 2015: `NSThirdPartyException...` and `NSTemporaryException...`.
///
/// The systems of that year obeyed them, today's do not read them, and of those between sources say both.
package struct LegacyKeys: Sendable, Hashable {
    /// The switches that are set, by their whole names.
    package var flags: [String: Bool] = [:]
    /// The versions that are set, by their whole names.
    package var versions: [String: TLSVersionName] = [:]

    /// The beginnings of the names; what a technical note documented comes first.
    private static let prefixes = ["NSThirdPartyException", "NSTemporaryException"]
    private static let insecureHTTPLoads = prefixes.map { $0 + "AllowsInsecureHTTPLoads" }
    private static let forwardSecrecy = prefixes.map { $0 + "RequiresForwardSecrecy" }
    private static let minimumTLSVersion = prefixes.map { $0 + "MinimumTLSVersion" }
    package static let names = insecureHTTPLoads + forwardSecrecy + minimumTLSVersion
    /// Which systems obey one, as the end of a sentence about it.
    package static let history =
        "iOS 9 and OS X 10.11 obey it, for iOS 10 to 12 sources contradict each other, and iOS 13, macOS 10.15 and later do not read it"

    /// Nil if no key is there with a value of its type.
    init?(_ members: [String: PropertyListValue]) {
        for name in LegacyKeys.insecureHTTPLoads + LegacyKeys.forwardSecrecy {
            flags[name] = members[name]?.asAppleBoolean
        }
        for name in LegacyKeys.minimumTLSVersion {
            if case .string(let text)? = members[name] { versions[name] = TLSVersionName(rawValue: text) }
        }
        if isEmpty { return nil }
    }

    private var isEmpty: Bool { flags.isEmpty && versions.isEmpty }

    /// The keys as they stand in a property list.
    var members: [String: PropertyListValue] {
        flags.mapValues(PropertyListValue.boolean).merging(versions.mapValues { .string($0.rawValue) }) { $1 }
    }

    /// The same without one key; nil if none is left.
    func removing(_ name: String) -> LegacyKeys? {
        var rest = self
        rest.flags[name] = nil
        rest.versions[name] = nil
        return rest.isEmpty ? nil : rest
    }

    /// Whether a key loosens something.
    func weakens(_ name: String) -> Bool {
        if let version = versions[name] { return version != .tls13 }
        guard let flag = flags[name] else { return false }
        return flag != LegacyKeys.forwardSecrecy.contains(name)
    }

    /// The entry with these keys under their later names. A key that is there under both names loosens if either does.
    func applied(to entry: ExceptionEntry) -> ExceptionEntry {
        var entry = entry
        entry.legacy = nil
        if LegacyKeys.insecureHTTPLoads.contains(where: { flags[$0] == true }) { entry.allowsInsecureHTTPLoads = true }
        if LegacyKeys.forwardSecrecy.contains(where: { flags[$0] == false }) { entry.requiresForwardSecrecy = false }
        // TLSv1.3 is younger than these names, and would tighten.
        entry.minimumTLSVersion =
            entry.minimumTLSVersion
            ?? LegacyKeys.minimumTLSVersion.lazy.compactMap { versions[$0] }.first { $0 != .tls13 }
        return entry
    }
}

extension ATSDictionary {
    /// What a system may make of the dictionary: one dictionary without keys of 2015, or two where sources contradict each other about
    /// those keys and that makes a difference, the one that obeys none first.
    package func readings(on profile: OSProfile) -> [ATSDictionary] {
        guard exceptions.values.contains(where: { $0.legacy != nil }) else { return [self] }
        let fact = profile.facts.readsLegacyKeys
        let (plain, obeyed) = (withoutLegacyKeys { $0 }, withoutLegacyKeys { $0.legacy?.applied(to: $0) ?? $0 })
        if fact.basis == .unknown { return plain == obeyed ? [plain] : [plain, obeyed] }
        return [fact.value ? obeyed : plain]
    }

    private func withoutLegacyKeys(_ change: (ExceptionEntry) -> ExceptionEntry) -> ATSDictionary {
        var changed = self
        for (host, entry) in exceptions where entry.legacy != nil {
            var entry = change(entry)
            entry.legacy = nil
            changed.exceptions[host] = entry
        }
        return changed
    }
}

extension ExceptionEntry {
    /// The entry as a system reads it, for a host that gets a copy of its own.
    func withoutLegacyKeys(on profile: OSProfile) -> ExceptionEntry {
        var entry = profile.facts.readsLegacyKeys.value ? legacy?.applied(to: self) ?? self : self
        entry.legacy = nil
        return entry
    }
}

extension OSProfile {
    /// The two sources that contradict each other about the keys of 2015; empty if none do.
    package var legacyKeySources: [String] {
        facts.readsLegacyKeys.basis == .unknown
            ? [facts.readsLegacyKeys.citation.source, Citation.security("SecProtocolConfiguration.m").source] : []
    }

    /// The sentence about that contradiction.
    package var legacyKeyDispute: String {
        "Whether \(name) obeys keys of 2015 is not known: Apple documented NSThirdPartyException keys until 2016-09-13 and iOS 9 obeyed "
            + "NSTemporaryException keys too; Apple's published evaluator reads none."
    }
}

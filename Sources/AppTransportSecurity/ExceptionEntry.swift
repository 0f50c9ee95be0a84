// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import PropertyLists
package import TLSModel
import Vocabulary

/// One entry of NSExceptionDomains. An empty entry puts its host back under the defaults, whatever the global keys say.
public struct ExceptionEntry: Sendable, Hashable {
    /// `NSIncludesSubdomains`; NO if absent.
    public var includesSubdomains: Bool
    /// `NSExceptionAllowsInsecureHTTPLoads`; NO if absent.
    public var allowsInsecureHTTPLoads: Bool
    /// Nil if the key is absent or not one of the four exact names: then 1.2 stays.
    public var minimumTLSVersion: TLSVersionName?
    /// `NSExceptionRequiresForwardSecrecy`; YES if absent.
    public var requiresForwardSecrecy: Bool
    /// Obsolete; read by systems before the ones whose evaluator is published.
    public var requiresCertificateTransparency: Bool
    /// The entry's own hardening level; nil leaves the dictionary's.
    public var hardening: HardeningLevel?

    /// The keys that had other names in 2015; nil if there are none. Only ``ATSDictionary/readings(on:)`` gives them an effect.
    package var legacy: LegacyKeys?

    /// An entry whose keys are at their defaults, except those given.
    public init(
        includesSubdomains: Bool = false, allowsInsecureHTTPLoads: Bool = false,
        minimumTLSVersion: TLSVersionName? = nil, requiresForwardSecrecy: Bool = true,
        requiresCertificateTransparency: Bool = false, hardening: HardeningLevel? = nil
    ) {
        self.includesSubdomains = includesSubdomains
        self.allowsInsecureHTTPLoads = allowsInsecureHTTPLoads
        self.minimumTLSVersion = minimumTLSVersion
        self.requiresForwardSecrecy = requiresForwardSecrecy
        self.requiresCertificateTransparency = requiresCertificateTransparency
        self.hardening = hardening
    }

    init(host: String, members: [String: PropertyListValue], _ remarks: inout Remarks) {
        self.init()
        let prefix = "NSExceptionDomains.\(host)."
        for flag in ExceptionEntry.flags {
            self[keyPath: flag.path] = remarks.flag(members, flag.key, prefix) ?? self[keyPath: flag.path]
        }
        minimumTLSVersion = remarks.version(members, ATSKey.minimumTLSVersion, prefix)
        hardening = remarks.hardening(members, ATSKey.exceptionNIAP, prefix)
        legacy = LegacyKeys(members)
        remarks.unknownKeys(members, known: ExceptionEntry.keys, prefix)
    }

    /// The entry for an Info.plist: what is at its default is left out.
    package var propertyListValue: PropertyListValue {
        var members: [String: PropertyListValue] = legacy?.members ?? [:]
        let defaults = ExceptionEntry()
        for (key, path) in ExceptionEntry.flags where self[keyPath: path] != defaults[keyPath: path] {
            members[key] = .boolean(self[keyPath: path])
        }
        members[ATSKey.minimumTLSVersion] = minimumTLSVersion.map { .string($0.rawValue) }
        members[ATSKey.exceptionNIAP] = hardening.map { .string($0.rawValue) }
        return .dictionary(members)
    }

    /// The boolean keys of an entry.
    static let flags: [(key: String, path: any WritableKeyPath<ExceptionEntry, Bool> & Sendable)] = [
        (ATSKey.includesSubdomains, \.includesSubdomains), (ATSKey.insecureHTTPLoads, \.allowsInsecureHTTPLoads),
        (ATSKey.forwardSecrecy, \.requiresForwardSecrecy),
        (ATSKey.certificateTransparency, \.requiresCertificateTransparency),
    ]

    package static let booleanKeys = flags.map(\.key)
    package static let keys = booleanKeys + [ATSKey.minimumTLSVersion, ATSKey.exceptionNIAP]

    /// What allows everything that either entry allows: the lower minimum, and each exception of both.
    package func union(_ other: ExceptionEntry) -> ExceptionEntry {
        ExceptionEntry(
            includesSubdomains: includesSubdomains || other.includesSubdomains,
            allowsInsecureHTTPLoads: allowsInsecureHTTPLoads || other.allowsInsecureHTTPLoads,
            minimumTLSVersion: [minimumTLSVersion, other.minimumTLSVersion].compactMap(\.self).min(),
            requiresForwardSecrecy: requiresForwardSecrecy && other.requiresForwardSecrecy,
            requiresCertificateTransparency: requiresCertificateTransparency && other.requiresCertificateTransparency,
            hardening: hardening == other.hardening ? hardening : nil)
    }
}

/// The values that NSExceptionMinimumTLSVersion may have; the match is exact and case-sensitive.
public enum TLSVersionName: String, Sendable, CaseIterable, Comparable {
    /// The string `TLSv1.0`.
    case tls10 = "TLSv1.0"
    /// The string `TLSv1.1`.
    case tls11 = "TLSv1.1"
    /// The string `TLSv1.2`.
    case tls12 = "TLSv1.2"
    /// The string `TLSv1.3`.
    case tls13 = "TLSv1.3"

    /// Whether a value is one of those that Apple's parser takes too and no document names.
    package static func isDatagram(_ text: String) -> Bool { ["DTLSv1.0", "DTLSv1.2"].contains(text) }

    /// The sentence about such a value.
    package static func datagramSentence(_ text: String) -> String {
        "\(text) is a version of DTLS, which Apple's parser reads and no document names. URL loads speak TLS, so its effect on their minimum is not "
            + "known; here \(TLSVersionName.tls12.rawValue) stays the minimum"
    }

    package var version: TLSVersion {
        switch self {
        case .tls10: .tls10
        case .tls11: .tls11
        case .tls12: .tls12
        case .tls13: .tls13
        }
    }

    public static func < (left: TLSVersionName, right: TLSVersionName) -> Bool { left.rawValue < right.rawValue }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Findings

/// An app's NSAppTransportSecurity dictionary as Apple's evaluator reads it.
///
/// Nothing in the dictionary can fail: values of a wrong type have the effect that they have on a device, mostly none, and are
/// listed in ``remarks``. Source: Security 61901, SecProtocolConfiguration.m (`set_ats_overrides`).
public struct ATSDictionary: Sendable {
    /// A boolean key as the evaluator sees it.
    public enum Flag: Sendable, Equatable {
        /// The key is not there.
        case absent
        /// The key is there with a value that Apple reads as a boolean.
        case value(Bool)
        /// Something that is no number stands there, which counts as absent.
        case wrongType(String)

        /// The value; nil where the key is absent or counts as absent.
        public var value: Bool? {
            if case .value(let flag) = self { flag } else { nil }
        }

        /// Whether the key is there with a value that counts, whichever.
        public var isPresent: Bool { value != nil }
    }

    /// `NSAllowsArbitraryLoads`: ATS off for everything that has no entry of its own.
    public let arbitraryLoads: Flag
    /// `NSAllowsArbitraryLoadsForMedia`: ATS off for what AVFoundation loads.
    public let arbitraryLoadsForMedia: Flag
    /// `NSAllowsArbitraryLoadsInWebContent`: ATS off inside web views.
    public let arbitraryLoadsInWebContent: Flag
    /// `NSAllowsLocalNetworking`: cleartext to local hosts.
    public let localNetworking: Flag
    /// NSRequiresNIAPTLSPackageVersion; nil where it is absent or no known version.
    public let hardening: HardeningLevel?
    /// By exact key. Entries that are no dictionaries are not here.
    public let exceptions: [String: ExceptionEntry]
    /// `NSPinnedDomains`, in the order of the dictionary's keys sorted.
    public let pinnedDomains: [PinnedDomain]
    /// What was found and has no effect, or another one than it seems: wrong types, unknown keys.
    public let remarks: [Cause]

    /// Reads the value of NSAppTransportSecurity; nil is the empty dictionary.
    public init(_ value: PropertyListValue?) {
        var remarks = Remarks()
        var members = value?.members ?? [:]
        if let value, value.members == nil {
            remarks.add(
                "ats.dictionary.wrong-type",
                "NSAppTransportSecurity is \(value.kind), not a dictionary: the defaults apply."
            )
            members = [:]
        }
        arbitraryLoads = remarks.flag(members, ATSKey.arbitraryLoads)
        arbitraryLoadsForMedia = remarks.flag(members, ATSKey.arbitraryLoadsForMedia)
        arbitraryLoadsInWebContent = remarks.flag(members, ATSKey.arbitraryLoadsInWebContent)
        localNetworking = remarks.flag(members, ATSKey.localNetworking)
        hardening = remarks.hardening(members, ATSKey.requiresNIAP)
        exceptions = ATSDictionary.exceptions(members[ATSKey.exceptionDomains], &remarks)
        pinnedDomains = PinnedDomain.all(in: members[ATSKey.pinnedDomains], &remarks)
        let known: Set<String> = [
            ATSKey.arbitraryLoads, ATSKey.arbitraryLoadsForMedia, ATSKey.arbitraryLoadsInWebContent,
            ATSKey.localNetworking,
            ATSKey.requiresNIAP, ATSKey.exceptionDomains, ATSKey.pinnedDomains,
        ]
        for key in members.keys.sorted() where !known.contains(key) {
            remarks.add(
                "ats.dictionary.unknown-key",
                "The key \(key) is not one that the system reads: it has no effect."
            )
        }
        self.remarks = remarks.causes
    }

    private static func exceptions(_ value: PropertyListValue?, _ remarks: inout Remarks) -> [String: ExceptionEntry] {
        guard let value else { return [:] }
        guard let members = value.members else {
            remarks.add(
                "ats.dictionary.wrong-type",
                "NSExceptionDomains is \(value.kind), not a dictionary: all exceptions are dropped."
            )
            return [:]
        }
        var entries: [String: ExceptionEntry] = [:]
        for host in members.keys.sorted() {
            guard let entry = members[host]?.members else {
                remarks.add(
                    "ats.dictionary.wrong-type",
                    "NSExceptionDomains.\(host) is \(members[host]?.kind ?? "nothing"), not a dictionary: this entry is dropped."
                )
                continue
            }
            entries[host] = ExceptionEntry(host: host, members: entry, &remarks)
        }
        return entries
    }
}

/// The two NIAP keys of the 26.4 systems.
public enum HardeningLevel: String, Sendable {
    /// No hardening, said explicitly.
    case none
    /// The FCP_V2.1 profile.
    case fcpV21 = "FCP_v2.1"
    /// The level that Apple recommends.
    case recommended

    /// Whether connections are hardened; `recommended` is FCP_v2.1 today.
    public var hardens: Bool { self != .none }
}

/// One entry of NSExceptionDomains.
public struct ExceptionEntry: Sendable, Equatable {
    /// `NSIncludesSubdomains`; NO where absent.
    public let includesSubdomains: Bool
    /// `NSExceptionAllowsInsecureHTTPLoads`; NO where absent.
    public let allowsInsecureHTTPLoads: Bool
    /// Nil where the key is absent or not one of the four exact names: then 1.2 stays.
    public let minimumTLSVersion: TLSVersionName?
    /// `NSExceptionRequiresForwardSecrecy`; YES where absent.
    public let requiresForwardSecrecy: Bool
    /// Obsolete; read by systems before the ones whose evaluator is published.
    public let requiresCertificateTransparency: Bool
    /// The entry's own hardening level; nil leaves the dictionary's.
    public let hardening: HardeningLevel?

    /// Makes one from its parts, which the properties describe.
    public init(
        includesSubdomains: Bool = false,
        allowsInsecureHTTPLoads: Bool = false,
        minimumTLSVersion: TLSVersionName? = nil,
        requiresForwardSecrecy: Bool = true,
        requiresCertificateTransparency: Bool = false,
        hardening: HardeningLevel? = nil
    ) {
        self.includesSubdomains = includesSubdomains
        self.allowsInsecureHTTPLoads = allowsInsecureHTTPLoads
        self.minimumTLSVersion = minimumTLSVersion
        self.requiresForwardSecrecy = requiresForwardSecrecy
        self.requiresCertificateTransparency = requiresCertificateTransparency
        self.hardening = hardening
    }

    init(host: String, members: [String: PropertyListValue], _ remarks: inout Remarks) {
        let prefix = "NSExceptionDomains.\(host)."
        includesSubdomains = remarks.flag(members, ATSKey.includesSubdomains, prefix).value ?? false
        allowsInsecureHTTPLoads = remarks.flag(members, ATSKey.insecureHTTPLoads, prefix).value ?? false
        requiresForwardSecrecy = remarks.flag(members, ATSKey.forwardSecrecy, prefix).value ?? true
        requiresCertificateTransparency = remarks.flag(members, ATSKey.certificateTransparency, prefix).value ?? false
        minimumTLSVersion = remarks.version(members, ATSKey.minimumTLSVersion, prefix)
        hardening = remarks.hardening(members, ATSKey.exceptionNIAP, prefix)
        let known: Set<String> = [
            ATSKey.includesSubdomains, ATSKey.insecureHTTPLoads, ATSKey.minimumTLSVersion, ATSKey.forwardSecrecy,
            ATSKey.certificateTransparency, ATSKey.exceptionNIAP,
        ]
        for key in members.keys.sorted() where !known.contains(key) {
            remarks.add(
                "ats.dictionary.unknown-key",
                "The key \(prefix)\(key) is not one that the system reads: it has no effect."
            )
        }
    }
}

/// The values that NSExceptionMinimumTLSVersion may have; the match is exact and case-sensitive.
public enum TLSVersionName: String, Sendable, CaseIterable {
    /// The string `TLSv1.0`.
    case tls10 = "TLSv1.0"
    /// The string `TLSv1.1`.
    case tls11 = "TLSv1.1"
    /// The string `TLSv1.2`.
    case tls12 = "TLSv1.2"
    /// The string `TLSv1.3`.
    case tls13 = "TLSv1.3"
}

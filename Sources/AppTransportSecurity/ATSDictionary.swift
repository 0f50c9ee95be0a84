// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import PropertyLists
import Vocabulary

/// An app's NSAppTransportSecurity dictionary, typed: what Apple's evaluator reads from it, and nothing else.
///
/// Built in code, names and types cannot be wrong:
///
///     var dictionary = ATSDictionary()
///     dictionary.exceptions["legacy.example.com"] = ExceptionEntry(minimumTLSVersion: .tls11)
///     dictionary.propertyListValue        // for an Info.plist
///
/// Read from a property list, nothing can fail: values of a wrong type have the effect that they have on a device, mostly none, and are
/// listed in `remarks`. Source: Security 61901, SecProtocolConfiguration.m (`set_ats_overrides`).
public struct ATSDictionary: Sendable, Equatable {
    /// `NSAllowsArbitraryLoads`: ATS off for everything that has no entry of its own. Nil: absent, or of a type that counts as absent.
    public var arbitraryLoads: Bool?
    /// `NSAllowsArbitraryLoadsForMedia`: ATS off for what AVFoundation loads.
    public var arbitraryLoadsForMedia: Bool?
    /// `NSAllowsArbitraryLoadsInWebContent`: ATS off inside web views.
    public var arbitraryLoadsInWebContent: Bool?
    /// `NSAllowsLocalNetworking`: cleartext to local hosts. Its presence cancels `NSAllowsArbitraryLoads`, whatever its value.
    public var localNetworking: Bool?
    /// `NSRequiresNIAPTLSPackageVersion`; nil if it is absent or no known version.
    public var hardening: HardeningLevel?
    /// `NSExceptionDomains`, by exact key: lower case, without a port.
    public var exceptions: [String: ExceptionEntry] = [:]
    /// `NSPinnedDomains`, in the order of the dictionary's keys sorted.
    public var pinnedDomains: [PinnedDomain] = []
    /// What was read and has no effect, or another one than it seems: wrong types, unknown keys.
    package private(set) var remarks: [Remark] = []

    /// The empty dictionary: the defaults apply.
    public init() {}

    package init(arbitraryLoads: Bool? = nil, exceptions: [String: ExceptionEntry]) {
        self.arbitraryLoads = arbitraryLoads
        self.exceptions = exceptions
    }

    /// Reads the value of NSAppTransportSecurity; nil is the empty dictionary.
    public init(_ value: PropertyListValue?) {
        self.init()
        var remarks = Remarks()
        let members = value?.members ?? [:]
        if let value, value.members == nil {
            remarks.add(
                .dictionaryWrongType, "NSAppTransportSecurity is \(value.kind), not a dictionary: the defaults apply.")
        }
        for (key, path) in ATSDictionary.flags { self[keyPath: path] = remarks.flag(members, key) }
        hardening = remarks.hardening(members, ATSKey.requiresNIAP)
        exceptions = ATSDictionary.exceptions(members[ATSKey.exceptionDomains], &remarks)
        pinnedDomains = PinnedDomain.all(in: members[ATSKey.pinnedDomains], &remarks)
        ATSDictionary.findNesting(members, &remarks)
        remarks.unknownKeys(members, known: ATSDictionary.keys)
        self.remarks = remarks.all
    }

    /// The value of NSAppTransportSecurity for an Info.plist: what is at its default is left out.
    public var propertyListValue: PropertyListValue {
        var members: [String: PropertyListValue] = [:]
        for (key, path) in ATSDictionary.flags { members[key] = self[keyPath: path].map(PropertyListValue.boolean) }
        members[ATSKey.requiresNIAP] = hardening.map { .string($0.rawValue) }
        if !exceptions.isEmpty {
            members[ATSKey.exceptionDomains] = .dictionary(exceptions.mapValues(\.propertyListValue))
        }
        if !pinnedDomains.isEmpty {
            members[ATSKey.pinnedDomains] = .dictionary(
                Dictionary(pinnedDomains.map { ($0.domain, $0.propertyListValue) }) { $1 })
        }
        return .dictionary(members)
    }

    /// Whether nothing is set, so that the defaults apply.
    package var isEmpty: Bool { self == ATSDictionary() }

    static let flags: [(key: String, path: any WritableKeyPath<ATSDictionary, Bool?> & Sendable)] = [
        (ATSKey.arbitraryLoads, \.arbitraryLoads), (ATSKey.arbitraryLoadsForMedia, \.arbitraryLoadsForMedia),
        (ATSKey.arbitraryLoadsInWebContent, \.arbitraryLoadsInWebContent),
        (ATSKey.localNetworking, \.localNetworking),
    ]

    package static let booleanKeys = flags.map(\.key)
    package static let keys = booleanKeys + [ATSKey.exceptionDomains, ATSKey.pinnedDomains, ATSKey.requiresNIAP]
    /// The keys whose presence cancels NSAllowsArbitraryLoads, in the order in which they are named.
    package static let overridingKeys = overriding.map(\.key)

    private static let overriding: [(key: String, path: any KeyPath<ATSDictionary, Bool?> & Sendable)] = [
        (ATSKey.localNetworking, \.localNetworking), (ATSKey.arbitraryLoadsForMedia, \.arbitraryLoadsForMedia),
        (ATSKey.arbitraryLoadsInWebContent, \.arbitraryLoadsInWebContent),
    ]

    /// The first key that is present and cancels NSAllowsArbitraryLoads.
    var overridingKey: String? { ATSDictionary.overriding.first { self[keyPath: $0.path] != nil }?.key }

    /// A dictionary that is wrapped one level too deep: nothing inside is read.
    private static func findNesting(_ members: [String: PropertyListValue], _ remarks: inout Remarks) {
        if members[ATSKey.dictionary]?.members != nil {
            remarks.add(
                .dictionaryNested,
                "The dictionary contains another NSAppTransportSecurity, one level too deep; nothing inside it is read. "
                    + "Move its keys up one level.")
        }
        for outer in [ATSKey.exceptionDomains, ATSKey.pinnedDomains] {
            for inner in [ATSKey.dictionary, ATSKey.exceptionDomains, ATSKey.pinnedDomains]
            where members[outer]?.members?[inner]?.members != nil {
                remarks.add(
                    .dictionaryNested,
                    "\(outer) contains another \(inner) where hosts belong; nothing inside it is read. Move its entries up."
                )
            }
        }
    }

    private static func exceptions(_ value: PropertyListValue?, _ remarks: inout Remarks) -> [String: ExceptionEntry] {
        guard let value else { return [:] }
        guard let members = value.members else {
            remarks.add(
                .dictionaryWrongType,
                "NSExceptionDomains is \(value.kind), not a dictionary: all exceptions are dropped.")
            return [:]
        }
        var entries: [String: ExceptionEntry] = [:]
        for host in members.keys.sorted() {
            remarks.subject = .exception(host)
            defer { remarks.subject = .dictionary }
            guard let entry = members[host]?.members else {
                remarks.add(
                    .dictionaryWrongType,
                    "NSExceptionDomains.\(host) is \(members[host]?.kind ?? "nothing"), not a dictionary: this entry is dropped."
                )
                continue
            }
            entries[host] = ExceptionEntry(host: host, members: entry, &remarks)
        }
        return entries
    }
}

extension ATSDictionary {
    /// Whether both say the same; what was remarked upon while they were read is no part of it.
    public static func == (left: ATSDictionary, right: ATSDictionary) -> Bool {
        ATSDictionary.flags.allSatisfy { left[keyPath: $0.path] == right[keyPath: $0.path] }
            && left.hardening == right.hardening && left.exceptions == right.exceptions
            && left.pinnedDomains == right.pinnedDomains
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
    package var hardens: Bool { self != .none }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

/// What the rules read: the ATS dictionary of one Info.plist, taken apart as Apple's parser takes it apart.
struct PlistFacts: Sendable {
    let subject: LintSubject
    /// The NSAppTransportSecurity member that counts.
    let ats: PlistMember?
    /// Its members; empty if there is none or it is not a dictionary.
    let members: [PlistMember]
    let exceptions: [DomainEntry]
    let pins: [DomainEntry]
    /// Keys of ATS that stand where hosts must stand, with the container that they stand in.
    let misplaced: [(container: String, entry: DomainEntry)]
    let exceptionsMember: PlistMember?
    let pinsMember: PlistMember?

    /// The systems that the app runs on.
    let systems: AppSystems
    /// The dictionary, for the evaluator.
    let scopes: LoadScopes
    let memo = EffectMemo()
    private let exceptionNames: Set<UTF8Key>
    private let pinNames: Set<UTF8Key>

    static let atsPath = [ATSKey.dictionary]

    init(_ subject: LintSubject) {
        self.subject = subject
        let ats = subject.document.root.member(ATSKey.dictionary)
        self.ats = ats
        systems = subject.systems
        scopes = LoadScopes(ATSDictionary(ats?.node.propertyListValue), systems)
        members = ats?.node.members ?? []
        exceptionsMember = members.last { $0.key.hasSameBytes(as: ATSKey.exceptionDomains) }
        pinsMember = members.last { $0.key.hasSameBytes(as: ATSKey.pinnedDomains) }
        let named = DomainEntry.entries(of: exceptionsMember, path: Self.atsPath + [ATSKey.exceptionDomains])
        let pinned = DomainEntry.entries(of: pinsMember, path: Self.atsPath + [ATSKey.pinnedDomains], arePins: true)
        // Nearly always no key stands there, and nothing is copied.
        let oddNames = named.filter(\.isKey)
        let oddPins = pinned.filter(\.isKey)
        exceptions = oddNames.isEmpty ? named : named.filter { !$0.isKey }
        pins = oddPins.isEmpty ? pinned : pinned.filter { !$0.isKey }
        func names(_ entries: [DomainEntry]) -> Set<UTF8Key> {
            entries.contains { $0.fault != nil } ? Set(entries.map { UTF8Key($0.key) }) : []
        }
        exceptionNames = names(exceptions)
        pinNames = names(pins)
        misplaced = oddNames.map { (ATSKey.exceptionDomains, $0) } + oddPins.map { (ATSKey.pinnedDomains, $0) }
    }

    /// The path of a key of the ATS dictionary.
    func path(_ key: String) -> [String] { Self.atsPath + [key] }

    /// The member of the ATS dictionary that counts for a key.
    func global(_ key: String) -> PlistMember? { members.last { $0.key.hasSameBytes(as: key) } }

    /// A global switch as Apple's parser reads it: a wrong type counts as absent.
    func flag(_ key: String) -> Bool? { global(key).flatMap { $0.node.asAppleBoolean } }

    /// The switches whose mere presence makes NSAllowsArbitraryLoads dead since iOS 10.
    var arbitraryLoadsSiblings: [PlistMember] {
        ATSDictionary.overridingKeys.compactMap { key in
            global(key).flatMap { $0.node.asAppleBoolean == nil ? nil : $0 }
        }
    }

    /// In which eras the switches count whose mere presence makes NSAllowsArbitraryLoads dead.
    var readsSiblings: [Bool] { systems.profiles.map { !$0.facts.obeysOnlyArbitraryLoads.value } }

    /// Whether a key is the name of an entry already.
    func hasEntry(_ key: String, beside entry: DomainEntry) -> Bool {
        (entry.isPin ? pinNames : exceptionNames).contains(UTF8Key(key))
    }

    /// Every key of every entry, exceptions and pins.
    var allEntries: FlattenSequence<[[DomainEntry]]> { [exceptions, pins].joined() }
}

/// One host of NSExceptionDomains or NSPinnedDomains.
final class DomainEntry: Sendable {
    let member: PlistMember
    let path: [String]
    /// The sub-keys; nil if the entry is not a dictionary.
    let members: [PlistMember]?
    let host: HostKey
    /// Whether it is one of NSPinnedDomains.
    let isPin: Bool
    /// What keeps the key from matching the host that it was meant for.
    let fault: HostKeyFault?
    /// Whether the build makes the key.
    let isPlaceholder: Bool
    /// Whether the key is one of ATS and no host.
    let isKey: Bool

    init(member: PlistMember, path: [String], isPin: Bool) {
        self.member = member
        self.path = path
        self.isPin = isPin
        members = member.node.members
        host = HostKey(member.key)
        isPlaceholder = PlaceholderText.isIn(member.key)
        isKey = KeyReading.isKey(member)
        fault = isKey ? nil : HostKeyFault(host, isPin: isPin)
    }

    var key: String { member.key }

    static func entries(of member: PlistMember?, path: [String], arePins: Bool = false) -> [DomainEntry] {
        guard let members = member?.node.members else { return [] }
        return members.map { DomainEntry(member: $0, path: path + [$0.key], isPin: arePins) }
    }

    func sub(_ key: String) -> PlistMember? { members?.last { $0.key.hasSameBytes(as: key) } }

    func flag(_ key: String) -> Bool? { sub(key).flatMap { $0.node.asAppleBoolean } }

    func path(_ key: String) -> [String] { path + [key] }

    /// The key for the minimum version, if its value is one that counts.
    var minimumVersion: (member: PlistMember, version: TLSVersionName)? {
        guard let member = sub(ATSKey.minimumTLSVersion),
            let version = member.node.string.flatMap(TLSVersionName.init(rawValue:))
        else { return nil }
        return (member, version)
    }

    var allowsInsecureLoads: Bool { flag(ATSKey.insecureHTTPLoads) == true }
    var includesSubdomains: Bool { flag(ATSKey.includesSubdomains) == true }
}

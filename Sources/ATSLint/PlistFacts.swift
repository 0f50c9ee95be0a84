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
    /// Keys of ATS that stand where hosts must stand.
    let misplaced: [DomainEntry]
    let exceptionsMember: PlistMember?
    let pinsMember: PlistMember?

    let systems: AppSystems
    /// The dictionary, for the evaluator.
    let scopes: LoadScopes
    private let exceptionNames: EntryNames
    private let pinNames: EntryNames

    static let atsPath = [ATSKey.dictionary]

    init(_ subject: LintSubject) {
        self.subject = subject
        let ats = subject.document.root.member(ATSKey.dictionary)
        self.ats = ats
        systems = subject.systems
        scopes = LoadScopes(ATSDictionary(ats?.node.propertyListValue), systems)
        members = ats?.node.members ?? []
        exceptionsMember = ats?.node.member(ATSKey.exceptionDomains)
        pinsMember = ats?.node.member(ATSKey.pinnedDomains)
        let named = DomainEntry.entries(of: exceptionsMember, scopes)
        let pinned = DomainEntry.entries(of: pinsMember, nil)
        exceptions = named.filter { !$0.isKey }
        pins = pinned.filter { !$0.isKey }
        exceptionNames = EntryNames(exceptions)
        pinNames = EntryNames(pins)
        misplaced = (named + pinned).filter(\.isKey)
    }

    func path(_ key: String) -> [String] { Self.atsPath + [key] }

    /// The member of the ATS dictionary that counts for a key.
    func global(_ key: String) -> PlistMember? { ats?.node.member(key) }

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

    /// Whether a key is the name of an entry already, or the one to write for another one.
    func hasEntry(_ key: String, beside entry: DomainEntry) -> Bool {
        (entry.isPin ? pinNames : exceptionNames).has(key, beside: entry)
    }

    /// Every key of every entry, exceptions and pins.
    var allEntries: FlattenSequence<[[DomainEntry]]> { [exceptions, pins].joined() }
}

/// The keys of the entries of one list.
private struct EntryNames {
    private let names: Set<UTF8Key>
    /// The entry that should have a key, of several that with the first name.
    private let meant: [UTF8Key: UTF8Key]

    init(_ entries: [DomainEntry]) {
        names = Set(entries.map { UTF8Key($0.key) })
        let meant = entries.compactMap { entry in entry.fault?.right.map { (UTF8Key($0), UTF8Key(entry.key)) } }
        self.meant = Dictionary(meant, uniquingKeysWith: min)
    }

    func has(_ key: String, beside entry: DomainEntry) -> Bool {
        names.contains(UTF8Key(key)) || meant[UTF8Key(key)].map { $0 < UTF8Key(entry.key) } == true
    }
}

/// One host of NSExceptionDomains or NSPinnedDomains.
final class DomainEntry: Sendable {
    let member: PlistMember
    let path: [String]
    /// The sub-keys; nil if the entry is not a dictionary.
    let members: [PlistMember]?
    let host: HostKey
    let isPin: Bool
    /// What keeps the key from matching the host that it was meant for.
    let fault: HostKeyFault?
    /// Whether the build makes the key.
    let isPlaceholder: Bool
    /// Whether the key is one of ATS and no host.
    let isKey: Bool
    /// What an exception does; nil for pins, if no load is decided by it, or if that is known only after the build.
    let effects: EntryEffects?

    /// The most entries of one list that are evaluated: twice as many as there can be findings.
    private static let evaluated = 20_000

    /// - Parameter scopes: the dictionary for the evaluator; nil for pins, and for an entry that is not evaluated.
    private init(_ member: PlistMember, path: [String], isPin: Bool, _ scopes: LoadScopes?) {
        let host = HostKey(member.key)
        self.member = member
        self.path = path
        self.isPin = isPin
        self.host = host
        members = member.node.members
        isPlaceholder = BuildVariable.isIn(member.key)
        isKey = KeyReading.isKey(member)
        fault = isKey ? nil : HostKeyFault(host, isPin: isPin)
        effects =
            members == nil || isPlaceholder || isKey || fault?.isDead == true
            ? nil : scopes.flatMap { EntryEffects(host, $0) }
    }

    var key: String { member.key }
    /// The key of the dictionary that it is in.
    var container: String { isPin ? ATSKey.pinnedDomains : ATSKey.exceptionDomains }

    /// The entries of NSExceptionDomains, or, without scopes, of NSPinnedDomains.
    static func entries(of container: PlistMember?, _ scopes: LoadScopes?) -> [DomainEntry] {
        guard let container, let members = container.node.members else { return [] }
        return members.enumerated().map { index, member in
            DomainEntry(
                member, path: PlistFacts.atsPath + [container.key, member.key], isPin: scopes == nil,
                index < evaluated ? scopes : nil)
        }
    }

    func sub(_ key: String) -> PlistMember? { member.node.member(key) }

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

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

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

    static let atsPath = [ATSKey.dictionary]

    init(_ subject: LintSubject) {
        self.subject = subject
        let ats = subject.document.root.member(ATSKey.dictionary)
        self.ats = ats
        members = ats?.node.members ?? []
        exceptionsMember = members.last { $0.key.hasSameBytes(as: ATSKey.exceptionDomains) }
        pinsMember = members.last { $0.key.hasSameBytes(as: ATSKey.pinnedDomains) }
        let named = DomainEntry.entries(of: exceptionsMember, path: Self.atsPath + [ATSKey.exceptionDomains])
        let pinned = DomainEntry.entries(of: pinsMember, path: Self.atsPath + [ATSKey.pinnedDomains])
        // Nearly always no key stands there, and nothing is copied.
        let oddNames = named.filter { KeyPlacement.isKey($0.key) }
        let oddPins = pinned.filter { KeyPlacement.isKey($0.key) }
        exceptions = oddNames.isEmpty ? named : named.filter { !KeyPlacement.isKey($0.key) }
        pins = oddPins.isEmpty ? pinned : pinned.filter { !KeyPlacement.isKey($0.key) }
        misplaced = oddNames.map { (ATSKey.exceptionDomains, $0) } + oddPins.map { (ATSKey.pinnedDomains, $0) }
    }

    /// The path of a key of the ATS dictionary.
    func path(_ key: String) -> [String] { Self.atsPath + [key] }

    /// The member of the ATS dictionary that counts for a key.
    func global(_ key: String) -> PlistMember? { members.last { $0.key.hasSameBytes(as: key) } }

    /// A global switch as Apple's parser reads it: a wrong type counts as absent.
    func flag(_ key: String) -> Bool? { global(key).flatMap { AppleBoolean.read($0.node) } }

    /// The switches whose mere presence makes NSAllowsArbitraryLoads dead since iOS 10.
    var arbitraryLoadsSiblings: [PlistMember] {
        ATSDictionary.overridingKeys.compactMap { key in
            global(key).flatMap { AppleBoolean.read($0.node) == nil ? nil : $0 }
        }
    }

    /// Whether the app also runs on systems that only know NSAllowsArbitraryLoads.
    var reachesIOS9: Bool { subject.minimumOS?.isBefore(.globalKeys) ?? false }

    /// Whether NSAllowsArbitraryLoads is set and obeyed on some system that the app runs on.
    var arbitraryLoadsInForce: Bool {
        flag(ATSKey.arbitraryLoads) == true && (arbitraryLoadsSiblings.isEmpty || reachesIOS9)
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

    init(member: PlistMember, path: [String], members: [PlistMember]?, host: HostKey) {
        self.member = member
        self.path = path
        self.members = members
        self.host = host
    }

    var key: String { member.key }

    static func entries(of member: PlistMember?, path: [String]) -> [DomainEntry] {
        guard let members = member?.node.members else { return [] }
        return members.map {
            DomainEntry(member: $0, path: path + [$0.key], members: $0.node.members, host: HostKey($0.key))
        }
    }

    func sub(_ key: String) -> PlistMember? { members?.last { $0.key.hasSameBytes(as: key) } }

    func flag(_ key: String) -> Bool? { sub(key).flatMap { AppleBoolean.read($0.node) } }

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
    /// Whether every host that the entry covers is local.
    var isLocal: Bool { host.isLocal && !(includesSubdomains && host.isTopLevel) }
}

/// Booleans as Apple's parser reads them: a number that equals YES is true, every other number false, anything else is ignored.
enum AppleBoolean {
    static func read(_ node: PlistNode) -> Bool? {
        switch node.value {
        case .boolean(let flag): flag
        case .integer(let number): number == 1
        case .real(let number): number == 1
        default: nil
        }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

/// What a key was meant to be, where it is not read as it stands: misspelled, in the wrong place, or both.
struct KeyReading {
    /// Where keys of ATS are read, or are found by mistake.
    enum Level { case root, global, exception, pin }

    /// The key of ATS.
    let meant: String
    let isMisspelled: Bool
    /// Whether the key, spelled right, is read elsewhere only.
    let isElsewhere: Bool

    /// Nil for a key that is read here, and for one that is none of ATS.
    init?(_ key: String, at level: Level) {
        guard !BuildVariable.isIn(key), KeyReading.mayBeMeant(key), !KeyReading.isRead(key, at: level) else {
            return nil
        }
        if KeyReading.homes[UTF8Key(key)] != nil {
            (meant, isMisspelled, isElsewhere) = (key, false, true)
            return
        }
        let here = KeyReading.known(at: level)
        if let near = Spelling.correction(of: key, among: here) {
            (meant, isMisspelled, isElsewhere) = (near, true, level == .root && near != ATSKey.dictionary)
        } else if let far = Spelling.correction(of: key, among: Spelling.all.filter { !here.contains($0) }) {
            (meant, isMisspelled, isElsewhere) = (far, true, true)
        } else {
            return nil
        }
    }

    /// Where the key is read, in words.
    var home: String { KeyReading.homes[UTF8Key(meant)] ?? "at the top of the Info.plist" }

    /// Whether a key is read at a level.
    static func isRead(_ key: String, at level: Level) -> Bool {
        switch level {
        case .root: key.hasSameBytes(as: ATSKey.dictionary)
        case .global: globalKeys.contains(UTF8Key(key))
        case .exception: exceptionKeys.contains(UTF8Key(key))
        case .pin: pinKeys.contains(UTF8Key(key))
        }
    }

    private static func known(at level: Level) -> [String] {
        switch level {
        case .root: [ATSKey.dictionary] + Spelling.all
        case .global: ATSDictionary.keys
        case .exception: ExceptionKeys.all + ExceptionKeys.legacy
        case .pin: PinKeys.all
        }
    }

    private static let globalKeys = Set(ATSDictionary.keys.map { UTF8Key($0) })
    private static let exceptionKeys = Set(
        (ExceptionKeys.all + ExceptionKeys.legacy + ExceptionKeys.neverExisted).map { UTF8Key($0) })
    private static let pinKeys = Set(PinKeys.all.map { UTF8Key($0) })
    /// Where each key is read, in words; of several homes the last counts.
    private static let homes = Dictionary(
        pinKeys.map { ($0, "in the entry of a host in NSPinnedDomains") }
            + exceptionKeys.map { ($0, "in the entry of a host in NSExceptionDomains") }
            + globalKeys.map { ($0, "directly in NSAppTransportSecurity") } + [
                (UTF8Key(ATSKey.includesSubdomains), "in the entry of a host"),
                (UTF8Key(ATSKey.pin), "in a dictionary of a list of identities"),
            ], uniquingKeysWith: { $1 })

    /// Whether a member that stands where hosts must is a key of ATS, misspelled ones included.
    static func isKey(_ member: PlistMember) -> Bool {
        guard mayBeMeant(member.key), !BuildVariable.isIn(member.key) else { return false }
        // A dictionary is the entry of a host, unless the key is one whose value is a dictionary.
        guard member.node.members == nil else {
            return [ATSKey.exceptionDomains, ATSKey.pinnedDomains].contains(member.key)
        }
        return KeyReading(member.key, at: .root) != nil
    }

    /// Whether a text may be a key at all, by its first letters and its length: most texts that are asked about are none.
    private static func mayBeMeant(_ text: String) -> Bool {
        guard (8...96).contains(text.utf8.count) else { return false }
        if Spelling.renamed[text] != nil { return true }
        let start = Spelling.trimmed(text).utf8.prefix(3).asciiLowercased
        return start.starts(with: "ns".utf8)
            || ["spk", "all", "exc", "pin", "req"].contains { start.elementsEqual($0.utf8) }
    }
}

extension PlistFacts {
    /// A member that is, or may be meant as, a key of ATS.
    struct Key {
        let member: PlistMember
        let path: [String]
        let level: KeyReading.Level
        /// Where it stands, in words.
        let place: String
        /// The members of the same dictionary.
        let siblings: [PlistMember]
    }

    /// Hands every such member to a rule.
    func eachKey(_ body: (Key) -> Void) {
        func hand(_ members: [PlistMember], _ path: [String], _ level: KeyReading.Level, _ place: String) {
            for member in members {
                body(Key(member: member, path: path + [member.key], level: level, place: place, siblings: members))
            }
        }
        hand(subject.document.root.members ?? [], [], .root, "at the top of the Info.plist")
        hand(members, Self.atsPath, .global, "directly in NSAppTransportSecurity")
        for entry in misplaced {
            hand([entry.member], Array(entry.path.dropLast()), .root, "among the hosts of \(entry.container)")
        }
        for entry in allEntries {
            let place = "in the entry of a host of \(entry.container)"
            hand(entry.members ?? [], entry.path, entry.isPin ? .pin : .exception, place)
        }
    }

    /// Whether a key, once it is read, makes NSAllowsArbitraryLoads = true dead.
    func cancels(_ meant: String, _ member: PlistMember) -> Bool {
        ATSDictionary.overridingKeys.contains(meant) && flag(ATSKey.arbitraryLoads) == true
            && arbitraryLoadsSiblings.isEmpty
            && (member.node.asAppleBoolean != nil || member.node.string != nil)
    }

    /// Moves a key of the Info.plist into the dictionary, under its right name; nil for other keys, and in a binary list.
    func moving(_ key: Key, as meant: String) -> [TextEdit]? {
        let source = subject.document.source
        let (value, member) = (key.member.node.range, key.member)
        guard key.path.count == 1, ATSDictionary.keys.contains(meant), !source.isEmpty, value.upperBound <= source.count
        else { return nil }
        let text = "<key>\(meant)</key>" + String(decoding: source[value], as: UTF8.self)
        guard let ats else {
            return [.replace(member.range, with: "<key>\(ATSKey.dictionary)</key><dict>\(text)</dict>")]
        }
        let opening = ats.node.range.prefix(6)
        guard opening.upperBound <= source.count, source[opening].elementsEqual("<dict>".utf8), global(meant) == nil
        else {
            return nil
        }
        return [.remove(member), .replace(opening, with: "<dict>" + text)]
    }
}

extension BuildVariable {
    /// Every text of a list that the build fills in: keys and strings.
    static func all(in root: PlistNode) -> [String] {
        var found: [String] = []
        var pending = [root]
        while let node = pending.popLast() {
            if let text = node.string, isIn(text) { found.append(text) }
            for member in node.members ?? [] {
                if isIn(member.key) { found.append(member.key) }
                pending.append(member.node)
            }
            pending += node.elements ?? []
        }
        return found.sorted()
    }
}

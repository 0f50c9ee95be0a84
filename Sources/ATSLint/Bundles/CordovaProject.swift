// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

/// What Cordova writes into NSAppTransportSecurity from a config.xml, for Cordova and Ionic projects.
///
/// `access` and `allow-navigation` become exceptions as in cordova-ios (lib/prepare.js, writeATSEntries); `config-file` and `edit-config` for
/// the Info.plist are merged over them. Later elements win, as there.
struct CordovaProject {
    private let bytes: [UInt8]
    private var globals: [PlistMember] = []
    private var hosts: [(name: String, range: Range<Int>, members: [PlistMember])] = []
    /// The most elements that are looked at. Real projects have under a hundred.
    private static let elements = 10_000
    private static let hostLimit = 1_000
    /// The elements for the Info.plist that may still be merged.
    private var merges = 64

    /// - Throws: `malformed.plist` for a project that writes nothing into the dictionary, with the way to its Info.plist.
    static func document(_ bytes: [UInt8]) throws(MalformedInput) -> PlistDocument {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .plist("", "is not text in UTF-8") }
        var project = CordovaProject(bytes: bytes)
        try project.read()
        let mark = project.hosts.first?.range ?? project.globals.first?.keyRange ?? 0..<0
        if !project.hosts.isEmpty {
            let entries = project.hosts.map { host in
                PlistMember(
                    host.name, keyRange: host.range, PlistNode(.dictionary(host.members), range: host.range))
            }
            if let own = project.globals.firstIndex(where: { $0.key == ATSKey.exceptionDomains }) {
                let member = project.globals[own]
                let more = member.node.members ?? []
                let kept = entries.filter { entry in !more.contains { $0.key.hasSameBytes(as: entry.key) } }
                // Joins two lists.
                let node = PlistNode(.dictionary(kept + more), range: member.node.range)
                project.globals[own] = PlistMember(member.key, keyRange: member.keyRange, node)
            } else {
                project.globals.append(
                    PlistMember(
                        ATSKey.exceptionDomains, keyRange: mark, PlistNode(.dictionary(entries), range: mark)))
            }
        }
        guard !project.globals.isEmpty else {
            throw .plist(
                "",
                "this is a file of a Cordova or Ionic project, and nothing in it is for NSAppTransportSecurity; `cordova prepare ios` turns it into an Info.plist: run that, and name the Info.plist below platforms/ios"
            )
        }
        let ats = PlistMember(
            ATSKey.dictionary, keyRange: mark, PlistNode(.dictionary(project.globals), range: mark))
        return PlistDocument(root: PlistNode(.dictionary([ats]), range: mark), format: .text, source: bytes)
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// Whether a file is a config.xml, or the plugin.xml of a plugin, which has the same elements for the Info.plist.
    static func isMeant(_ name: String, _ bytes: [UInt8]) -> Bool {
        guard let root = ["config.xml": "<widget", "plugin.xml": "<plugin"][name] else { return false }
        return bytes.prefix(1 << 16).contains(root.utf8)
    }

    private mutating func read() throws(MalformedInput) {
        var tokens = XMLTokenizer(bytes)
        for _ in 0..<Self.elements {
            while let byte = tokens.byte, byte != UInt8(ascii: "<") { tokens.position += 1 }
            guard tokens.byte != nil else { return }
            if try tokens.section() != nil { continue }
            if try tokens.skipMarkup() { continue }
            let start = tokens.position
            let tag = tokens.tag()
            let name = String(decoding: bytes[tag.name].prefix(32), as: UTF8.self)
            guard !tag.isClosing, ["access", "allow-navigation", "config-file", "edit-config"].contains(name) else {
                guard tokens.skipToTagEnd() != nil else { throw tokens.fault("a tag is not closed", at: start) }
                continue
            }
            var attributes: [String: String] = [:]
            while attributes.count < 32, let one = try tokens.attribute(limit: 1024) {
                attributes[String(decoding: bytes[one.name], as: UTF8.self)] = String(
                    decoding: one.value, as: UTF8.self)
            }
            guard let isEmpty = tokens.skipToTagEnd() else { throw tokens.fault("a tag is not closed", at: start) }
            let range = start..<tokens.position
            switch name {
            case "access": allow(attributes["origin"], attributes, range)
            case "allow-navigation": allow(attributes["href"], attributes, range)
            default:
                let file = attributes[name == "config-file" ? "target" : "file"] ?? ""
                let parent = attributes[name == "config-file" ? "parent" : "target"] ?? ""
                if !isEmpty, merges > 0, file.hasSuffix("Info.plist"), parent == ATSKey.dictionary {
                    merges -= 1
                    try merge(&tokens, closing: name)
                }
            }
        }
        throw tokens.fault("has more than \(Self.elements) elements")
    }

    /// Takes the dictionary inside of an element.
    private mutating func merge(_ tokens: inout XMLTokenizer, closing name: String) throws(MalformedInput) {
        let end = bytes[tokens.position...].firstRange(of: "</\(name)".utf8)?.lowerBound
        guard let end else { throw tokens.fault("<\(name)> is not closed") }
        let inner = try PlistReader.read(Array(bytes[..<end]), from: tokens.position)
        tokens.position = end
        for member in inner.root.members ?? [] {
            globals.removeAll { $0.key.hasSameBytes(as: member.key) }
            guard globals.count < Self.hostLimit else { return }
            globals.append(member)
        }
    }

    private mutating func allow(_ text: String?, _ attributes: [String: String], _ range: Range<Int>) {
        guard let text, hosts.count < Self.hostLimit else { return }
        func flag(_ key: String, _ value: Bool = true) -> PlistMember {
            PlistMember(key, keyRange: range, PlistNode(.boolean(value), range: range))
        }
        func set(_ member: PlistMember, in members: inout [PlistMember]) {
            members.removeAll { $0.key == member.key }
            members.append(member)
        }
        if text == "*" {
            set(flag(ATSKey.arbitraryLoads), in: &globals)
            let switches = [
                "allows-arbitrary-loads-in-web-content": ATSKey.arbitraryLoadsInWebContent,
                "allows-arbitrary-loads-in-media": ATSKey.arbitraryLoadsForMedia,
                "allows-arbitrary-loads-for-media": ATSKey.arbitraryLoadsForMedia,
                "allows-local-networking": ATSKey.localNetworking,
            ]
            for (name, key) in switches.sorted(by: { $0.key < $1.key }) where attributes[name] == "true" {
                set(flag(key), in: &globals)
            }
            return
        }
        // A scheme alone, such as `tel:*`, makes no entry.
        guard let separator = text.utf8.firstRange(of: "://".utf8) else { return }
        let scheme = String(text[..<separator.lowerBound]).lowercased()
        var host = String(text[separator.upperBound...].prefix { !"/:?#".contains($0) }).lowercased()
        let isWild = host.hasPrefix("*.")
        if isWild { host = String(host.dropFirst(2)) }
        guard !host.isEmpty, host != "*" else { return }
        var members: [PlistMember] = []
        if isWild { members.append(flag(ATSKey.includesSubdomains)) }
        if let version = attributes["minimum-tls-version"], version != "TLSv1.2" {
            members.append(
                PlistMember(ATSKey.minimumTLSVersion, keyRange: range, PlistNode(.string(version), range: range)))
        }
        if let secrecy = attributes["requires-forward-secrecy"], secrecy != "true" {
            members.append(flag(ATSKey.forwardSecrecy, false))
        }
        if attributes["requires-certificate-transparency"] == "true" {
            members.append(flag(ATSKey.certificateTransparency))
        }
        if scheme == "http" || scheme == "*" { members.append(flag(ATSKey.insecureHTTPLoads)) }
        if let known = hosts.firstIndex(where: { $0.name.hasSameBytes(as: host) }) {
            for member in members { set(member, in: &hosts[known].members) }
        } else {
            hosts.append((host, range, members))
        }
    }
}

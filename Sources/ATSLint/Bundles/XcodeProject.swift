// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import PropertyLists
package import Vocabulary

/// What an Xcode project file says about the Info.plists of its targets.
package struct XcodeProject {
    struct NamedList {
        /// As the setting has it.
        let path: String
        let target: String
        let configuration: String
        let offset: Int
    }

    /// Each file that a setting INFOPLIST_FILE names, once.
    private(set) var lists: [NamedList] = []
    /// Where the build generates a list and names no file: the first such target. Settings that are meant for the dictionary and yield none are
    /// its members.
    private(set) var generated: PlistDocument?

    /// - Throws: `malformed.plist` for a file that cannot be read. Nil for one that is no project.
    package init?(_ bytes: [UInt8]) throws(MalformedInput) {
        let document = try PlistReader.read(bytes)
        guard let objects = document.root["objects"]?.members else { return nil }
        let byID = Dictionary(objects.map { (UTF8Key($0.key), $0.node) }, uniquingKeysWith: { $1 })
        func configurations(of object: PlistNode) -> [PlistNode] {
            let list = object["buildConfigurationList"]?.string.flatMap { byID[UTF8Key($0)] }
            return (list?["buildConfigurations"]?.elements ?? []).compactMap { $0.string.flatMap { byID[UTF8Key($0)] } }
        }
        var ofProject: [UTF8Key: PlistNode] = [:]
        var owners: [(name: String, configurations: [PlistNode])] = []
        var owned = Set<Int>()
        for object in objects.lazy.map(\.node) {
            switch object["isa"]?.string {
            case "PBXProject":
                for one in configurations(of: object) {
                    ofProject[UTF8Key(one["name"]?.string ?? "")] = one["buildSettings"]
                    owned.insert(one.range.lowerBound)
                }
            case "PBXNativeTarget":
                let all = configurations(of: object)
                for one in all { owned.insert(one.range.lowerBound) }
                // Tests and frameworks have no dictionary that is read.
                let product = object["productType"]?.string ?? "application"
                if product.contains("application") || product.contains("extension") {
                    owners.append((object["name"]?.string ?? "", all))
                }
            default: break
            }
        }
        // Settings of a project that is cut, or of one without a list: still worth a look.
        let rest = objects.lazy.map(\.node).filter {
            $0["isa"]?.string == "XCBuildConfiguration" && !owned.contains($0.range.lowerBound)
        }
        owners.append(("", Array(rest)))
        var place: Range<Int>?
        for (target, all) in owners {
            for one in all {
                let name = one["name"]?.string ?? ""
                func setting(_ key: String) -> PlistMember? {
                    one["buildSettings"]?.member(key) ?? ofProject[UTF8Key(name)]?.member(key)
                }
                if let file = setting("INFOPLIST_FILE"), let path = file.node.string, !path.isEmpty {
                    guard lists.count < ReadingLimits.folderProjects, !lists.contains(where: { $0.path == path }) else {
                        continue
                    }
                    lists.append(
                        NamedList(
                            path: path, target: target, configuration: name, offset: file.keyRange.lowerBound))
                } else if let flag = setting("GENERATE_INFOPLIST_FILE"), flag.node.string == "YES" {
                    place = place ?? flag.range
                }
            }
        }
        var dead: [PlistMember] = []
        for object in objects.lazy.map(\.node) where object["isa"]?.string == "XCBuildConfiguration" {
            dead += XcodeSettings.dead(object["buildSettings"]?.members ?? [])
        }
        guard let start = place ?? dead.first?.range else { return }
        generated = PlistDocument(
            root: PlistNode(.dictionary(dead), range: start), format: .text, source: document.source)
    }
}

/// Build settings: those that are taken for keys of the Info.plist, and those of an `.xcconfig`.
package enum XcodeSettings {
    /// The settings that were meant for NSAppTransportSecurity. Xcode generates a fixed list of keys, and no dictionary is among them.
    static func dead(_ members: [PlistMember]) -> [PlistMember] {
        members.lazy.filter { $0.key.utf8.starts(with: ATSKey.buildSetting.utf8) }.prefix(1_000)
            .filter { isMeant($0.key) }
    }

    /// Whether a setting was meant for NSAppTransportSecurity or for one of its keys.
    static func isMeant(_ setting: String) -> Bool {
        guard setting.utf8.starts(with: ATSKey.buildSetting.utf8) else { return false }
        let rest = String(decoding: setting.utf8.dropFirst(ATSKey.buildSetting.utf8.count).prefix(200), as: UTF8.self)
        let letters = rest.utf8.asciiLowercased
        return rest.contains("TransportSecurity")
            || ATSDictionary.keys.contains { letters.starts(with: $0.utf8.asciiLowercased) }
            || KeyReading(String(rest.prefix { $0 != "_" && $0 != "[" }), at: .root) != nil
    }

    /// The settings of an `.xcconfig`, in the order of the file; the last of a name counts. `//` begins a comment, also inside of a URL.
    package static func settings(_ bytes: [UInt8]) -> [PlistMember] {
        var members: [PlistMember] = []
        for line in bytes.split(separator: 0x0A) {
            let text = line.firstRange(of: "//".utf8).map { line[..<$0.lowerBound] } ?? line
            guard members.count < 10_000, let equals = text.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = text[..<equals].trimmed { $0 <= 0x20 }
            guard !name.isEmpty, name.first != UInt8(ascii: "#"), name.count <= PlistText.keyBytes else { continue }
            let value = text[(equals + 1)...].trimmed { $0 <= 0x20 }
            let keyRange = name.startIndex..<name.endIndex
            let node = PlistNode(
                .string(String(decoding: value, as: UTF8.self)), range: value.startIndex..<value.endIndex)
            members.append(PlistMember(String(decoding: name, as: UTF8.self), keyRange: keyRange, node))
        }
        return members
    }

    /// What an `.xcconfig` says about the Info.plist: settings that yield nothing there.
    static func document(_ bytes: [UInt8]) -> PlistDocument? {
        let dead = dead(settings(bytes))
        guard let first = dead.first else { return nil }
        return PlistDocument(root: PlistNode(.dictionary(dead), range: first.range), format: .text, source: bytes)
    }
}

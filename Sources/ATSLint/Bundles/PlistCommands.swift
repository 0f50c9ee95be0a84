// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

/// The dictionary that commands of PlistBuddy and plutil write into an Info.plist, as build scripts and instructions have them.
enum PlistCommands {
    private struct Command {
        let path: [String]
        let keyRange: Range<Int>
        let node: PlistNode
    }

    /// The most commands that are read, in a text of at most so many bytes: instructions and build scripts are short.
    private static let (limit, byteLimit) = (200, 1 << 16)
    /// The most bytes of a value: no key of ATS has a long one.
    private static let valueLimit = 1024

    /// The list with what the commands write; nil if there are none, or if what they write is known only when they run.
    static func document(_ bytes: [UInt8]) -> PlistDocument? {
        guard bytes.count <= byteLimit else { return nil }
        let name = Array(ATSKey.dictionary.utf8)
        var commands: [Command] = []
        var rest = bytes[...]
        while let found = rest.firstRange(of: name), commands.count < limit {
            rest = rest[found.upperBound...]
            guard let verb = verb(before: found.lowerBound, in: bytes) else { continue }
            let word = bytes[found.lowerBound...].prefix { $0 > 0x20 && $0 != UInt8(ascii: "\"") }
            let path = path(word, isDotted: verb.hasPrefix("-"))
            guard path.count <= 16, !path.contains(where: { $0.contains("$") }) else { return nil }
            // Sentences have these words too: "Set NSAppTransportSecurity to ...".
            guard verb.hasPrefix("-") || path.count > 1 || bytes[..<found.lowerBound].last == UInt8(ascii: ":") else {
                continue
            }
            if verb == "Delete" || verb == "-remove" {
                commands.removeAll { $0.path.starts(with: path) { $0.hasSameBytes(as: $1) } }
                continue
            }
            let type = verb == "Set" ? "" : nil
            let line = bytes[word.endIndex...].prefix(valueLimit).prefix { $0 != 0x0A && $0 != 0x0D }
            guard let node = node(type, line.indices, key: path.last ?? "", in: bytes) else { return nil }
            commands.append(Command(path: path, keyRange: word.startIndex..<word.endIndex, node: node))
        }
        guard !commands.isEmpty else { return nil }
        return PlistDocument(root: dictionary(commands), format: .text, source: bytes)
    }

    /// The verb of the command whose path begins at an index.
    private static func verb(before index: Int, in bytes: [UInt8]) -> String? {
        let before = bytes[..<index].suffix(40).reversed().drop { "'\":".utf8.contains($0) }
        guard before.first == 0x20 else { return nil }
        let word = before.drop { $0 == 0x20 }.prefix { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }
        let text = String(decoding: word.reversed(), as: UTF8.self)
        return ["Add", "Set", "Delete", "-insert", "-replace", "-remove"].contains(text) ? text : nil
    }

    /// PlistBuddy separates the parts of a path by colons, plutil by dots; a backslash takes that meaning away.
    private static func path(_ word: ArraySlice<UInt8>, isDotted: Bool) -> [String] {
        var (parts, part): ([String], [UInt8]) = ([], [])
        var isEscaped = false
        for byte in word where byte != UInt8(ascii: "'") {
            if isEscaped {
                part.append(byte)
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: isDotted ? "." : ":") {
                parts.append(String(decoding: part, as: UTF8.self))
                part = []
            } else {
                part.append(byte)
            }
        }
        return parts + [String(decoding: part, as: UTF8.self)]
    }

    /// The value that a command writes; nil if it is computed, or of a type that no key of ATS has.
    ///
    /// - Parameter type: empty if the command names none, and nil if the type is the first word.
    private static func node(_ type: String?, _ line: Range<Int>, key: String, in bytes: [UInt8]) -> PlistNode? {
        var rest = bytes[line].drop { "' ".utf8.contains($0) }
        var kind = type ?? ""
        if type == nil {
            let word = rest.prefix { $0 > 0x20 && !"\"'".utf8.contains($0) }
            kind = String(decoding: word, as: UTF8.self)
            // A double quote ends a command of PlistBuddy; in one of plutil it begins a value.
            let marks = kind.hasPrefix("-") ? "'\" " : "' "
            rest = rest[word.endIndex...].drop { marks.utf8.contains($0) }
        }
        switch kind {
        case "dict", "-dictionary": return PlistNode(.dictionary([]), range: rest.startIndex..<rest.startIndex)
        case "-json":
            var reader = BracedReader(bytes, from: rest.startIndex, dialect: .script)
            return try? reader.value()
        default: break
        }
        // The file's name follows a word of plutil that is not quoted.
        let isWord = kind.hasPrefix("-") && bytes[line.lowerBound..<rest.startIndex].last == 0x20
        let text = rest.prefix { !"\"'".utf8.contains($0) && !(isWord && $0 <= 0x20) }
            .reversed().drop { $0 <= 0x20 }.reversed()
        let (value, range) = (String(decoding: text, as: UTF8.self), rest.startIndex..<(rest.startIndex + text.count))
        guard !value.contains("$") else { return nil }
        if kind == "bool" || kind == "-bool" || kind.isEmpty && ExceptionKeys.isBoolean(key) {
            let isTrue = ["true", "yes", "1"].contains { $0.utf8.elementsEqual(text.map(\.asciiLowercased)) }
            return PlistNode(.boolean(isTrue), range: range)
        }
        switch kind {
        case "string", "-string", "": return PlistNode(.string(value), range: range)
        case "integer", "-integer": return Int(value, radix: 10).map { PlistNode(.integer($0), range: range) }
        default: return nil
        }
    }

    /// The commands as one dictionary; of several for one path the last counts.
    private static func dictionary(_ commands: [Command]) -> PlistNode {
        var order: [String] = []
        for command in commands {
            if let name = command.path.first, !order.contains(where: { $0.hasSameBytes(as: name) }) {
                order.append(name)
            }
        }
        let members = order.compactMap { name -> PlistMember? in
            let own = commands.filter { $0.path.first?.hasSameBytes(as: name) == true }
            let inner = own.filter { $0.path.count > 1 }.map {
                Command(path: Array($0.path.dropFirst()), keyRange: $0.keyRange, node: $0.node)
            }
            guard let last = own.last else { return nil }
            let node = inner.isEmpty ? last.node : dictionary(inner)
            return PlistMember(name, keyRange: last.keyRange, node)
        }
        return PlistNode(.dictionary(members), range: commands.first?.keyRange ?? 0..<0)
    }
}

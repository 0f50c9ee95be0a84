// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

/// A part of a list that is nested by its indentation: plain YAML, as of XcodeGen and electron-builder, and the rows of Xcode's editor (name, type, value).
struct IndentedList {
    private struct Line {
        let depth: Int
        let key: String
        let keyRange: Range<Int>
        /// Nil for a dictionary, whose members are the deeper lines that follow.
        let value: PlistNode?
    }

    private static let (byteLimit, lineLimit, levelLimit) = (1 << 16, 2_000, 16)

    private let lines: [Line]

    /// The list that has the dictionary of ATS, or the dictionary itself; nil for another text, and for YAML with more than plain values.
    static func document(_ bytes: [UInt8]) -> PlistDocument? {
        guard bytes.count <= byteLimit else { return nil }
        let rows = bytes.split(separator: 0x0A).prefix(lineLimit).filter { !isEmpty($0) }
        let starts = rows.indices.filter { index in
            line(rows[index]).map { $0.key.hasSameBytes(as: ATSKey.dictionary) && $0.value == nil } == true
        }
        guard starts.count <= 1, let start = starts.first ?? rows.indices.first,
            let first = line(rows[start]),
            !starts.isEmpty || ATSDictionary.keys.contains(first.key)
        else { return nil }
        var lines = [first]
        for row in rows[(start + 1)...] {
            let depth = depth(of: row)
            if starts.isEmpty ? depth < first.depth : depth <= first.depth { break }
            // Half a list would be another one.
            guard let line = line(row) else { return nil }
            lines.append(line)
        }
        guard starts.isEmpty || lines.count > 1 else { return nil }
        let part = IndentedList(lines: lines)
        var index = 0
        let root = part.dictionary(from: &index)
        guard index == lines.count else { return nil }
        return PlistDocument(root: root, format: .text, source: bytes)
    }

    /// The lines of one depth, with what is below them; it stops before the end where the levels are too many.
    private func dictionary(from index: inout Int, level: Int = 0) -> PlistNode {
        let first = lines[index]
        var members: [PlistMember] = []
        while index < lines.count, lines[index].depth == first.depth {
            let line = lines[index]
            index += 1
            let isParent =
                level < Self.levelLimit && index < lines.count && lines[index].depth > line.depth && line.value == nil
            let node =
                isParent
                ? dictionary(from: &index, level: level + 1)
                : line.value ?? PlistNode(.dictionary([]), range: line.keyRange)
            members.append(PlistMember(line.key, keyRange: line.keyRange, node))
        }
        return PlistNode(.dictionary(members), range: first.keyRange)
    }

    private static func isEmpty(_ line: ArraySlice<UInt8>) -> Bool {
        line.first { $0 > 0x20 }.map { $0 == UInt8(ascii: "#") } != false
    }

    /// How far a line is indented.
    private static func depth(of line: ArraySlice<UInt8>) -> Int {
        line.prefix { $0 == 0x20 || $0 == 0x09 }.reduce(0) { $0 + ($1 == 0x09 ? 4 : 1) }
    }

    /// Nil for a line that is no key with a plain value or with deeper lines.
    private static func line(_ whole: ArraySlice<UInt8>) -> Line? {
        let text = whole.drop { $0 == 0x20 || $0 == 0x09 }
        return row(text, depth: depth(of: whole)) ?? yaml(text, depth: depth(of: whole))
    }

    /// `Allow Arbitrary Loads	Boolean	YES`, with a tab or several blanks between.
    private static func row(_ text: ArraySlice<UInt8>, depth: Int) -> Line? {
        let columns = text.split { $0 == 0x09 || $0 == 0x0D }.flatMap(cells)
        guard 2...3 ~= columns.count else { return nil }
        let name = String(decoding: columns[0], as: UTF8.self)
        let value = columns.count == 3 ? columns[2] : columns[1].suffix(0)
        let range = value.startIndex..<value.endIndex
        let node: PlistNode?
        switch String(decoding: columns[1], as: UTF8.self) {
        case "Dictionary": node = nil
        case "Boolean": node = isTrue(value).map { PlistNode(.boolean($0), range: range) }
        case "String": node = PlistNode(.string(String(decoding: value, as: UTF8.self)), range: range)
        default: return nil
        }
        if node == nil, !columns[1].elementsEqual("Dictionary".utf8) { return nil }
        return Line(
            depth: depth, key: Spelling.renamed[name] ?? name, keyRange: columns[0].startIndex..<columns[0].endIndex,
            value: node)
    }

    /// What stands between two blanks or more.
    private static func cells(_ text: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var (cells, rest): ([ArraySlice<UInt8>], ArraySlice<UInt8>) = ([], text)
        while let gap = rest.firstRange(of: [0x20, 0x20]) {
            if gap.lowerBound > rest.startIndex { cells.append(rest[..<gap.lowerBound]) }
            rest = rest[gap.upperBound...].drop { $0 == 0x20 }
        }
        while rest.last == 0x20 { rest = rest.dropLast() }
        return rest.isEmpty ? cells : cells + [rest]
    }

    /// `NSAllowsArbitraryLoads: true`.
    private static func yaml(_ text: ArraySlice<UInt8>, depth: Int) -> Line? {
        let marks = Array("'\"".utf8)
        let mark = text.first.flatMap { marks.contains($0) ? $0 : nil }
        let key: ArraySlice<UInt8>
        if let mark {
            key = text.dropFirst().prefix { $0 != mark }
        } else {
            guard
                let end = text.indices.first(where: { index in
                    text[index] == UInt8(ascii: ":") && text[index...].dropFirst().first.map { $0 <= 0x20 } != false
                })
            else { return nil }
            key = text[..<end]
        }
        let behind = text[key.endIndex...].dropFirst(mark == nil ? 0 : 1)
        guard !key.isEmpty, behind.first == UInt8(ascii: ":"), !key.contains(0x20) else { return nil }
        var value = behind.dropFirst().drop { $0 == 0x20 || $0 == 0x09 }
        if let comment = value.firstRange(of: " #".utf8) { value = value[..<comment.lowerBound] }
        while let last = value.last, last <= 0x20 { value = value.dropLast() }
        if value.first == UInt8(ascii: "#") { value = value.prefix(0) }
        let range = value.startIndex..<value.endIndex
        let node: PlistNode?
        if value.isEmpty {
            node = nil
        } else if let first = value.first, marks.contains(first) {
            guard value.count > 1, value.last == first else { return nil }
            node = PlistNode(.string(String(decoding: value.dropFirst().dropLast(), as: UTF8.self)), range: range)
        } else if let isTrue = isTrue(value) {
            node = PlistNode(.boolean(isTrue), range: range)
        } else {
            // Anchors, tags, lists and blocks are no plain values.
            guard value.first?.isASCIIAlphanumeric == true else { return nil }
            node = PlistNode(.string(String(decoding: value, as: UTF8.self)), range: range)
        }
        return Line(
            depth: depth, key: String(decoding: key, as: UTF8.self), keyRange: key.startIndex..<key.endIndex,
            value: node)
    }

    private static func isTrue(_ value: ArraySlice<UInt8>) -> Bool? {
        switch String(decoding: value.asciiLowercased, as: UTF8.self) {
        case "true", "yes", "on", "1": true
        case "false", "no", "off", "0": false
        default: nil
        }
    }
}

/// What `codesign -d --entitlements -` prints since macOS 12: `[Key] NAME`, `[Value]`, `[Bool] true`.
enum PrintedEntitlements {
    /// Nil for another text.
    static func document(_ bytes: [UInt8]) -> PlistDocument? {
        guard bytes.count <= 1 << 16, bytes.contains("[Key] com.apple.".utf8) else { return nil }
        var members: [PlistMember] = []
        var key: (name: String, range: Range<Int>)?
        for line in bytes.split(separator: 0x0A) {
            let words = line.drop { $0 == 0x20 || $0 == 0x09 }.split(separator: 0x20, maxSplits: 1)
            guard words.count == 2 else { continue }
            let text = String(decoding: words[1].prefix { $0 > 0x20 }, as: UTF8.self)
            let range = words[1].startIndex..<words[1].endIndex
            if words[0].elementsEqual("[Key]".utf8) {
                key = (text, range)
            } else if let found = key, words[0].first == UInt8(ascii: "["), members.count < 1_000 {
                let isBoolean = words[0].elementsEqual("[Bool]".utf8)
                members.append(
                    PlistMember(
                        found.name, keyRange: found.range,
                        PlistNode(isBoolean ? .boolean(text == "true") : .string(text), range: range)))
                key = nil
            }
        }
        return members.isEmpty
            ? nil : PlistDocument(root: PlistNode(.dictionary(members), range: 0..<0), format: .text, source: bytes)
    }
}

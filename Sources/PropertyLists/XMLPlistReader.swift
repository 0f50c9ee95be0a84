// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// Reads the XML form in one pass over the bytes, without recursion, and remembers where everything stood.
///
/// It accepts what Apple's parser accepts, and reports what that one swallows: duplicate keys and text after the end.
/// Entities that a document defines itself are refused: no property list needs them, and they are how a small file becomes a huge one.
struct XMLPlistReader {
    var tokens: XMLTokenizer
    var frames: [Frame] = []
    let valueLimit: Int
    /// Whether a text may have combining marks: bytes outside ASCII, or references to characters.
    var mayHaveMarks = false
    var values = 0
    var root: PlistNode?
    var oddities: [PlistDocument.Oddity] = []

    /// A container that is still open.
    struct Frame {
        let start: Int
        let isDictionary: Bool
        var elements: [PlistNode] = []
        var members: [PlistMember] = []
        var key: (text: String, range: Range<Int>)?
    }

    /// - Parameter position: where the property list begins in the text.
    static func read(
        _ bytes: [UInt8], from position: Int = 0, isVerbatim: Bool, mark: [UInt8] = [],
        values: Int = PlistLimits.values
    ) throws(MalformedInput) -> PlistDocument {
        let isASCII = bytes.reduce(into: UInt8(0)) { $0 |= $1 } < 0x80
        // The text of a whole file is looked at and dropped; pure ASCII is valid without a look.
        guard isASCII || String(validating: bytes, as: UTF8.self) != nil else {
            throw .plist("", "is not text in UTF-8; save it as UTF-8, or with plutil -convert xml1")
        }
        var reader = XMLPlistReader(
            tokens: XMLTokenizer(bytes, from: position), valueLimit: values, mayHaveMarks: !isASCII)
        let root = try reader.document()
        return PlistDocument(
            root: root, format: .xml, source: bytes, isVerbatim: isVerbatim, mark: mark, oddities: reader.oddities)
    }

    func fault(_ reason: String, at offset: Int? = nil) -> MalformedInput { tokens.fault(reason, at: offset) }

    // MARK: - The document

    private mutating func document() throws(MalformedInput) -> PlistNode {
        var insidePlist = false
        var ended = false
        tokens.skipSpace()
        // The members of a dictionary without it, as people paste them.
        let isFragment = tokens.looking(at: "<key>")
        if isFragment { frames.append(Frame(start: tokens.position, isDictionary: true)) }
        while !ended {
            tokens.skipSpace()
            guard let byte = tokens.byte else { break }
            guard byte == UInt8(ascii: "<") else {
                throw fault(
                    frames.isEmpty && root == nil
                        ? "is not an XML property list: expected '<' and found other text; convert it with plutil -convert xml1"
                        : byte == UInt8(ascii: "#")
                            ? "a directive of the C preprocessor (INFOPLIST_PREPROCESS): build the app and name its .app, whose Info.plist has what the build made of it"
                            : tokens.looking(at: "{{") || tokens.looking(at: "{%")
                                ? "a part of a template: build the app and name its .app, whose Info.plist has what the build made of it"
                                : "expected a tag and found text; remove the text or put it into a <string>")
            }
            if try tokens.skipMarkup() { continue }
            let start = tokens.position
            let tag = try readTag()
            if tag.isClosing, tag.name == .plist, frames.isEmpty, insidePlist {
                ended = true
            } else if tag.name == .plist, !tag.isClosing, !insidePlist, root == nil, frames.isEmpty {
                insidePlist = true
                ended = tag.isEmpty
            } else if tag.isClosing {
                try close(tag.name, start: start)
            } else {
                try open(tag, start: start)
            }
            if root != nil, frames.isEmpty, !insidePlist { ended = true }
        }
        if isFragment, root == nil, frames.count == 1 { try close(.dict, start: tokens.position) }
        guard frames.isEmpty, ended || !insidePlist else {
            throw fault("ends before its last element is closed; the file is truncated")
        }
        guard let root else { throw fault("contains no value; an Info.plist is a <plist> with one <dict>") }
        noteTrailingContent()
        return root
    }

    private mutating func noteTrailingContent() {
        tokens.skipSpace()
        var start = tokens.position
        while tokens.byte == UInt8(ascii: "<"), (try? tokens.skipMarkup()) == true {
            tokens.skipSpace()
            start = tokens.position
        }
        if start < tokens.bytes.count {
            oddities.append(.init(kind: .trailingContent, keyPath: [], offset: start))
        }
    }

    // MARK: - Elements

    private mutating func open(_ tag: Tag, start: Int) throws(MalformedInput) {
        if tag.name == .key { return try readKey(tag, start: start) }
        if let frame = frames.last, frame.isDictionary, frame.key == nil {
            throw fault("a <\(tag.name.rawValue)> was found where a <key> is expected", at: start)
        }
        if root != nil, frames.isEmpty {
            throw fault("has a second value; a property list contains exactly one", at: start)
        }
        values += 1
        guard values <= valueLimit else { throw fault("has more than \(valueLimit) values", at: start) }
        switch tag.name {
        case .dict, .array:
            guard frames.count < PlistLimits.depth else {
                throw fault("is nested deeper than \(PlistLimits.depth) levels", at: start)
            }
            frames.append(Frame(start: start, isDictionary: tag.name == .dict))
            if tag.isEmpty { try close(tag.name, start: start) }
        case .true, .false:
            if !tag.isEmpty { try expectClosing(tag.name, start: start) }
            add(.boolean(tag.name == .true), start: start)
        case .string:
            add(.string(tag.isEmpty ? "" : try readText(tag.name, start: start)), start: start)
        case .integer, .real, .date, .data:
            let text = tag.isEmpty ? "" : try readText(tag.name, start: start)
            guard let value = PlistScalar.value(of: text, in: tag.name) else {
                throw fault("'\(text.prefix(bytes: 40))' is not a valid <\(tag.name.rawValue)>", at: start)
            }
            add(value, start: start)
        case .key, .plist:
            throw fault("a <\(tag.name.rawValue)> is not allowed here", at: start)
        }
    }

    private mutating func readKey(_ tag: Tag, start: Int) throws(MalformedInput) {
        guard let frame = frames.last, frame.isDictionary else {
            throw fault("a <key> is outside a <dict>", at: start)
        }
        guard frame.key == nil else {
            throw fault("the key '\(frame.key?.text ?? "")' has no value; a <key> follows a <key>", at: start)
        }
        let text = tag.isEmpty ? "" : try readText(.key, start: start)
        frames[frames.count - 1].key = (text, start..<tokens.position)
    }

    private mutating func close(_ name: ElementName, start: Int) throws(MalformedInput) {
        guard let frame = frames.last, (name == .dict && frame.isDictionary) || (name == .array && !frame.isDictionary)
        else { throw fault("</\(name.rawValue)> closes nothing that is open", at: start) }
        if let key = frame.key { throw fault("the key '\(key.text)' has no value", at: start) }
        frames.removeLast()
        if frame.isDictionary {
            noteDuplicates(frame.members)
            add(.dictionary(frame.members), start: frame.start)
        } else {
            add(.array(frame.elements), start: frame.start)
        }
    }

    private mutating func add(_ value: PlistNode.Value, start: Int) {
        let node = PlistNode(value, range: start..<tokens.position)
        let last = frames.count - 1
        guard last >= 0 else {
            root = node
            return
        }
        if let key = frames[last].key {
            frames[last].members.append(PlistMember(key.text, keyRange: key.range, node))
            frames[last].key = nil
        } else {
            frames[last].elements.append(node)
        }
    }

    private mutating func noteDuplicates(_ members: [PlistMember]) {
        guard members.count > 1 else { return }
        var places: [UTF8Key: Int] = [:]
        places.reserveCapacity(members.count)
        for (place, member) in members.enumerated() {
            guard let earlier = places.updateValue(place, forKey: UTF8Key(member.key)) else { continue }
            guard oddities.count < PlistLimits.oddities else { return }
            let path = frames.map { $0.isDictionary ? $0.key?.text ?? "" : "[\($0.elements.count)]" } + [member.key]
            oddities.append(
                .init(
                    kind: .duplicateKey, keyPath: path, offset: member.keyRange.lowerBound,
                    earlier: members[earlier].range))
        }
    }
}

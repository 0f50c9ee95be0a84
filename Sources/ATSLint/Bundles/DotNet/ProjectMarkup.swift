// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import PropertyLists
import Vocabulary

/// The elements of a project file of MSBuild: the XML that such files are written in, without document types and entities of its own.
struct ProjectMarkup {
    /// An element with what stands in it.
    struct Element {
        let name: [UInt8]
        let attributes: [(name: [UInt8], value: [UInt8])]
        let line: Int
        var children: [Element] = []
        var text: [UInt8] = []

        func attribute(_ name: String) -> [UInt8]? {
            attributes.first { $0.name.elementsEqual(name.utf8) }?.value
        }

        func isNamed(_ name: String) -> Bool { self.name.elementsEqual(name.utf8) }
    }

    /// No project that a person or a tool writes is deeper, longer or wider.
    private enum Limit {
        static let depth = 64
        static let elements = 20_000
        static let attributes = 64
        static let value = 65_536
    }

    private var tokens: XMLTokenizer
    private var elements = 0
    /// The line of ``counted``; both grow together, so that all lines are counted in one pass.
    private var line = 1
    private var counted = 0

    /// Reads a file.
    ///
    /// - Returns: the element that holds all others.
    /// - Throws: `MalformedInput` with the place where the file is no well-formed XML in UTF-8, or beyond the limits.
    static func read(_ bytes: [UInt8]) throws(MalformedInput) -> Element {
        if TextFileEncoding.isUTF16(bytes) { throw .plist("", TextFileEncoding.utf16.reason) }
        var reader = ProjectMarkup(tokens: XMLTokenizer(bytes, from: TextFileEncoding.markCount(bytes)))
        return try reader.document()
    }

    private init(tokens: XMLTokenizer) { self.tokens = tokens }

    private mutating func line(of offset: Int) -> Int {
        while counted < offset {
            if tokens.bytes[counted] == 0x0A { line += 1 }
            counted += 1
        }
        return line
    }

    private func shown(_ name: some Collection<UInt8>) -> String {
        String(decoding: name.prefix(64), as: UTF8.self).terminalSafe
    }

    private mutating func document() throws(MalformedInput) -> Element {
        // Open elements, the outermost first: a loop and no recursion, so depth costs no stack.
        var open: [Element] = []
        while let byte = tokens.byte {
            let start = tokens.position
            guard byte == UInt8(ascii: "<") else {
                try text(into: &open)
                continue
            }
            if let section = try tokens.section() {
                guard !open.isEmpty else { throw tokens.fault("text is outside the project", at: start) }
                open[open.count - 1].text += tokens.bytes[section]
                continue
            }
            guard !tokens.looking(at: "<!DOCTYPE") else {
                throw tokens.fault("a document type is not allowed in projects")
            }
            if try tokens.skipMarkup() { continue }
            let tag = tokens.tag()
            guard (1...1_024).contains(tag.name.count) else {
                throw tokens.fault("a name is missing or too long", at: start)
            }
            let name = Array(tokens.bytes[tag.name])
            if tag.isClosing {
                tokens.skipSpace()
                guard tokens.byte == UInt8(ascii: ">") else { throw tokens.fault("a closing tag is not closed") }
                tokens.position += 1
                guard open.last?.name == name else {
                    throw tokens.fault("</\(shown(name))> closes nothing that is open", at: start)
                }
            } else {
                let (element, isEmpty) = try readElement(name, at: start)
                guard isEmpty || open.count < Limit.depth else {
                    throw tokens.fault("the elements are nested too deeply", at: start)
                }
                open.append(element)
                if !isEmpty { continue }
            }
            let element = open.removeLast()
            guard !open.isEmpty else { return try end(element) }
            open[open.count - 1].children.append(element)
        }
        guard let last = open.last else { throw tokens.fault("contains no element") }
        throw tokens.fault("<\(shown(last.name))> of line \(last.line) is not closed")
    }

    /// Only comments and space may follow the project.
    private mutating func end(_ root: Element) throws(MalformedInput) -> Element {
        tokens.skipSpace()
        while tokens.looking(at: "<!--") {
            _ = try tokens.skipMarkup()
            tokens.skipSpace()
        }
        guard tokens.byte == nil else { throw tokens.fault("something follows the end of the project") }
        return root
    }

    private mutating func text(into open: inout [Element]) throws(MalformedInput) {
        let start = tokens.position
        var found: [UInt8] = []
        while let next = tokens.byte, next != UInt8(ascii: "<") {
            if next == UInt8(ascii: "&") {
                found += String(try tokens.reference()).utf8
            } else {
                found.append(next)
                tokens.position += 1
            }
        }
        if let last = open.indices.last {
            guard open[last].text.count + found.count <= 4 << 20 else {
                throw tokens.fault("an element has too much text", at: start)
            }
            open[last].text += found
        } else if found.contains(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) {
            throw tokens.fault("is not XML: text is outside the project", at: start)
        }
    }

    private mutating func readElement(_ name: [UInt8], at start: Int) throws(MalformedInput) -> (Element, isEmpty: Bool)
    {
        elements += 1
        guard elements <= Limit.elements else { throw tokens.fault("has too many elements", at: start) }
        var attributes: [(name: [UInt8], value: [UInt8])] = []
        while let attribute = try tokens.attribute(limit: Limit.value) {
            guard attributes.count < Limit.attributes, attribute.name.count <= 1_024 else {
                throw tokens.fault("an element has too many attributes", at: start)
            }
            attributes.append((Array(tokens.bytes[attribute.name]), attribute.value))
        }
        guard let isEmpty = tokens.skipToTagEnd() else { throw tokens.fault("a tag is not closed", at: start) }
        return (Element(name: name, attributes: attributes, line: line(of: start)), isEmpty)
    }
}

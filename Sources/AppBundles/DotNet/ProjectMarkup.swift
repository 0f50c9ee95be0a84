// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings

/// The elements of a project file of MSBuild: the XML that such files are written in, without document types and entities of its own.
struct ProjectMarkup {
    /// An element with what stands in it.
    struct Element {
        let name: [UInt8]
        let attributes: [(name: [UInt8], value: [UInt8])]
        let line: Int
        var children: [Element] = []
        var text: [UInt8] = []

        /// The value of an attribute, nil where it is absent.
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

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    private var elements = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads a file.
    ///
    /// - Returns: the element that holds all others.
    /// - Throws: `MalformedInput` with the line where the file is no well-formed XML in UTF-8, or beyond the limits.
    static func read(_ bytes: [UInt8]) throws(MalformedInput) -> Element {
        var reader = ProjectMarkup(bytes)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.position = 3 }
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            throw .plist("", "is a project in UTF-16; save it as UTF-8")
        }
        return try reader.document()
    }

    private func fault(_ reason: String) -> MalformedInput { .plist("line \(line)", reason) }

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func step() {
        if byte == 0x0A { line += 1 }
        position += 1
    }

    private func looking(at text: String) -> Bool { bytes[position...].starts(with: text.utf8) }

    /// Goes behind the next `text`.
    private mutating func skip(behind text: String, _ what: String) throws(MalformedInput) {
        while position < bytes.count {
            if looking(at: text) {
                position += text.utf8.count
                return
            }
            step()
        }
        throw fault("\(what) is not closed")
    }

    private mutating func document() throws(MalformedInput) -> Element {
        // Open elements, the outermost first: a loop and no recursion, so depth costs no stack.
        var open: [Element] = []
        while position < bytes.count {
            guard byte == 0x3C else {
                try text(into: &open)
                continue
            }
            if looking(at: "<!--") {
                try skip(behind: "-->", "a comment")
            } else if looking(at: "<?") {
                try skip(behind: "?>", "a processing instruction")
            } else if looking(at: "<![CDATA[") {
                position += 9
                let start = position
                try skip(behind: "]]>", "a CDATA section")
                guard !open.isEmpty else { throw fault("text stands outside of the project") }
                open[open.count - 1].text += bytes[start..<(position - 3)]
            } else if looking(at: "<!") {
                throw fault("a document type is not read in projects")
            } else if looking(at: "</") {
                position += 2
                let name = try self.name()
                skipSpace()
                guard byte == 0x3E else { throw fault("a closing tag is not closed") }
                step()
                guard let element = open.popLast(), element.name == name else {
                    throw fault(
                        "</\(String(decoding: name.prefix(64), as: UTF8.self).terminalSafe)> closes nothing that is open"
                    )
                }
                guard !open.isEmpty else { return try end(element) }
                open[open.count - 1].children.append(element)
            } else {
                let (element, isEmpty) = try tag()
                if !isEmpty {
                    guard open.count < Limit.depth else { throw fault("the elements are nested too deeply") }
                    open.append(element)
                } else if open.isEmpty {
                    return try end(element)
                } else {
                    open[open.count - 1].children.append(element)
                }
            }
        }
        guard let last = open.last else { throw fault("holds no element") }
        throw .plist(
            "line \(last.line)",
            "<\(String(decoding: last.name.prefix(64), as: UTF8.self).terminalSafe)> is not closed"
        )
    }

    /// Only comments and space may follow the project.
    private mutating func end(_ root: Element) throws(MalformedInput) -> Element {
        while position < bytes.count {
            skipSpace()
            if looking(at: "<!--") {
                try skip(behind: "-->", "a comment")
            } else if position < bytes.count {
                throw fault("something follows the end of the project")
            }
        }
        return root
    }

    private mutating func text(into open: inout [Element]) throws(MalformedInput) {
        var found: [UInt8] = []
        while let next = byte, next != 0x3C {
            if next == 0x26 {
                found += try entity()
            } else {
                found.append(next)
                step()
            }
        }
        if let last = open.indices.last {
            guard open[last].text.count + found.count <= 4 << 20 else { throw fault("an element has too much text") }
            open[last].text += found
        } else if found.contains(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) {
            throw fault("is no XML: text stands outside of the project")
        }
    }

    private mutating func entity() throws(MalformedInput) -> [UInt8] {
        let known: [(String, UInt8)] = [
            ("&lt;", 0x3C), ("&gt;", 0x3E), ("&amp;", 0x26), ("&quot;", 0x22), ("&apos;", 0x27),
        ]
        for (text, value) in known where looking(at: text) {
            position += text.utf8.count
            return [value]
        }
        guard looking(at: "&#") else { throw fault("an entity is unknown") }
        position += 2
        let isHex = byte == 0x78
        if isHex { step() }
        var value: UInt32 = 0
        var digits = 0
        while let next = byte, next != 0x3B {
            guard let digit = Character(UnicodeScalar(next)).hexDigitValue, isHex || digit < 10, digits < 8 else {
                throw fault("a character reference is malformed")
            }
            value = value &* (isHex ? 16 : 10) &+ UInt32(digit)
            digits += 1
            step()
        }
        guard byte == 0x3B, digits > 0, let scalar = UnicodeScalar(value) else {
            throw fault("a character reference is malformed")
        }
        step()
        return Array(String(Character(scalar)).utf8)
    }

    private mutating func skipSpace() {
        while let next = byte, next == 0x20 || next == 0x09 || next == 0x0A || next == 0x0D { step() }
    }

    private mutating func name() throws(MalformedInput) -> [UInt8] {
        let start = position
        while let next = byte, ![0x20, 0x09, 0x0A, 0x0D, 0x2F, 0x3C, 0x3D, 0x3E, 0x22, 0x27].contains(next) { step() }
        guard (1...1_024).contains(position - start) else { throw fault("a name is missing or too long") }
        return Array(bytes[start..<position])
    }

    private mutating func tag() throws(MalformedInput) -> (Element, isEmpty: Bool) {
        let first = line
        step()
        let name = try self.name()
        elements += 1
        guard elements <= Limit.elements else { throw fault("has too many elements") }
        var attributes: [(name: [UInt8], value: [UInt8])] = []
        while true {
            skipSpace()
            guard let next = byte else { throw fault("a tag is not closed") }
            if next == 0x3E || next == 0x2F {
                step()
                if next == 0x2F {
                    guard byte == 0x3E else { throw fault("a tag is not closed") }
                    step()
                }
                return (Element(name: name, attributes: attributes, line: first), next == 0x2F)
            }
            guard attributes.count < Limit.attributes else { throw fault("an element has too many attributes") }
            attributes.append((try self.name(), try value()))
        }
    }

    private mutating func value() throws(MalformedInput) -> [UInt8] {
        skipSpace()
        guard byte == 0x3D else { throw fault("an attribute has no value") }
        step()
        skipSpace()
        guard let quote = byte, quote == 0x22 || quote == 0x27 else { throw fault("a value is not quoted") }
        step()
        var value: [UInt8] = []
        while let next = byte, next != quote {
            guard next != 0x3C, value.count < Limit.value else { throw fault("a value is not closed") }
            if next == 0x26 {
                value += try entity()
            } else {
                value.append(next)
                step()
            }
        }
        guard byte == quote else { throw fault("a value is not closed") }
        step()
        return value
    }
}

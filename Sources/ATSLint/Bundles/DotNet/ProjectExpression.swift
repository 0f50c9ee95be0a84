// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// Texts and conditions of MSBuild: `$(Name)`, a few functions, comparisons, `and`, `or`, `!` and brackets.
///
/// What cannot be decided here is nil, and nil stays nil in all that depends on it.
struct ProjectExpression {
    /// The value of a property, empty if it is not set; nil if nobody can tell.
    let property: (_ name: [UInt8]) -> [UInt8]?
    /// Whether a file or folder exists.
    let exists: (_ path: [UInt8]) -> Bool?
    /// The nearest file of a name above a folder, for `GetPathOfFileAbove`; empty if there is none.
    let above: (_ name: [UInt8], _ folder: [UInt8]) -> [UInt8]?

    /// The longest text that is followed, and the deepest nesting.
    static let bytes = 4_096
    private static let depth = 24

    // MARK: - Texts

    /// A text with its properties put in.
    func expanded(_ text: [UInt8], depth: Int = ProjectExpression.depth) -> [UInt8]? {
        guard text.count <= Self.bytes, depth > 0 else { return nil }
        var result: [UInt8] = []
        var position = 0
        while position < text.count {
            let next = text[position]
            if next == 0x24, position + 1 < text.count, text[position + 1] == 0x28 {
                guard let end = Self.closing(text, after: position + 2),
                    let value = reference(Array(text[(position + 2)..<end]), depth: depth - 1)
                else { return nil }
                result += value
                position = end + 1
            } else if (next == 0x40 || next == 0x25), position + 1 < text.count, text[position + 1] == 0x28 {
                // Items and metadata are known to the build alone.
                return nil
            } else {
                result.append(next)
                position += 1
            }
            guard result.count <= Self.bytes else { return nil }
        }
        return result
    }

    /// Brackets and quotes, followed byte by byte. Brackets in quotes do not count.
    private struct Nesting {
        private(set) var depth = 0
        private var quote: UInt8?

        init(depth: Int = 0) { self.depth = depth }

        var isQuoted: Bool { quote != nil }

        mutating func take(_ next: UInt8) {
            if let inside = quote {
                if next == inside { quote = nil }
                return
            }
            switch next {
            case 0x27, 0x22, 0x60: quote = next
            case 0x28: depth += 1
            case 0x29: depth -= 1
            default: break
            }
        }
    }

    /// Where the bracket closes that was opened before `start`.
    private static func closing(_ text: [UInt8], after start: Int) -> Int? {
        var nesting = Nesting(depth: 1)
        for index in start..<max(start, text.count) {
            nesting.take(text[index])
            if nesting.depth == 0 { return index }
        }
        return nil
    }

    /// What is between `$(` and `)`.
    private func reference(_ text: [UInt8], depth: Int) -> [UInt8]? {
        let text = Self.trimmed(text)
        if text.first == 0x5B { return staticCall(text, depth: depth) }
        guard let dot = text.firstIndex(of: 0x2E) else {
            return text.allSatisfy(Self.isNameByte) ? property(text) : nil
        }
        guard let value = property(Array(text[..<dot])), let bracket = text[dot...].firstIndex(of: 0x28),
            let end = Self.closing(text, after: bracket + 1), end == text.count - 1,
            let arguments = arguments(Array(text[(bracket + 1)..<end]), depth: depth)
        else { return nil }
        let name = text[(dot + 1)..<bracket].asciiLowercased
        func answer(_ isTrue: Bool) -> [UInt8] { Array((isTrue ? "True" : "False").utf8) }
        switch (String(decoding: name, as: UTF8.self), arguments.count) {
        case ("contains", 1): return answer(Self.contains(value, arguments[0]))
        case ("startswith", 1): return answer(value.starts(with: arguments[0]))
        case ("endswith", 1): return answer(value.reversed().starts(with: arguments[0].reversed()))
        case ("equals", 1): return answer(value == arguments[0])
        case ("tolower", 0), ("tolowerinvariant", 0): return value.asciiLowercased
        case ("trim", 0): return Self.trimmed(value)
        default: return nil
        }
    }

    /// `[MSBuild]::Name(arguments)`.
    private func staticCall(_ text: [UInt8], depth: Int) -> [UInt8]? {
        let prefix = Array("[msbuild]::".utf8)
        guard text.prefix(prefix.count).asciiLowercased == prefix, let bracket = text.firstIndex(of: 0x28),
            let end = Self.closing(text, after: bracket + 1), end == text.count - 1, bracket >= prefix.count,
            let arguments = arguments(Array(text[(bracket + 1)..<end]), depth: depth)
        else { return nil }
        let name = text[prefix.count..<bracket].asciiLowercased
        switch (String(decoding: name, as: UTF8.self), arguments.count) {
        case ("gettargetplatformidentifier", 1): return TargetFramework(arguments[0]).platform
        case ("isosplatform", 1):
            // Apps for Apple's systems are built on macOS.
            let isMac = ["osx", "macos"].contains { arguments[0].equalsIgnoringASCIICase($0) }
            return Array((isMac ? "True" : "False").utf8)
        case ("getpathoffileabove", 1), ("getpathoffileabove", 2):
            let here = arguments.count == 2 ? arguments[1] : property(Array("MSBuildThisFileDirectory".utf8))
            return here.flatMap { above(arguments[0], $0) }
        default: return nil
        }
    }

    private func arguments(_ text: [UInt8], depth: Int) -> [[UInt8]]? {
        guard !Self.trimmed(text).isEmpty else { return [] }
        var parts: [[UInt8]] = [[]]
        var nesting = Nesting()
        for next in text {
            nesting.take(next)
            if next == 0x2C, nesting.depth == 0, !nesting.isQuoted {
                guard parts.count < 4 else { return nil }
                parts.append([])
                continue
            }
            parts[parts.count - 1].append(next)
        }
        var values: [[UInt8]] = []
        for part in parts {
            var part = Self.trimmed(part)
            if let first = part.first, [0x27, 0x22, 0x60].contains(first), part.count >= 2, part.last == first {
                part = Array(part.dropFirst().dropLast())
            }
            guard let value = expanded(part, depth: depth) else { return nil }
            values.append(value)
        }
        return values
    }

    // MARK: - Conditions

    /// Whether a condition holds; true where it is empty, nil if it cannot be decided here.
    func holds(_ condition: [UInt8]) -> Bool? {
        guard condition.count <= Self.bytes else { return nil }
        guard !Self.trimmed(condition).isEmpty else { return true }
        guard let tokens = Self.tokens(condition) else { return nil }
        var position = 0
        guard let value = either(tokens, &position, Self.depth), position == tokens.count else { return nil }
        return value.isTrue
    }

    private enum Token: Equatable {
        case text([UInt8]), open, close, comma, not
        case equal, unequal, less, lessOrEqual, greater, greaterOrEqual
    }

    /// A part of a condition: its text, or what it was decided to be. Nil in both is undecided.
    private struct Value {
        var text: [UInt8]?
        var isTrue: Bool?
    }

    private static func tokens(_ text: [UInt8]) -> [Token]? {
        var tokens: [Token] = []
        var position = 0
        func next(_ offset: Int) -> UInt8? { position + offset < text.count ? text[position + offset] : nil }
        while let byte = next(0) {
            let isFollowedByEquals = next(1) == 0x3D
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case 0x28: (tokens, position) = (tokens + [.open], position + 1)
            case 0x29: (tokens, position) = (tokens + [.close], position + 1)
            case 0x2C: (tokens, position) = (tokens + [.comma], position + 1)
            case 0x3D:
                guard isFollowedByEquals else { return nil }
                (tokens, position) = (tokens + [.equal], position + 2)
            case 0x21:
                tokens.append(isFollowedByEquals ? .unequal : .not)
                position += isFollowedByEquals ? 2 : 1
            case 0x3C:
                tokens.append(isFollowedByEquals ? .lessOrEqual : .less)
                position += isFollowedByEquals ? 2 : 1
            case 0x3E:
                tokens.append(isFollowedByEquals ? .greaterOrEqual : .greater)
                position += isFollowedByEquals ? 2 : 1
            case 0x27:
                guard let end = quoted(text, after: position + 1) else { return nil }
                tokens.append(.text(Array(text[(position + 1)..<end])))
                position = end + 1
            case 0x24 where next(1) == 0x28:
                guard let end = closing(text, after: position + 2) else { return nil }
                tokens.append(.text(Array(text[position...end])))
                position = end + 1
            default:
                let start = position
                while let byte = next(0), isNameByte(byte) || byte == 0x2E { position += 1 }
                guard position > start else { return nil }
                tokens.append(.text(Array(text[start..<position])))
            }
            guard tokens.count <= 512 else { return nil }
        }
        return tokens
    }

    /// Where a quoted text ends. A reference in it may have quotes of its own.
    private static func quoted(_ text: [UInt8], after start: Int) -> Int? {
        var position = start
        while position < text.count {
            if text[position] == 0x27 { return position }
            if text[position] == 0x24, position + 1 < text.count, text[position + 1] == 0x28 {
                guard let end = closing(text, after: position + 2) else { return nil }
                position = end
            }
            position += 1
        }
        return nil
    }

    private func word(_ tokens: [Token], _ position: Int, _ word: String) -> Bool {
        guard position < tokens.count, case .text(let text) = tokens[position] else { return false }
        return text.equalsIgnoringASCIICase(word)
    }

    private func either(_ tokens: [Token], _ position: inout Int, _ depth: Int) -> Value? {
        joined(tokens, &position, "or", decidedBy: true) { both(tokens, &$0, depth) }
    }

    private func both(_ tokens: [Token], _ position: inout Int, _ depth: Int) -> Value? {
        joined(tokens, &position, "and", decidedBy: false) { comparison(tokens, &$0, depth) }
    }

    /// Operands with a word between them, of which one with the deciding value decides; else one that is unknown leaves all unknown.
    private func joined(
        _ tokens: [Token], _ position: inout Int, _ joint: String, decidedBy deciding: Bool,
        operand: (inout Int) -> Value?
    ) -> Value? {
        guard var left = operand(&position) else { return nil }
        while word(tokens, position, joint) {
            position += 1
            guard let right = operand(&position) else { return nil }
            let values = [left.isTrue, right.isTrue]
            left = Value(isTrue: values.contains(deciding) ? deciding : values.contains(nil) ? nil : !deciding)
        }
        return left
    }

    private func comparison(_ tokens: [Token], _ position: inout Int, _ depth: Int) -> Value? {
        guard let left = term(tokens, &position, depth) else { return nil }
        guard position < tokens.count else { return left }
        let sign = tokens[position]
        guard [.equal, .unequal, .less, .lessOrEqual, .greater, .greaterOrEqual].contains(sign) else { return left }
        position += 1
        guard let right = term(tokens, &position, depth) else { return nil }
        guard let first = left.text, let second = right.text else { return Value() }
        switch sign {
        case .equal: return Value(isTrue: first.asciiLowercased == second.asciiLowercased)
        case .unequal: return Value(isTrue: first.asciiLowercased != second.asciiLowercased)
        default:
            guard let first = Double(String(decoding: first, as: UTF8.self)),
                let second = Double(String(decoding: second, as: UTF8.self))
            else { return Value() }
            return Value(
                isTrue: sign == .less
                    ? first < second
                    : sign == .lessOrEqual ? first <= second : sign == .greater ? first > second : first >= second)
        }
    }

    private func term(_ tokens: [Token], _ position: inout Int, _ depth: Int) -> Value? {
        guard depth > 0, position < tokens.count else { return nil }
        let token = tokens[position]
        position += 1
        switch token {
        case .not:
            guard let value = term(tokens, &position, depth - 1) else { return nil }
            return Value(isTrue: value.isTrue.map { !$0 })
        case .open:
            guard let value = either(tokens, &position, depth - 1), position < tokens.count,
                tokens[position] == .close
            else { return nil }
            position += 1
            return value
        case .text(let text):
            if position < tokens.count, tokens[position] == .open { return call(text, tokens, &position) }
            guard let value = expanded(text) else { return Value() }
            let lower = value.asciiLowercased
            let isTrue = ["true", "on", "yes"].contains { lower.elementsEqual($0.utf8) }
            let isFalse = ["false", "off", "no"].contains { lower.elementsEqual($0.utf8) }
            return Value(text: value, isTrue: isTrue ? true : isFalse ? false : nil)
        default: return nil
        }
    }

    /// `Exists('path')` and `HasTrailingSlash('path')`.
    private func call(_ name: [UInt8], _ tokens: [Token], _ position: inout Int) -> Value? {
        guard position + 2 < tokens.count, case .text(let argument) = tokens[position + 1],
            tokens[position + 2] == .close
        else { return nil }
        position += 3
        guard let value = expanded(argument) else { return Value() }
        let name = name.asciiLowercased
        if name.elementsEqual("exists".utf8) { return Value(isTrue: exists(value)) }
        if name.elementsEqual("hastrailingslash".utf8) {
            return Value(isTrue: value.last == 0x2F || value.last == 0x5C)
        }
        return Value()
    }

    // MARK: - Bytes

    static func trimmed(_ text: [UInt8]) -> [UInt8] {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        return Array(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }

    static func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
        guard !part.isEmpty else { return true }
        return text.firstRange(of: part) != nil
    }

    private static func isNameByte(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || byte == 0x5F || byte == 0x2D }
}

/// The name of a target framework, for example `net9.0-ios17.0`.
struct TargetFramework {
    /// In lower case.
    let name: [UInt8]

    init(_ name: [UInt8]) { self.name = ProjectExpression.trimmed(name).asciiLowercased }

    /// The platform of the name, without its version: `ios` of `net9.0-ios17.0`; empty if there is none.
    var platform: [UInt8] {
        guard let dash = name.firstIndex(of: 0x2D) else { return [] }
        return Array(name[(dash + 1)...].prefix { (0x61...0x7A).contains($0) })
    }
}

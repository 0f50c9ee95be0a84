// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// A part of a property list between other words: a message, a change (diff), a quotation, a listing with numbers of lines.
enum PastedList {
    /// The text with blanks in the place of everything that is no part of the list, so that lines and columns stay; nil if there is no key in it.
    static func alone(_ text: [UInt8]) -> [UInt8]? {
        let isEscaped = text.contains("&lt;key&gt;".utf8)
        let bytes = isEscaped ? unescaped(text) : text
        guard bytes.contains("<key>".utf8) else { return nil }
        let isDiff =
            bytes.starts(with: "diff ".utf8) || bytes.contains("\n@@ ".utf8) || bytes.starts(with: "@@ ".utf8)
            || bytes.split(separator: 0x0A).contains(where: isAdded)
        var lines: [[UInt8]] = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map {
            line($0, isDiff: isDiff)
        }
        guard let first = lines.firstIndex(where: begins), let end = lines.lastIndex(where: { !isTagless($0) }) else {
            return nil
        }
        // A change shows some lines more: a key at the end without its value.
        guard let last = lines[first...end].lastIndex(where: { !isKeyAlone($0) }) else { return nil }
        for index in lines.indices where !(first...last).contains(index) || !lines[index].contains(UInt8(ascii: "<")) {
            let isText = (first...last).contains(index) && isPartOfValue(lines[index])
            if !isText { lines[index] = blanks(lines[index].count) }
        }
        // The words before the first tag and behind the last.
        if let start = lines[first].firstIndex(of: UInt8(ascii: "<")) {
            lines[first].replaceSubrange(..<start, with: blanks(start))
        }
        if let end = lines[last].lastIndex(of: UInt8(ascii: ">")) {
            lines[last].replaceSubrange((end + 1)..., with: blanks(lines[last].count - end - 1))
        }
        return Array(lines.joined(separator: [0x0A]))
    }

    /// What a command or the debugger printed, with blanks in the place of the command, which was copied too; nil if there is none before it.
    static func behindCommand(_ text: [UInt8]) -> [UInt8]? {
        guard let end = text.prefix(400).firstIndex(of: 0x0A) else { return nil }
        let printers = [
            "defaults read", "plutil -p", "plutil -convert", "-c Print", "-c 'Print", "-c \"Print",
            "Printing description of ",
        ]
        guard printers.contains(where: { text[..<end].contains($0.utf8) }) else { return nil }
        var list = text
        list.replaceSubrange(..<end, with: blanks(end))
        return list
    }

    /// Whether a list, or a part of one, begins on a line.
    private static func begins(_ line: [UInt8]) -> Bool {
        let text = line.drop { $0 <= 0x20 }
        return ["<?xml", "<!DOCTYPE", "<plist", "<dict"].contains { text.starts(with: $0.utf8) }
            || line.contains("<key>".utf8)
    }

    private static func isTagless(_ line: [UInt8]) -> Bool {
        line.first { $0 > 0x20 } != UInt8(ascii: "<") && !line.contains("<key>".utf8)
    }

    /// Whether a line has a key and no value, or nothing.
    private static func isKeyAlone(_ line: [UInt8]) -> Bool {
        let text = line.filter { $0 > 0x20 }
        return text.isEmpty || text.starts(with: "<key>".utf8) && text.suffix(6).elementsEqual("</key>".utf8)
    }

    /// Whether a line of a change adds a tag: a change is often copied without its head.
    private static func isAdded(_ line: ArraySlice<UInt8>) -> Bool {
        line.first == UInt8(ascii: "+") && line.dropFirst().first { $0 > 0x20 } == UInt8(ascii: "<")
    }

    private static func blanks(_ count: Int) -> [UInt8] { [UInt8](repeating: 0x20, count: count) }

    /// A line without a tag belongs to the value of the line before, unless it is a fence or stands for what was left out.
    private static func isPartOfValue(_ line: [UInt8]) -> Bool {
        let text = line.filter { $0 > 0x20 }
        return !text.isEmpty && !text.starts(with: "```".utf8) && !text.allSatisfy { $0 == UInt8(ascii: ".") }
            && !text.elementsEqual("\u{2026}".utf8)
    }

    /// A line without what is put in front of it.
    private static func line(_ whole: ArraySlice<UInt8>, isDiff: Bool) -> [UInt8] {
        var text = whole
        while let mark = text.first, mark == UInt8(ascii: ">"), text.dropFirst().first.map({ $0 <= 0x20 }) != false {
            text = text.dropFirst()
        }
        if isDiff {
            let isHead = ["@@", "+++", "---", "diff ", "index "].contains { text.starts(with: $0.utf8) }
            if isHead || text.first == UInt8(ascii: "-") { return blanks(whole.count) }
            if text.first == UInt8(ascii: "+") { text = text.dropFirst() }
        }
        let number = text.drop { $0 == 0x20 || $0 == 0x09 }
        let behind = number.drop { 0x30...0x39 ~= $0 }
        if behind.startIndex > number.startIndex, let next = behind.first, next <= 0x20 || "|:".utf8.contains(next) {
            text = behind.drop { $0 == 0x20 || "|:".utf8.contains($0) }
        }
        let start = text.drop { $0 <= 0x20 }
        let isQuoted = start.first == UInt8(ascii: "`") && !start.starts(with: "```".utf8)
        let plain = isQuoted ? text.map { $0 == UInt8(ascii: "`") ? 0x20 : $0 } : Array(text)
        return [blanks(whole.count - text.count), plain].flatMap(\.self)
    }

    /// The text with the signs that were written for a web page.
    private static func unescaped(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var rest = text[...]
        let names: [(text: [UInt8], sign: UInt8)] = [
            (Array("&lt;".utf8), 0x3C), (Array("&gt;".utf8), 0x3E), (Array("&quot;".utf8), 0x22),
        ]
        while let byte = rest.first {
            if byte == UInt8(ascii: "&"), let name = names.first(where: { rest.starts(with: $0.text) }) {
                result.append(name.sign)
                rest = rest.dropFirst(name.text.count)
            } else {
                result.append(byte)
                rest = rest.dropFirst()
            }
        }
        return result
    }
}

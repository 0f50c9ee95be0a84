// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import Vocabulary

/// Bytes as people have them: in base64, in hexadecimal, in PEM, in JSON, in quotes, or printed by a language.
///
/// The form is found out and named. Standard base64, the form of the contract, wins wherever it gives what is wanted; a fixed size or the
/// beginning of the object decides between the others. At most 64 readings are tried, in at most four layers.
package struct PastedBytes: Sendable, Equatable {
    /// The bytes that the text stands for.
    package let bytes: [UInt8]
    /// The forms that were taken off, the outermost first, for example `["JSON", "base64url"]`; empty for raw bytes.
    package let forms: [String]

    /// The forms in words, for a sentence.
    package var form: String { forms.isEmpty ? "raw bytes" : forms.joined(separator: ", then ") }

    /// Whether the bytes came in one of the forms that the service reads: base64 or base64url, padded or not, or hexadecimal.
    package var isPlain: Bool { forms.count == 1 && forms.allSatisfy(Self.plainForms.contains) }

    /// What the bytes must be.
    package struct Wanted: Sendable {
        /// In words, for a refusal: `32 bytes`.
        package let words: String
        package let accepts: @Sendable ([UInt8]) -> Bool

        package init(_ words: String, accepts: @escaping @Sendable ([UInt8]) -> Bool) {
            self.words = words
            self.accepts = accepts
        }

        /// Exactly so many bytes.
        package static func size(_ count: Int) -> Wanted { Wanted("\(count) bytes") { $0.count == count } }
        /// A CBOR map, as attestations and assertions are, or DER, as receipts, keys and certificates are.
        package static let object = Wanted("an object as Apple's framework returned it") { bytes in
            bytes.count > 36 && bytes.first.map { (0xA1...0xBF).contains($0) || $0 == 0x30 } == true
        }
        /// Any bytes: only the contract's form and what cannot be base64 are told apart.
        package static let anything = Wanted("bytes") { _ in true }
    }

    private init(_ bytes: [UInt8], _ forms: [String]) {
        self.bytes = bytes
        self.forms = forms
    }

    /// Reads what was pasted.
    ///
    /// - Parameters:
    ///   - pasted: the text, or the bytes themselves.
    ///   - mayBeRaw: whether bytes that are no text stand for themselves, as in a file.
    /// - Throws: `malformed.base64` with the form that was met and what is wanted.
    package init(reading pasted: [UInt8], wanted: Wanted, mayBeRaw: Bool = false) throws(MalformedInput) {
        guard let (text, marks) = Self.text(pasted) else {
            guard mayBeRaw else {
                throw MalformedInput(
                    code: .malformedBase64,
                    reason: pasted.wereText
                        ? MalformedInput.madeText
                        : "\(pasted.isEmpty ? "nothing" : "letters that are not those of base64"): expected text, for example base64 of \(wanted.words)"
                )
            }
            self.init(pasted, [])
            return
        }
        // `114 bytes` is base64 too.
        if text.count <= 40, let cut = Self.cutPrint(text) {
            throw MalformedInput(code: .malformedBase64, reason: cut)
        }
        var search = Search(wanted: wanted)
        let contract = Base64.decode(text.filter { !Self.isSpace($0) })
        let restored = Self.areBlanksSigns(text) ? Self.blanksRestored(text[...]).first : nil
        if let restored, wanted.accepts(restored.1) {
            self.init(restored.1, marks + [restored.0])
        } else if let contract, !contract.isEmpty, wanted.accepts(contract) {
            self.init(contract, marks + ["base64"])
        } else if text.count <= Self.largestText, let found = search.find(text[...], marks, depth: 0) {
            self = found
        } else if let cut = Self.cutPrint(text) {
            throw MalformedInput(code: .malformedBase64, reason: cut)
        } else if let contract, !contract.isEmpty {
            self.init(contract, marks + ["base64"])
        } else if let first = search.first {
            self = first
        } else {
            throw MalformedInput(
                code: .malformedBase64,
                reason:
                    "expected \(wanted.words) in base64, base64url or hexadecimal, and found \(Self.shape(of: text))")
        }
    }

    /// Reads a value of a fixed size.
    ///
    /// - Throws: `malformed.base64`, also for another number of bytes, with the form that was met: `base64url of 33 bytes; expected 32`.
    package static func fixed(
        _ pasted: [UInt8], sizes: [Int], words: String? = nil
    ) throws(MalformedInput) -> PastedBytes {
        let words = words ?? sizes.map(String.init).joined(separator: " or ") + " bytes"
        let read = try PastedBytes(reading: pasted, wanted: Wanted(words) { sizes.contains($0.count) })
        guard sizes.contains(read.bytes.count) else {
            throw MalformedInput(
                code: .malformedBase64, reason: "\(read.form) of \(read.bytes.count) bytes; expected \(words)")
        }
        return read
    }

    private static let plainForms: Set<String> = [
        "base64", "base64 without padding", "base64url", "base64url with padding", "hexadecimal",
    ]

    /// The longest text that is read in more than one way: more than four times the largest object.
    private static let largestText = 512 << 10

    // MARK: - What it looks like

    /// The text without a byte order mark, and the forms that were taken off; nil if the bytes are no text. UTF-16 is read where a mark says so.
    private static func text(_ bytes: [UInt8]) -> (text: [UInt8], forms: [String])? {
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]), bytes.count % 2 == 0 {
            let isLittle = bytes[0] == 0xFF
            var text: [UInt8] = []
            for index in stride(from: 2, to: bytes.count, by: 2) {
                let (high, low) = isLittle ? (bytes[index + 1], bytes[index]) : (bytes[index], bytes[index + 1])
                guard high == 0, isText(low) else { return nil }
                text.append(low)
            }
            return (text, [])
        }
        let marked = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        if marked.allSatisfy(isText) { return marked.isEmpty ? nil : (marked, []) }
        guard marked.count <= largestText, let typeset = String(validating: marked, as: UTF8.self) else { return nil }
        let text = typeset.unicodeScalars.filter { !unseen.contains($0) }.map { scalar in
            let plain = substitutes[scalar] ?? scalar
            return plain.isASCII ? UInt8(ascii: plain) : 0x7F
        }
        return !text.isEmpty && text.allSatisfy(isText) ? (text, ["marks of an editor"]) : nil
    }

    /// What editors, chats and web pages make of blanks, line ends, quotes and hyphens.
    private static let substitutes: [Unicode.Scalar: Unicode.Scalar] = [
        "\u{A0}": " ", "\u{202F}": " ", "\u{2028}": "\n", "\u{2029}": "\n", "\u{201C}": "\"", "\u{201D}": "\"",
        "\u{201E}": "\"", "\u{AB}": "\"", "\u{BB}": "\"", "\u{2018}": "'", "\u{2019}": "'", "\u{2011}": "-",
    ]

    /// What nobody sees: soft hyphens, joiners, marks of direction and of byte order.
    private static let unseen: Set<Unicode.Scalar> = [
        "\u{AD}", "\u{200B}", "\u{200C}", "\u{200D}", "\u{200E}", "\u{2060}", "\u{FEFF}",
    ]

    private static func isText(_ byte: UInt8) -> Bool { (0x20..<0x7F).contains(byte) || (0x09...0x0D).contains(byte) }
    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// A print that leaves out bytes, as those of Swift, Node and Java do: `5637 bytes`, `[object ArrayBuffer]`, `[B@6d06d69c`.
    private static func cutPrint(_ text: [UInt8]) -> String? {
        let text = String(decoding: text.prefix(4096), as: UTF8.self).trimmed()
        if nothings.contains(text.lowercased()) { return "the text `\(text)` is what was printed for no bytes at all" }
        if isDump(text) { return "the text is a print of bytes as words, letters or other numbers: \(printAll)" }
        let isCount = text.utf8.count <= 40 && (text.hasSuffix(" bytes") || text.hasSuffix(" bytes)"))
        guard
            isCount || ["...", "more bytes", "more items", "[object "].contains(where: text.contains)
                || text.hasPrefix("[B@")
        else { return nil }
        return "the text is a print that leaves out bytes: \(printAll)"
    }

    /// What to do about a print that leaves out bytes, or the order of their bits.
    package static let printAll =
        "print the base64 instead, as with base64EncodedString(), toString(\"base64\") or `base64 FILE`"

    /// Whether a text is a print of `od`, `hexdump` or `xxd`: lines that begin with offsets, the first with 0.
    private static func isDump(_ text: String) -> Bool {
        let lines = text.utf8.split(separator: 0x0A, maxSplits: 2)
        return lines.count > 1 && lines[0].starts(with: "000000".utf8) && lines[1].starts(with: "0000".utf8)
    }

    /// Whether a text is one, and nothing else that has dots: `5637 bytes`, `<Buffer a3 63 ... 5200 more bytes>`.
    package static func isCutPrint(_ text: [UInt8]) -> Bool {
        let line = text.trimmed(while: isSpace)
        let first = line.prefix { 0x30...0x39 ~= $0 }
        let isCount = !first.isEmpty && line[first.endIndex...].elementsEqual(" bytes".utf8)
        let begins = ["<Buffer ", "{length", "{ length", "Uint8Array(", "[object ", "[B@", "Optional("].contains {
            line.starts(with: $0.utf8)
        }
        return isCount || (begins || line.starts(with: "000000".utf8)) && cutPrint(text) != nil
    }

    /// What languages print for a value that is not there.
    private static let nothings: Set<String> = [
        "null", "undefined", "none", "nil", "(null)", "<null>", "optional(nil)",
    ]

    private static func shape(of text: [UInt8]) -> String {
        if text.starts(with: "-----BEGIN".utf8) { return "PEM that cannot be read" }
        if text.first == UInt8(ascii: "{") { return "JSON without such a member" }
        if text.starts(with: "eyJ".utf8), text.contains(UInt8(ascii: ".")) { return "a signed token (JWT)" }
        if isFileName(text) { return "what looks like the name of a file, and not what is in it" }
        let odd = text.enumerated().first {
            !$0.element.isASCIIAlphanumeric && !"+/=-_".utf8.contains($0.element) && !isSpace($0.element)
        }
        guard let odd else { return "text of another length" }
        return "`\(String(decoding: [odd.element], as: UTF8.self))` at byte \(odd.offset)"
    }

    /// Whether a text is one word with an ending of some letters, as no encoding is.
    private static func isFileName(_ text: [UInt8]) -> Bool {
        let word = text.trimmed(while: isSpace)
        guard word.count <= 255, !word.contains(where: isSpace), let point = word.lastIndex(of: UInt8(ascii: ".")),
            point > word.startIndex
        else { return false }
        let ending = word[point...].dropFirst()
        return 1...12 ~= ending.count && ending.allSatisfy(\.isASCIIAlphanumeric)
            && ending.first.map { !(0x30...0x39 ~= $0) } == true
    }

    // MARK: - The search

    private struct Search {
        let wanted: Wanted
        /// How many texts may still be looked at.
        var budget = 64
        /// The first reading that gave bytes, wanted or not.
        var first: PastedBytes?

        /// The first reading of a text that gives what is wanted.
        mutating func find(_ text: ArraySlice<UInt8>, _ forms: [String], depth: Int) -> PastedBytes? {
            let whole = text
            let text = text.trimmed(while: PastedBytes.isSpace)
            guard depth < 4, budget > 0, !text.isEmpty else { return nil }
            budget -= 1
            // Safe: joins arrays.
            let decoded = PastedBytes.decoded(text) + PastedBytes.blanksRestored(whole)
            for (form, bytes) in decoded where !bytes.isEmpty {
                let read = PastedBytes(bytes, forms + [form])
                if wanted.accepts(bytes) { return read }
                if first == nil { first = read }
            }
            // Base64 twice: what it gives is text again.
            let texts = decoded.filter { $0.1.allSatisfy(PastedBytes.isText) }
            // Safe: joins arrays.
            for (form, inner) in PastedBytes.unwrapped(text) + texts {
                if let found = find(inner[...], forms + [form], depth: depth + 1) { return found }
            }
            return nil
        }
    }

    /// What a text gives as an encoding of bytes, the contract's form first.
    private static func decoded(_ text: ArraySlice<UInt8>) -> [(String, [UInt8])] {
        var found: [(String, [UInt8])] = []
        let letters = text.filter { !isSpace($0) }
        let word = String(decoding: letters, as: UTF8.self)
        if let bytes = Base64.decode(letters) { found.append(("base64", bytes)) }
        let unpadded = Array(letters.reversed().drop { $0 == UInt8(ascii: "=") }.reversed())
        if letters.contains(UInt8(ascii: "-")) || letters.contains(UInt8(ascii: "_")) {
            if let bytes = Base64.decodeURL(String(decoding: unpadded, as: UTF8.self)) {
                found.append((unpadded.count == letters.count ? "base64url" : "base64url with padding", bytes))
            }
        } else {
            let padded = unpadded + [UInt8](repeating: UInt8(ascii: "="), count: (4 - unpadded.count % 4) % 4)
            if padded != letters, let bytes = Base64.decode(padded) { found.append(("base64 without padding", bytes)) }
        }
        // PostgreSQL puts `\x` before it.
        if let bytes = (word.hasPrefix("\\x") ? String(word.dropFirst(2)) : word).hexadecimalBytes {
            found.append(("hexadecimal", bytes))
        }
        if let bytes = pairs(text) { found.append(("pairs of hexadecimal digits", bytes)) }
        return found
    }

    /// Pairs of hexadecimal digits with marks between them: `A3-63` of .NET, `0xa3, 0x63`, `\xa3\x63`.
    private static func pairs(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        for word in text.split(whereSeparator: { isSpace($0) || "-,;\\".utf8.contains($0) }) {
            let isMarked = word.starts(with: "0x".utf8) || word.starts(with: "0X".utf8)
            let digits = isMarked ? word.dropFirst(2) : word.first == UInt8(ascii: "x") ? word.dropFirst() : word
            guard digits.count == 2, let high = digits.first?.hexadecimalValue, let low = digits.last?.hexadecimalValue
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes.count > 1 ? bytes : nil
    }

    /// Whether blanks stand at irregular distances, as `+` does and no line end that became one, or make the text as long as base64 is.
    private static func areBlanksSigns(_ text: [UInt8]) -> Bool {
        let text = text.trimmed(while: isSpace)
        let pieces = text.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        if text.count.isMultiple(of: 4), !text.filter({ !isSpace($0) }).count.isMultiple(of: 4) { return true }
        return pieces.count > 2 && pieces.dropLast().contains { $0.count != pieces[0].count }
    }

    /// Base64 in which each `+` became a blank, as forms decode it: also at its ends.
    private static func blanksRestored(_ text: ArraySlice<UInt8>) -> [(String, [UInt8])] {
        guard text.contains(UInt8(ascii: " ")) else { return [] }
        let restored = text.map { $0 == UInt8(ascii: " ") ? UInt8(ascii: "+") : $0 }.filter { !isSpace($0) }
        return Base64.decode(restored).map { [("base64 with blanks for +", $0)] } ?? []
    }

    /// What is around a text: quotes, JSON, a print of a language, PEM, a URI.
    private static func unwrapped(_ text: ArraySlice<UInt8>) -> [(String, [UInt8])] {
        let first = text.first ?? 0
        let last = text.last ?? 0
        var inner: [(String, [UInt8])] = []
        if text.starts(with: "-----BEGIN ".utf8) {
            // Also on one line.
            let label = text.dropFirst(11).firstRange(of: "-----".utf8)?.upperBound ?? text.endIndex
            let end = text[label...].firstRange(of: "-----".utf8)?.lowerBound ?? text.endIndex
            inner.append(("PEM", Array(text[label..<end])))
        }
        if text.starts(with: "data:".utf8), let comma = text.firstIndex(of: UInt8(ascii: ",")) {
            inner.append(("data: URI", Array(text[(comma + 1)...])))
        }
        if first == UInt8(ascii: "b") || first == UInt8(ascii: "B"), text.count > 3,
            let quote = text.dropFirst().first, quote == UInt8(ascii: "'") || quote == UInt8(ascii: "\""), last == quote
        {
            inner.append(contentsOf: python(text.dropFirst(2).dropLast()))
        }
        if [UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`")].contains(first), last == first, text.count > 2 {
            let body = text.dropFirst().dropLast()
            inner.append(("quotes", unescaped(body)))
            // As Ruby and Go print bytes.
            if body.contains("\\x".utf8) {
                inner.append(contentsOf: python(body).map { ("quotes", $0.1) })
            }
        }
        if first == UInt8(ascii: "<"), last == UInt8(ascii: ">"), text.dropFirst().first != first {
            let body = text.dropFirst().dropLast()
            let isNode = body.starts(with: "Buffer ".utf8)
            inner.append(
                (
                    isNode ? "a Buffer as Node prints it" : "Data as Swift prints it",
                    Array(isNode ? body.dropFirst(7) : body)
                ))
        }
        if text.starts(with: "{length".utf8) || text.starts(with: "{ length".utf8) {
            let hex = text.split(separator: UInt8(ascii: "x"), maxSplits: 1).last ?? []
            inner.append(("Data as Swift prints it", Array(hex.prefix { $0 != UInt8(ascii: "}") })))
        } else if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
            inner.append(contentsOf: json(text))
        }
        if text.contains(UInt8(ascii: "%")), let plain = percentDecoded(text) {
            inner.append(("percent-encoding", plain))
        }
        if text.contains("&#".utf8), let plain = entitiesDecoded(text) { inner.append(("HTML entities", plain)) }
        if text.contains(UInt8(ascii: "=")), let plain = quotedPrintable(text) {
            inner.append(("quoted-printable", plain))
        }
        if text.contains(UInt8(ascii: "\\")), !text.contains(UInt8(ascii: "\"")) {
            inner.append(("escapes", unescaped(text)))
        }
        if let digits = hexDump(text) { inner.append(("a hex dump", digits)) }
        if let digits = numbers(text) { inner.append(("a list of numbers", digits)) }
        inner.append(contentsOf: embedded(text))
        return inner
    }

    /// What stands between other words: the inside of `Optional(…)`, JSON in a line of a shell, the values of `name=value&name=value` and of
    /// `Name: value`.
    private static func embedded(_ text: ArraySlice<UInt8>) -> [(String, [UInt8])] {
        func isName(_ name: some Collection<UInt8>) -> Bool {
            1...64 ~= name.count && name.allSatisfy { $0.isASCIIAlphanumeric || "-_.".utf8.contains($0) }
        }
        var inner: [(String, [UInt8])] = []
        if text.last == UInt8(ascii: ")"), let open = text.prefix(32).firstIndex(of: UInt8(ascii: "(")),
            isName(text[..<open])
        {
            let name = String(decoding: text[..<open], as: UTF8.self)
            inner.append(("\(name)(…)", Array(text[open...].dropFirst().dropLast())))
        }
        if text.first != UInt8(ascii: "{"), let open = text.firstIndex(of: UInt8(ascii: "{")),
            let close = text.lastIndex(of: UInt8(ascii: "}")), open < close
        {
            inner.append(contentsOf: json(text[open...close]))
        }
        // `ArrayBuffer { [Uint8Contents]: <a3 63>, byteLength: 2 }`.
        if text.first != UInt8(ascii: "<"), let open = text.firstIndex(of: UInt8(ascii: "<")),
            let close = text[open...].firstIndex(of: UInt8(ascii: ">"))
        {
            let inside = text[open..<close].dropFirst()
            if inside.count > 8, inside.allSatisfy({ $0.hexadecimalValue != nil || isSpace($0) }) {
                inner.append(("<…> in other text", Array(inside)))
            }
        }
        // The only long word of a line of a log.
        let long = text.split { isSpace($0) || "\"'<>,;".utf8.contains($0) }.filter { $0.count > 64 }
        if long.count == 1, let word = long.first, word.count >= 100, word.count < text.count {
            inner.append(("a word of other text", Array(word)))
        }
        for part in text.split(separator: UInt8(ascii: "&"), maxSplits: 16) {
            guard let end = part.firstIndex(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") }),
                isName(part[..<end]), part[end...].dropFirst().contains(where: { !isSpace($0) })
            else { continue }
            inner.append(("a value with its name", Array(part[end...].dropFirst())))
        }
        return inner
    }

    /// The digits of `xxd`, and of `hexdump` and `od` in hexadecimal: an offset at the front of each line, and the text of the bytes at its end.
    private static func hexDump(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var digits: [UInt8] = []
        var isSwapped = false
        for line in text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let offset = line.prefix { $0.hexadecimalValue != nil }
            // With `xxd` there is a colon behind the offset, and what is beside the bytes may be in their text too.
            let isBarred = line[offset.endIndex...].first.map { $0 == 0x20 } ?? true
            let rest = line[offset.endIndex...].drop { $0 == UInt8(ascii: ":") || $0 == 0x20 }
            // `od` counts in octal.
            let number = String(decoding: offset, as: UTF8.self)
            let places = [16, 8].compactMap { Int(number, radix: $0) }
            // The offset at the end is odd where half of the last word is no byte.
            if isSwapped, rest.isEmpty, places.contains(digits.count / 2 - 1) { digits.removeLast(2) }
            guard 4...8 ~= offset.count, places.contains(digits.count / 2) else { return nil }
            // `hexdump` and `od -x` print words of two bytes, the second byte first.
            if digits.isEmpty { isSwapped = isBarred && rest.prefix { $0 != 0x20 }.count == 4 }
            var row: [UInt8] = []
            var before: UInt8 = 0
            for byte in rest {
                if "|>".utf8.contains(byte) || byte == 0x20 && before == 0x20 && !isBarred { break }
                if byte != 0x20 { row.append(byte) }
                before = byte
            }
            guard row.count <= 64, !isSwapped || row.count.isMultiple(of: 4),
                row.allSatisfy({ $0.hexadecimalValue != nil })
            else { return nil }
            if isSwapped {
                for start in stride(from: 0, to: row.count, by: 4) {
                    row.swapAt(start, start + 2)
                    row.swapAt(start + 1, start + 3)
                }
            }
            digits.append(contentsOf: row)
        }
        return digits.isEmpty ? nil : digits
    }

    /// Bytes as numbers, as hexadecimal: `Uint8Array(3) [ 163, 99, 102 ]`, `[163 99 102]`, `[]byte{0xa3, 0x63}`, `[-93, 99]`, `<<163, 99>>`,
    /// and what `xxd -i` prints. Only with their brackets: a list that is cut off within a number would be other bytes.
    private static func numbers(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard let open = text.prefix(64).lastIndex(where: { "[{(<".utf8.contains($0) }),
            let close = text[open...].firstIndex(where: { "]})>".utf8.contains($0) })
        else { return nil }
        // Behind it comes nothing, or the end of a statement.
        let rest = text[close...].first { !isSpace($0) && !"]})>".utf8.contains($0) }
        guard rest == nil || rest == UInt8(ascii: ";") else { return nil }
        var bytes: [UInt8] = []
        for word in text[open..<close].dropFirst().split(whereSeparator: { isSpace($0) || $0 == UInt8(ascii: ",") }) {
            let word = String(decoding: word.prefix(5), as: UTF8.self)
            let hex = word.hasPrefix("0x") ? word.dropFirst(2) : nil
            let byte =
                hex.flatMap { UInt8($0, radix: 16) }  // Safe: reads a text.
                ?? UInt8(word)  // Safe: reads a text.
                ?? Int8(word).map(UInt8.init(bitPattern:))
            guard let byte else { return nil }
            bytes.append(byte)
        }
        return bytes.isEmpty ? nil : Array(bytes.hexadecimal().utf8)
    }

    /// Whether a member of a request has the name of one that holds a proof.
    private static func isProof(_ name: String) -> Bool {
        let letters = name.utf8.prefix(6).asciiLowercased
        return letters.elementsEqual("attest".utf8) || letters.elementsEqual("assert".utf8)
            || name.utf8.elementsEqual("receipt".utf8)
    }

    /// Each text in a JSON value, as a text again, and an array of numbers as hexadecimal.
    private static func json(_ text: ArraySlice<UInt8>) -> [(String, [UInt8])] {
        var limits = JSONReader.Limits.outside
        // An array of bytes has one value for each.
        limits.values = 1 << 16
        guard let value = try? JSONReader.read(Array(text), limits: limits) else { return [] }
        var texts: [(String, [UInt8])] = []
        func visit(_ value: JSONValue, _ depth: Int) {
            guard texts.count < 32, depth < 4 else { return }
            if let text = value.text { texts.append(("JSON", Array(text.utf8))) }
            if let elements = value.elements {
                let bytes = elements.compactMap { $0.integer.flatMap(UInt8.init(exactly:)) }
                if !bytes.isEmpty, bytes.count == elements.count {
                    texts.append(("a JSON array of bytes", Array(bytes.hexadecimal().utf8)))
                } else {
                    for element in elements.prefix(32) { visit(element, depth + 1) }
                }
            }
            if let x = value.member("x")?.text.flatMap(Base64.decodeURL), x.count == 32,
                let y = value.member("y")?.text.flatMap(Base64.decodeURL), y.count == 32
            {
                // Safe: joins arrays.
                texts.append(("a JSON Web Key", Array(([0x04] + x + y).hexadecimal().utf8)))
            }
            let members = value.members ?? []
            // `{"0": 163, "1": 99}`, as JavaScript writes an array of bytes.
            let bytes = members.compactMap { $0.value.integer.flatMap(UInt8.init(exactly:)) }
            if members.first?.name == "0", bytes.count == members.count {
                texts.append(("a JSON array of bytes", Array(bytes.hexadecimal().utf8)))
            } else {
                // A key that stands before a proof has the beginning of an object too.
                let first = members.prefix(32).filter { isProof($0.name) }
                // Safe: joins arrays.
                for member in first + members.prefix(32).filter({ !isProof($0.name) }) {
                    visit(member.value, depth + 1)
                }
            }
        }
        visit(value, 0)
        return texts
    }

    /// The inside of Python's `b'…'`: a text again, or bytes with escapes as hexadecimal.
    private static func python(_ body: ArraySlice<UInt8>) -> [(String, [UInt8])] {
        guard body.contains(UInt8(ascii: "\\")) else { return [("bytes as Python prints them", Array(body))] }
        let simple: [UInt8: UInt8] = [
            UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09, UInt8(ascii: "\\"): 0x5C,
            UInt8(ascii: "'"): 0x27, UInt8(ascii: "\""): 0x22, UInt8(ascii: "a"): 0x07, UInt8(ascii: "b"): 0x08,
            UInt8(ascii: "e"): 0x1B, UInt8(ascii: "f"): 0x0C, UInt8(ascii: "v"): 0x0B, UInt8(ascii: "0"): 0x00,
            UInt8(ascii: "#"): 0x23,
        ]
        let bytes = resolved(body, UInt8(ascii: "\\")) { rest in
            guard let escape = rest.popFirst() else { return nil }
            return escape == UInt8(ascii: "x") ? hexadecimal(&rest) : simple[escape].map { [$0] }
        }
        return bytes.map { [("bytes as Python prints them", Array($0.hexadecimal().utf8))] } ?? []
    }

    /// A text in which a sign begins an escape.
    ///
    /// - Parameter escape: takes what is behind the sign and gives what it stands for; nil if it is none.
    private static func resolved(
        _ text: ArraySlice<UInt8>, _ sign: UInt8, escape: (inout ArraySlice<UInt8>) -> [UInt8]?
    ) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == sign else {
                bytes.append(byte)
                continue
            }
            guard let value = escape(&rest) else { return nil }
            bytes.append(contentsOf: value)
        }
        return bytes
    }

    /// Takes a byte of two hexadecimal digits; nil if there is none.
    private static func hexadecimal(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        guard let value = String(decoding: rest.prefix(2), as: UTF8.self).hexadecimalBytes, value.count == 1 else {
            return nil
        }
        rest = rest.dropFirst(2)
        return value
    }

    /// The text without the escapes of JSON and of shells that matter in base64: `\/`, `\n`, `\u002b`.
    private static func unescaped(_ body: ArraySlice<UInt8>) -> [UInt8] {
        guard body.contains(UInt8(ascii: "\\")) else { return Array(body) }
        // Safe: joins arrays.
        let quoted = [UInt8(ascii: "\"")] + body + [UInt8(ascii: "\"")]
        if let text = try? JSONReader.read(quoted, limits: .outside).text { return Array(text.utf8) }
        return body.filter { $0 != UInt8(ascii: "\\") }
    }

    /// The text without `%2B` and its like; nil if an escape is wrong.
    package static func percentDecoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        resolved(text, UInt8(ascii: "%")) { rest in
            hexadecimal(&rest).flatMap { $0.allSatisfy(isText) ? $0 : nil }
        }
    }

    /// The entities that templates make of signs: `&#43;`, `&#x2F;`, `&quot;`.
    private static func entitiesDecoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        resolved(text, UInt8(ascii: "&")) { rest in
            guard let end = rest.prefix(8).firstIndex(of: UInt8(ascii: ";")) else { return nil }
            let name = String(decoding: rest[..<end], as: UTF8.self).lowercased()
            rest = rest[end...].dropFirst()
            let byte: UInt8? =
                switch name {
                case "quot": 0x22
                case "amp": 0x26
                case _ where name.hasPrefix("#x"): UInt8(name.dropFirst(2), radix: 16)  // Safe: reads a text.
                case _ where name.hasPrefix("#"): UInt8(name.dropFirst())  // Safe: reads a text.
                default: nil
                }
            return byte.flatMap { isText($0) ? [$0] : nil }
        }
    }

    /// Quoted-printable, if the text has a soft line break or an escaped `=`.
    private static func quotedPrintable(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var hasEscape = false
        let bytes = resolved(text, UInt8(ascii: "=")) { rest in
            let end = rest.starts(with: [0x0D, 0x0A]) ? 2 : rest.first == 0x0D || rest.first == 0x0A ? 1 : 0
            rest = rest.dropFirst(end)
            guard let value = end > 0 ? [] : hexadecimal(&rest) else { return [UInt8(ascii: "=")] }
            hasEscape = true
            return value
        }
        return hasEscape ? bytes : nil
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// Reads what a device or Mac logged about loads, and says for each failure why.
///
/// Console's text, `log show` in each of its styles, Xcode's console, `idevicesyslog`, exceptions of other languages and the rows of `nscurl` are one
/// thing here: lines. Each is read into facts, the facts of one load are joined, and the judge sees them together. Feed the bytes of any number of
/// files, in parts of any size; what is kept does not grow with them. Lines that say nothing known are counted.
///
///     var log = DeviceLog()
///     log.read(Array("… HTTP load failed (kCFStreamErrorDomainSSL, -9824)".utf8))
///     print(log.report().text)
package struct DeviceLog: Sendable {
    /// Longer lines are read in parts.
    static let partLimit = 64 << 10
    /// Lines for which the description of one error may go on.
    static let openLimit = 64

    private var line: [UInt8] = []
    private var lines = 0
    /// Lines that say nothing known.
    private var unknown = 0
    private var joiner = LogJoiner()
    private var nscurl = NSCurlReader()
    /// Whether a transcript of nscurl was read whose default connection passes.
    private var hasPassed = false
    /// Where a command goes that a line before its output names.
    private var commandPlace: LogPlace?
    /// Whether that command loads with the system's stack: an error of the system is of no other one.
    private var isCommandOfSystem = false
    private var domain = SplitError()
    private var block = PrintedDictionary()
    private var open: (error: LogLine, evidence: LogEvidence?, left: Int)?
    private var style = JSONStyle()
    /// Names of JSON whose values are on the next line, which is read with them.
    private var names = 0
    /// Whether the parts of a line that goes on say something known; nil if none was counted yet.
    private var partsSay: Bool?

    /// Takes secrets out of a line before a part of it is quoted: behind a cut, the name that makes a value one is gone.
    private let hide: @Sendable (String) -> String

    /// Nothing was read yet.
    package init(hiding hide: @escaping @Sendable (String) -> String = { $0 }) { self.hide = hide }

    package mutating func read(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 0x0A) {
            append(rest[..<end])
            if LogMargin.endsInName(line) {
                names += 1
            } else {
                endLine()
            }
            rest = rest[(end + 1)...]
        }
        append(rest)
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        while line.count + rest.count > DeviceLog.partLimit {
            let room = DeviceLog.partLimit - line.count
            line += rest.prefix(room)
            rest = rest.dropFirst(room)
            let cut = LogMargin.cut(of: line)
            let next = Array(line[cut...])
            line.removeSubrange(cut...)
            endLine(isPart: true)
            line = next
        }
        line += rest
    }

    /// Ends a file: what comes next begins a line of its own.
    package mutating func endFile() {
        // The last one has no value.
        if names > 0, LogMargin.endsInName(line) { names -= 1 }
        endLine()
        endBlock()
        closeError()
        endTranscript()
        joiner.end()
        commandPlace = nil
        domain = SplitError()
        style = JSONStyle()
    }

    private mutating func endTranscript() {
        if let failure = nscurl.failure { joiner.add(failure) }
        if nscurl.passes { hasPassed = true }
        nscurl = NSCurlReader()
    }

    package func report() -> DeviceLogReport {
        var copy = self
        copy.endFile()
        let found = copy.joiner.report()
        return DeviceLogReport(
            lines: copy.lines, unknown: copy.unknown, failures: found.failures, moreFailures: found.beyond,
            hasPassed: copy.hasPassed)
    }

    /// - Parameter isPart: whether the line goes on.
    private mutating func endLine(isPart: Bool = false) {
        defer {
            if !isPart {
                partsSay = nil
                style.endLine()
            }
        }
        if line.isEmpty { return }
        (lines, unknown, names) = (lines + names, unknown + names, 0)
        let whole = LogMargin.removed(from: line)
        line.removeAll(keepingCapacity: true)
        if whole.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return }
        if block.take(whole) {
            if !block.isOpen { endBlock() }
        } else {
            read(line: whole, isPart: isPart)
        }
    }

    /// A dictionary that was printed over several lines is one error, or as many lines as it has.
    private mutating func endBlock() {
        let isOneError = block.isOneError
        let printed = block.end()
        let whole = Array(printed.map { $0.drop { $0 <= 0x20 } }.joined(separator: [0x20]))
        if isOneError, LogLine(whole[...]).saysSomething || Scan(bytes: whole[...]).playerError != nil {
            lines += printed.count - 1
            take(whole[...])
        } else {
            for line in printed { read(line: line) }
        }
    }

    private mutating func read(line whole: [UInt8], isPart: Bool = false) {
        switch style.read(whole, isPart: isPart) {
        case .structure: return
        case .text:
            let errors = JSONStyle.errors(in: whole)
            for error in errors.dropLast() { takePart(error, isPart: true) }
            takePart(errors.last ?? whole[...], isPart: isPart)
        case .message(let message):
            for part in message.split(separator: 0x0A) where part.contains(where: { $0 > 0x20 }) { take(part) }
        }
    }

    /// A line, or a part of one: its parts are counted as one line, which is known if one of them is.
    private mutating func takePart(_ text: ArraySlice<UInt8>, isPart: Bool) {
        if let partsSay {
            lines -= 1
            if !partsSay { unknown -= 1 }
        }
        let before = unknown
        take(text)
        let says = unknown == before
        if partsSay == true, !says { unknown = before }
        partsSay = isPart ? partsSay == true || says : nil
    }

    private mutating func take(_ text: ArraySlice<UInt8>) {
        if NSCurlReader.begins(text) { endTranscript() }
        let isRow = nscurl.take(text, line: lines + 1)
        if var current = open {
            if let more = LogLine(continuing: text, of: current.error) {
                lines += 1
                current.error.streamError = current.error.streamError ?? more.streamError
                current.error.place = current.error.place ?? more.place
                current.error.depth += more.depth
                current.evidence?.addDetails(Scan(bytes: text))
                current.left -= 1
                open = current
                if current.error.depth <= 0 || current.left <= 0 { closeError() }
                return
            }
            closeError()
        }
        var found = LogLine(text)
        lines += 1
        var evidence = isRow ? nil : LogEvidence(text, found, number: lines, hiding: hide)
        if evidence == nil, !isRow, !found.saysSomething, let whole = domain.joined(text) {
            found = LogLine(whole[...])
            evidence = LogEvidence(whole[...], found, number: lines, hiding: hide)
        }
        if evidence == nil, !isRow, !found.saysSomething {
            noteCommand(text)
            let scan = Scan(bytes: text)
            if let place = found.place ?? scan.placeOfError {
                joiner.add(place, line: lines, isBundle: scan.namesBundle)
            } else if let place = scan.placeOfConnection, let connection = scan.connection {
                joiner.add(place, of: connection, process: scan.process.process, line: lines)
            }
            unknown += 1
        } else if found.isOpen {
            open = (found, evidence, DeviceLog.openLimit)
        } else {
            add(found, evidence)
        }
    }

    private mutating func closeError() {
        guard let current = open else { return }
        open = nil
        guard var evidence = current.evidence else { return add(current.error, nil) }
        evidence.streamError = evidence.streamError ?? current.error.streamError
        evidence.place = current.error.place ?? evidence.place
        add(current.error, evidence)
    }

    private mutating func add(_ found: LogLine, _ evidence: LogEvidence?) {
        guard var evidence else {
            let codes = LogMeaning.codes(
                urlError: found.urlError, streamError: found.streamError, sentence: found.sentence)
            if found.saysSomething, codes == nil { unknown += 1 }
            return
        }
        if evidence.place == nil, evidence.task == nil, evidence.process == nil {
            let isOfSystem = evidence.urlError != nil || evidence.streamError != nil || evidence.sentence != nil
            evidence.place = isCommandOfSystem || !isOfSystem ? commandPlace : nil
        }
        joiner.add(evidence)
    }

    /// A command line of nscurl, curl or openssl, or their first words: `TLS failed with error: -9808` names no host.
    private mutating func noteCommand(_ text: ArraySlice<UInt8>) {
        let scan = Scan(bytes: text)
        let words: [StaticString] = ["nscurl ", "Diagnostics", "loads to ", "Loading app at "]
        let others: [StaticString] = ["curl ", "* Connected to ", "s_client "]
        let isOfSystem = words.contains(where: scan.contains)
        guard isOfSystem || others.contains(where: scan.contains), let place = scan.place else { return }
        (commandPlace, isCommandOfSystem) = (place, isOfSystem)
    }
}

/// Collects the lines of a dictionary that begins with a brace on a line of its own, as errors are printed.
struct PrintedDictionary: Sendable {
    private var lines: [[UInt8]] = []
    private var depth = 0
    private var bytes = 0

    var isOpen: Bool { depth > 0 && lines.count < 40 && bytes < 1 << 14 }

    /// Whether its lines may be about one error: it is no entry of `log`, and names no two numbers or places.
    var isOneError: Bool {
        if lines.contains(where: { Scan(bytes: $0[...]).contains("\"eventMessage\"") }) { return false }
        let found = lines.map { LogLine($0[...]) }
        return Set(found.compactMap(\.urlError)).count < 2 && Set(found.compactMap(\.place)).count < 2
    }

    /// Whether a line belongs to it.
    mutating func take(_ line: [UInt8]) -> Bool {
        if lines.isEmpty {
            guard line.lazy.filter({ $0 > 0x20 }).elementsEqual("{".utf8) else { return false }
        }
        lines.append(line)
        bytes += line.count
        depth += Scan(bytes: line[...]).depth
        return true
    }

    /// The lines, and the next one begins a dictionary or none.
    mutating func end() -> [[UInt8]] {
        defer { self = PrintedDictionary() }
        return lines
    }
}

/// Puts the domain and the number of an error together that are printed on lines of their own.
struct SplitError: Sendable {
    private var previous: [UInt8] = []
    /// The line with the domain, and for how many lines it waits.
    private var waiting: (text: [UInt8], left: Int)?

    /// Takes a line that says nothing by itself.
    ///
    /// - Returns: it with the other part of the error; nil if it is no part of one.
    mutating func joined(_ line: ArraySlice<UInt8>) -> [UInt8]? {
        let text = Array(line.prefix(400))
        defer { previous = text }
        if let first = waiting {
            let whole = first.text + [0x20] + text
            waiting = first.left > 1 ? (whole.count > 2000 ? first.text : whole, first.left - 1) : nil
            if LogLine(whole[...]).saysSomething {
                waiting = nil
                return whole
            }
        }
        guard Scan(bytes: text[...]).namesDomain else { return nil }
        let whole = previous + [0x20] + text
        if LogLine(whole[...]).saysSomething { return whole }
        if waiting == nil { waiting = (text, 4) }
        return nil
    }
}

/// What is put in front of lines and between them where a log is copied: colours, marks of quotation, numbers of lines.
enum LogMargin {
    /// Where a line that is too long is parted: before an object or a member of JSON, else behind a word.
    static func cut(of line: [UInt8]) -> Int {
        let half = line[(line.count / 2)...]
        func last(_ mark: UInt8) -> Int? {
            half.indices.dropLast().last { line[$0] == mark && line[$0 + 1] == 0x22 }
        }
        return last(UInt8(ascii: "{")) ?? last(UInt8(ascii: ",")) ?? half.lastIndex(of: 0x20) ?? line.count
    }

    /// Whether a line ends in `"name":` and at most 62 blanks: it is asked at each line end, so a run of blanks must not be read again for each.
    static func endsInName(_ line: [UInt8]) -> Bool {
        line.suffix(64).reversed().drop { $0 <= 0x20 }.starts(with: ":\"".utf8)
    }

    static func removed(from line: [UInt8]) -> [UInt8] {
        var text = line[...]
        if line.contains(0x1B) { text = withoutColours(line)[...] }
        while text.first == UInt8(ascii: ">"), text.dropFirst().first.map({ $0 <= 0x20 || $0 == 0x3E }) == true {
            text = text.dropFirst(text.dropFirst().first == 0x20 ? 2 : 1)
        }
        let number = text.drop { $0 == 0x20 }.drop { 0x30...0x39 ~= $0 }
        if number.startIndex > text.startIndex, number.starts(with: " | ".utf8) { text = number.dropFirst(3) }
        return text.count == line.count ? line : Array(text)
    }

    /// Without the sequences that begin with ESC and a bracket.
    private static func withoutColours(_ line: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var rest = line[...]
        while let byte = rest.popFirst() {
            if byte != 0x1B {
                result.append(byte)
            } else if rest.first == UInt8(ascii: "[") {
                rest = rest.dropFirst().drop { !(0x40...0x7E ~= $0) }.dropFirst()
            }
        }
        return result
    }
}

/// Takes the message out of a line of `log show --style json` or `ndjson`.
struct JSONStyle: Sendable {
    enum Line {
        /// A brace or a member that is no message.
        case structure
        /// A line of another style.
        case text
        case message([UInt8])
    }

    /// Whether the file began like one of JSON.
    private var isJSON: Bool?
    /// Whether only known members of it are a log: an archive of requests has what servers answered.
    private var isArchive = false
    /// The address that a member named last.
    private var address: [UInt8] = []
    /// Whether the part before ended in a message, in a string, or at least in the same line.
    private var (isInMessage, isInString, isInLine) = (false, false, false)

    /// The next part begins a line.
    mutating func endLine() { (isInMessage, isInString, isInLine) = (false, false, false) }

    /// - Parameter isPart: whether the line goes on.
    mutating func read(_ line: [UInt8], isPart: Bool) -> Line {
        let text = line.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF }
        if isJSON == nil {
            // What `log` prints before the first entry, whatever the style.
            if text.starts(with: "Filtering the log data using ".utf8) { return .text }
            isJSON = JSONStyle.begins(text)
        }
        guard isJSON == true else { return .text }
        isArchive = isArchive || Scan(bytes: text.prefix(200)).contains("\"creator\"")
        let isOfMore = isPart || isInLine
        isInLine = isPart
        let messages = messages(in: text, isPart: isPart)
        if !messages.isEmpty {
            isArchive = isArchive || isPart
            return .message(messages)
        }
        // A document in one line that is none of `log`: what an app printed.
        let isWhole =
            text.first.map("{[".utf8.contains) == true && text.last { $0 > 0x20 }.map("}]".utf8.contains) == true
        let isText = isWhole || (isOfMore ? !isArchive : Scan(bytes: text).namesDomain)
        return isText ? .text : .structure
    }

    /// Whether a file that begins with a line is one of JSON. Lines of programs begin with brackets too: `[Network] started`.
    private static func begins(_ line: ArraySlice<UInt8>) -> Bool {
        let next = line.dropFirst().first { $0 > 0x20 }
        switch line.first {
        case UInt8(ascii: "{"): return next == nil || next == UInt8(ascii: "\"")
        case UInt8(ascii: "["):
            return next == nil || next == UInt8(ascii: "{") || line.filter { $0 > 0x20 }.elementsEqual("[]".utf8)
        default: return false
        }
    }

    /// The messages of `log`, and what an archive of requests (HAR) says of those that failed: a line with the address and the error for each.
    private mutating func messages(in text: ArraySlice<UInt8>, isPart: Bool) -> [UInt8] {
        var lines: [UInt8] = []
        var rest = text
        if isInString {
            let end = JSONStyle.end(ofStringAt: rest.startIndex, in: rest)
            if isInMessage { lines += JSONStyle.string(rest) + [0x0A] }
            isInString = isPart && end == rest.endIndex
            rest = rest[min(end + 1, rest.endIndex)...]
        }
        var isMessage = false
        while let quote = rest.firstIndex(of: 0x22) {
            let end = JSONStyle.end(ofStringAt: quote + 1, in: rest)
            let name = rest[(quote + 1)..<end]
            isInString = isPart && end == rest.endIndex
            (isInMessage, isMessage) = (isMessage, false)
            rest = rest[min(end + 1, rest.endIndex)...]
            let colon = rest.drop { $0 <= 0x20 }
            guard colon.first == UInt8(ascii: ":") else { continue }
            let value = colon.dropFirst().drop { $0 <= 0x20 }
            guard value.first == 0x22 else { continue }
            if name.elementsEqual("url".utf8) { address = Array(JSONStyle.string(value.dropFirst()).prefix(2000)) }
            if name.elementsEqual("eventMessage".utf8) {
                lines += JSONStyle.string(value.dropFirst()) + [0x0A]
                isMessage = true
            }
            if name.elementsEqual("_error".utf8) {
                lines += address + [0x20] + JSONStyle.string(value.dropFirst()) + [0x0A]
                address = []
            }
        }
        return lines
    }

    /// The errors of a line that has an array of them; none if they are about one load, or of a line that is no JSON.
    static func errors(in line: [UInt8]) -> [ArraySlice<UInt8>] {
        let text = Scan(bytes: line[...])
        guard text.contains("[{") || text.contains("[ {") else { return [] }
        var elements: [ArraySlice<UInt8>] = []
        var (depth, start) = (0, line.startIndex)
        var rest = line[...]
        // From the first array of objects to its end.
        while let mark = rest.firstIndex(where: { "[]{}\"".utf8.contains($0) }), elements.count < 64 {
            rest = rest[(mark + 1)...]
            let isOpened = depth > 0 || line[mark] == UInt8(ascii: "[") && rest.first { $0 > 0x20 } == UInt8(ascii: "{")
            switch line[mark] {
            case 0x22: rest = rest[min(end(ofStringAt: mark + 1, in: rest) + 1, rest.endIndex)...]
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                if !isOpened { continue }
                if depth == 1 { start = mark }
                depth += 1
            default:
                if depth == 2 { elements.append(line[start...mark]) }
                depth -= 1
                if depth == 0 { rest = [] }
            }
            if depth < 0 { depth = 0 }
        }
        guard elements.count > 1 else { return [] }
        let errors = Set(elements.compactMap { LogLine($0).urlError })
        let isOne = errors.count < 2 && Set(elements.compactMap { Scan(bytes: $0).place }).count < 2
        return isOne ? [] : elements
    }

    private static func end(ofStringAt start: Int, in text: ArraySlice<UInt8>) -> Int {
        var index = start
        while index < text.endIndex, text[index] != 0x22 { index += text[index] == UInt8(ascii: "\\") ? 2 : 1 }
        return min(index, text.endIndex)
    }

    /// The bytes of a JSON string up to its closing quote, or to the end of what there is of it.
    private static func string(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var index = text.startIndex
        while index < text.endIndex, text[index] != 0x22 {
            let byte = text[index]
            index += 1
            guard byte == UInt8(ascii: "\\"), index < text.endIndex else {
                result.append(byte)
                continue
            }
            let escaped = text[index]
            index += 1
            switch escaped {
            case UInt8(ascii: "n"): result.append(LogMargin.endsInName(result) ? 0x20 : 0x0A)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "r"), UInt8(ascii: "b"), UInt8(ascii: "f"): result.append(0x20)
            case UInt8(ascii: "u"):
                let digits = text[index...].prefix(4)
                let number = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
                // What matters is ASCII; anything else is shown as a question mark and decides nothing.
                result.append(number.map { $0 < 0x80 ? UInt8($0) : 0x3F } ?? 0x3F)
                index += digits.count
            default: result.append(escaped)
            }
        }
        return result
    }
}

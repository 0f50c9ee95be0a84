// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// A minimal reading of an HTTP/1.1 answer as it comes in: status 200, a body by length, by chunks, or up to the end.
///
/// Every byte is looked at once, however small the pieces are. Text of the other side is never a `String`.
package struct HTTPAnswer {
    /// How the end of the body is known.
    private enum Framing {
        case length(Int)
        case chunked
        case untilClose
    }

    private struct Head {
        let isSuccess: Bool
        let framing: Framing
        /// Where the body begins.
        let end: Int
    }

    /// A chunked body as it comes in. What stands behind the last chunk is of no interest.
    private struct Chunks {
        private enum Place {
            case size
            case endOfSize(Int)
            case data(rest: Int)
            case endOfData
            case lineFeed
        }

        private(set) var body: [UInt8] = []
        private(set) var isComplete = false
        private var place = Place.size
        private var size: [UInt8] = []

        /// Takes the next bytes up to the end of the body.
        ///
        /// - Returns: whether they can be those of a chunked body.
        mutating func append(_ bytes: ArraySlice<UInt8>) -> Bool {
            var rest = bytes
            while !isComplete, let byte = rest.first {
                if case .data(let count) = place {
                    let part = rest.prefix(count)
                    body += part
                    rest = rest.dropFirst(part.count)
                    place = part.count < count ? .data(rest: count - part.count) : .endOfData
                    continue
                }
                rest = rest.dropFirst()
                switch (place, byte) {
                case (.size, 13):
                    let digits = HTTPAnswer.trimmed(size.prefix { $0 != UInt8(ascii: ";") })
                    guard let length = HTTPAnswer.number(digits, radix: 16) else { return false }
                    place = .endOfSize(length)
                case (.size, _): size.append(byte)
                case (.endOfSize(let length), 10):
                    size = []
                    isComplete = length == 0
                    place = .data(rest: length)
                case (.endOfData, 13): place = .lineFeed
                case (.lineFeed, 10): place = .size
                default: return false
                }
            }
            return true
        }
    }

    private var bytes: [UInt8] = []
    private var head: Head?
    private var chunks = Chunks()
    private var isRefused = false
    /// How far the end of the head was looked for.
    private var scanned = 0

    package init() {}

    /// Takes the next bytes, unless the answer is complete or can become nothing.
    package mutating func append(_ more: some Collection<UInt8>) {
        guard !isComplete else { return }
        var known = bytes.count
        bytes.append(contentsOf: more)
        if bytes.count > HTTPAnswer.maximumSize { return refuse() }
        if head == nil {
            guard let found = endOfHead(), found <= HTTPAnswer.maximumHead else {
                if bytes.count > HTTPAnswer.maximumHead { refuse() }
                return
            }
            head = HTTPAnswer.head(bytes[..<found], end: found)
            if head == nil { return refuse() }
            known = found
        }
        if case .chunked? = head?.framing, !chunks.append(bytes.dropFirst(known)) { refuse() }
    }

    /// Whether no more bytes are wanted: the body has arrived, or nothing can come of the answer.
    package var isComplete: Bool {
        if isRefused { return true }
        guard let head else { return false }
        switch head.framing {
        case .length(let length): return !head.isSuccess || bytes.count - head.end >= length
        case .chunked: return !head.isSuccess || chunks.isComplete
        case .untilClose: return !head.isSuccess
        }
    }

    /// The body, once the connection has ended or the answer is complete; nil for any status but 200, and for what is no answer, cut
    /// short or too large.
    package var body: [UInt8]? {
        guard !isRefused, let head, head.isSuccess else { return nil }
        let rest = bytes[head.end...]
        switch head.framing {
        case .length(let length): return rest.count >= length ? Array(rest.prefix(length)) : nil
        case .chunked: return chunks.isComplete ? chunks.body : nil
        case .untilClose: return Array(rest)
        }
    }

    private mutating func refuse() {
        isRefused = true
        bytes = []
    }

    /// Behind the empty line; nil while it has not come.
    private mutating func endOfHead() -> Int? {
        while scanned + 4 <= bytes.count {
            if bytes[scanned] == 13, bytes[scanned + 1] == 10, bytes[scanned + 2] == 13, bytes[scanned + 3] == 10 {
                return scanned + 4
            }
            scanned += 1
        }
        return nil
    }

    /// Nil if it is no head of HTTP/1, or names a length that is none.
    private static func head(_ bytes: ArraySlice<UInt8>, end: Int) -> Head? {
        let lines = bytes.split(separator: 10).map { $0.last == 13 ? $0.dropLast() : $0 }
        guard let status = lines.first, status.starts(with: "HTTP/1.".utf8) else { return nil }
        let code = status.drop { $0 != 0x20 }.drop { $0 == 0x20 }.prefix { $0 != 0x20 }
        let isSuccess = code.elementsEqual("200".utf8)
        if let coding = value("transfer-encoding", lines), coding.equalsIgnoringASCIICase("chunked") {
            return Head(isSuccess: isSuccess, framing: .chunked, end: end)
        }
        guard let text = value("content-length", lines) else {
            return Head(isSuccess: isSuccess, framing: .untilClose, end: end)
        }
        guard let length = number(text, radix: 10) else { return nil }
        return Head(isSuccess: isSuccess, framing: .length(length), end: end)
    }

    /// The value of the first field of that name, without the white space around it.
    private static func value(_ name: String, _ lines: [ArraySlice<UInt8>]) -> ArraySlice<UInt8>? {
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: 0x3A), line[..<colon].equalsIgnoringASCIICase(name) else { continue }
            return trimmed(line[line.index(after: colon)...])
        }
        return nil
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes.drop { $0 == 0x20 || $0 == 0x09 }
        while bytes.last == 0x20 || bytes.last == 0x09 { bytes.removeLast() }
        return bytes
    }

    /// Digits alone, of a number that fits into the answer; nil for everything else.
    private static func number(_ bytes: ArraySlice<UInt8>, radix: Int) -> Int? {
        guard (1...16).contains(bytes.count) else { return nil }
        var number = 0
        for byte in bytes {
            let digit: Int
            switch byte {
            case 0x30...0x39: digit = Int(byte) - 0x30
            case 0x41...0x46: digit = Int(byte) - 0x37
            case 0x61...0x66: digit = Int(byte) - 0x57
            default: return nil
            }
            guard digit < radix else { return nil }
            number = number * radix + digit
            guard number <= maximumSize else { return nil }
        }
        return number
    }

    /// All bytes of an answer.
    package static let maximumSize = 64 * 1024
    /// Those of its head.
    static let maximumHead = 16 * 1024
}

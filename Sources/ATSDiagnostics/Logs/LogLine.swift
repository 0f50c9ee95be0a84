// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import FoundationEssentials
import TLSModel
import Vocabulary

/// What one line of a device's log says about a load. Everything is found by fixed words; a line without them says nothing.
struct LogLine {
    /// The number of an NSURLError, negative.
    var urlError: Int?
    /// The number of a CFStream error of TLS, negative.
    var streamError: Int?
    /// A sentence of App Transport Security or of the TLS library.
    var sentence: LogSentence?
    var place: LogPlace?
    /// What the system calls the load, for example `FB1E….<2>`: other lines about it may name the host.
    var task: [UInt8]?
    /// Braces that are opened and not closed.
    var depth = 0
    /// Whether the line ends in the middle of an address.
    var isCutOff = false
    /// Whether the line begins an error whose description goes on in the next lines.
    var isOpen = false

    var saysSomething: Bool { urlError != nil || streamError != nil || sentence != nil }

    init(_ line: ArraySlice<UInt8>) {
        let text = Scan(bytes: line)
        urlError =
            LogLine.urlErrorWords.lazy.compactMap { text.negative(after: $0, in: -4000 ... -1) }.first
            ?? text.numberOfDomain
        streamError =
            (LogLine.streamMembers + LogLine.streamWords).lazy
            .compactMap { text.negative(after: $0, in: -9899 ... -9800) }.first ?? text.streamNumberOfDomain
            ?? text.streamNumberOfName
        for sentence in LogSentence.all where text.contains(sentence.words) {
            self.sentence = sentence
            break
        }
        // An address at the very end of a line may be the beginning of a longer one.
        let isPart = { (url: ArraySlice<UInt8>) in
            url.endIndex == line.endIndex && url.count { $0 == UInt8(ascii: "/") } < 3
        }
        let urls = LogLine.urlWords.lazy.compactMap { text.value(after: $0) }
        isCutOff = urls.contains(where: isPart)
        let named = urls.filter { !isPart($0) }
        // Other programs write `for server: ` before other words.
        let hosts = (sentence == nil ? [] : LogLine.hostWords).lazy.compactMap { text.value(after: $0) }
        place = named.compactMap(LogPlace.init(url:)).first ?? hosts.compactMap(LogPlace.init(host:)).first
        if let found = text.value(after: "Task <", until: [0x20, 0x29, 0x2C]) { task = Array(found.prefix(80)) }
        depth = text.depth
        isOpen =
            depth > 0 && text.contains("UserInfo={") && urlError != nil && (place == nil || streamError == nil)
        if sentence?.isCleartext == true, urlError == nil { urlError = -1022 }
        if place?.isGuessedSecure == true, sentence?.isCleartext == true { place?.isSecure = false }
    }

    /// What a description that goes on says about an error that began before; nil for a line that is about something else.
    init?(continuing line: ArraySlice<UInt8>, of error: LogLine) {
        // A list goes on with an indented entry or its closing bracket. Anything else is the next line behind one that was cut off.
        let line = LogLine.message(of: line)
        guard let first = line.first, LogLine.continuations.contains(first) else { return nil }
        let whole = LogLine(line)
        guard whole.sentence == nil, whole.urlError == nil || whole.urlError == error.urlError else { return nil }
        depth = whole.depth
        place = whole.place
        let text = Scan(bytes: line)
        streamError = LogLine.streamMembers.lazy.compactMap { text.negative(after: $0, in: -9899 ... -9800) }.first
        // A number that stands elsewhere is news of its own.
        guard whole.streamError == streamError else { return nil }
    }

    /// A line without the date, name and process that some programs put in front of every line of a message.
    private static func message(of line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard line.first.map({ 0x30...0x39 ~= $0 }) == true,
            let process = Scan(bytes: line.prefix(120)).process.process,
            let end = Scan(bytes: line.prefix(160)).rest(after: "] "),
            line.prefix(160).contains([UInt8(ascii: "[")] + process)
        else { return line }
        return line[end.startIndex...]
    }

    private static let continuations = Array(" \t\")}".utf8)
    private static let urlErrorWords: [StaticString] = [
        "Error Domain=NSURLErrorDomain Code=", "Error Domain=kCFErrorDomainCFNetwork Code=",
        "finished with error [", "finished with error - code: ", "finished with error - code ", "(error code: ",
        // WebPageProxy: the types of a load that failed and of one that a rule stopped.
        "(type=1, code=", "(type=4, code=",
    ]
    /// In the description of an error.
    private static let streamMembers: [StaticString] = [
        "_kCFStreamErrorCodeKey=", "_kCFStreamErrorCodeKey = \"", "kCFStreamErrorCodeKey = ",
        "_kCFStreamErrorCodeKey\": ", "_kCFStreamErrorCodeKey\" = \"", "_kCFStreamErrorCodeKey\" = ",
        "_kCFNetworkCFStreamSSLErrorOriginalValue=", "_kCFNetworkCFStreamSSLErrorOriginalValue = ",
    ]
    private static let streamWords: [StaticString] = [
        "(kCFStreamErrorDomainSSL, ", "SSLHandshake failed (", " [3:", "(3:", " 3:", "evaluation failed(",
        "TLS failed with error: ", "NSOSStatusErrorDomain Code=", "OSStatus error ", "Optional(", "OSStatus ",
        "TLS error ", "(securetransport:",
        // What this program prints itself.
        "stream code ",
        // Of a stream, with the number of the domain.
        "]: 3 ",
        // How Network prints its errors and states.
        "NWError error ", "NWError: ", "error: ", "failed(", "waiting(", ".tls(",
    ]
    private static let urlWords: [StaticString] = [
        "NSErrorFailingURLStringKey=", "NSErrorFailingURLKey=", "NSErrorFailingURLStringKey = \"",
        "NSErrorFailingURLKey = \"", "NSErrorFailingURLStringKey = ", "NSErrorFailingURLKey = ",
        "NSErrorFailingURLStringKey\": \"", "NSErrorFailingURLStringKey\": ", "NSErrorFailingURLKey\": ",
    ]
    private static let hostWords: [StaticString] = ["for server: ", "blocked a cleartext HTTP connection to "]
}

/// A host with what is known of the way to it.
struct LogPlace: Hashable {
    let host: String
    let port: Int?
    var isSecure: Bool
    /// The scheme of a load over TLS.
    let secureScheme: String
    /// Whether the line gave no URL.
    let isGuessedSecure: Bool

    /// The host of a URL of the web; nil for anything else.
    init?(url: ArraySlice<UInt8>) {
        // A text that was translated has blanks in its addresses: `https: //a.example/`.
        guard url.count <= 8192, url.contains("://".utf8),
            let load = try? LoadURL(logged: String(decoding: url, as: UTF8.self)), !LogPlace.isTakenOut(load.host)
        else { return nil }
        host = load.host
        port = load.port
        isSecure = load.isSecure
        secureScheme = load.secureScheme
        isGuessedSecure = false
    }

    /// A host that stands alone.
    init?(host: ArraySlice<UInt8>) {
        guard host.count <= 255, let load = try? LoadURL(logged: "https://" + String(decoding: host, as: UTF8.self)),
            load.pathAndQuery == "/", !LogPlace.isTakenOut(load.host)
        else { return nil }
        self.host = load.host
        port = load.port
        isSecure = true
        secureScheme = load.secureScheme
        isGuessedSecure = true
    }

    /// Whether a name stands for one that was taken out: by the system, as in `Hostname#1a2b3c4d:443`, or by who pasted the log.
    private static func isTakenOut(_ host: String) -> Bool {
        let labels = host.utf8.split(separator: UInt8(ascii: "."))
        func isOne(_ label: Substring.UTF8View, of words: [String]) -> Bool {
            words.contains { label.elementsEqual($0.utf8) }
        }
        if labels.count == 1, let only = labels.first {
            return isOne(only, of: ["hostname", "ipv4", "ipv6", "private", "redacted", "masked", "hidden"])
        }
        // `xxx.example.com`, `192.168.x.x`; one letter alone is a name, and .xxx a domain.
        let crossed = labels.map { $0.allSatisfy { $0 == UInt8(ascii: "x") } ? $0.count : 0 }
        return crossed.count { $0 > 0 } > 1 || crossed.dropLast().contains { $0 > 2 }
            || labels.contains { isOne($0, of: ["redacted", "masked"]) }
    }

    /// The command that finds out more about the host; nil if there is none for a host like this.
    func check(isHardened: Bool) -> String? {
        let scheme = isSecure ? secureScheme : String(secureScheme.dropLast())
        guard let url = try? LoadURL("\(scheme)://\(HostPort.text(host: host, port: port))/") else { return nil }
        return "sealward ats check \(url.text)\(isHardened ? " --for managed" : "")"
    }
}

/// Searches in the bytes of a line.
struct Scan {
    let bytes: ArraySlice<UInt8>

    var depth: Int {
        bytes.reduce(0) { $1 == UInt8(ascii: "{") ? $0 + 1 : $1 == UInt8(ascii: "}") ? $0 - 1 : $0 }
    }

    func contains(_ words: StaticString) -> Bool { end(of: words) != nil }

    /// What follows some words; nil if they are not there.
    func rest(after words: StaticString) -> ArraySlice<UInt8>? { end(of: words).map { bytes[$0...] } }

    /// A number near the name of the domain, whatever words of whatever language stand between, or named `code` in the same line.
    var numberOfDomain: Int? {
        guard let rest = rest(after: "NSURLErrorDomain") ?? rest(after: "kCFErrorDomainCFNetwork") else { return nil }
        let near = Scan(bytes: rest.prefix(40))
        if let number = near.bytes.indices.lazy.compactMap({ near.negative(at: $0) }).first { return number }
        if let number = near.unsignedError { return number }
        return Scan.codeWords.lazy.compactMap { negative(after: $0, in: -4000 ... -1) }.first
    }

    /// An error of a load as people type it: without the sign, or with a blank behind it.
    private var unsignedError: Int? {
        let digits = bytes.drop { !(0x30...0x39 ~= $0) }.prefix { 0x30...0x39 ~= $0 }
        let before = bytes[..<digits.startIndex]
        guard digits.count == 4, before.allSatisfy({ $0 < 0x80 && !"{=[(".utf8.contains($0) }) else { return nil }
        let number = digits.reduce(0) { $0 &* 10 &+ Int($1 & 0x0F) }
        return 1000...1299 ~= number ? -number : nil
    }

    /// The same of the domain of TLS.
    var streamNumberOfDomain: Int? {
        guard let rest = rest(after: "kCFStreamErrorDomainSSL") else { return nil }
        let near = Scan(bytes: rest.prefix(40))
        let number =
            near.bytes.indices.lazy.compactMap { near.negative(at: $0) }.first
            ?? Scan.codeWords.lazy.compactMap { negative(after: $0, in: -9899 ... -9800) }.first
        return number.flatMap { -9899 ... -9800 ~= $0 ? $0 : nil }
    }

    /// The number of a name of Secure Transport in Mono's words: `PeerProtocolVersion`.
    var streamNumberOfName: Int? {
        guard let name = rest(after: "Secure Transport error `")?.prefix(40).prefix(while: \.isASCIIAlphanumeric) else {
            return nil
        }
        return ErrorNumber.streamErrors.first { $0.name.utf8.dropFirst(6).elementsEqual(name) }?.number
    }

    /// Whether the domain of an error of a load is named.
    var namesDomain: Bool { contains("NSURLErrorDomain") || contains("kCFStreamErrorDomainSSL") }

    private static let codeWords: [StaticString] = [
        "code: ", "Code: ", "code\":", "code\": ", "code\" : ", "code=", "Code=", "code = ",
    ]

    /// The number whose minus stands at an index. After a digit a minus begins a time zone or a part of a date.
    func negative(at index: Int, digits counts: ClosedRange<Int> = 3...4) -> Int? {
        guard bytes[index] == UInt8(ascii: "-"), bytes[..<index].last.map({ 0x30...0x39 ~= $0 }) != true else {
            return nil
        }
        let digits = bytes[index...].dropFirst().prefix(6).prefix { 0x30...0x39 ~= $0 }
        return counts ~= digits.count ? -digits.reduce(0) { $0 &* 10 &+ Int($1 & 0x0F) } : nil
    }

    /// The number after some words, if it is in a range.
    func negative(after words: StaticString, in range: ClosedRange<Int>) -> Int? {
        var from = bytes.startIndex
        // The same words may stand before a number of another kind.
        for _ in 0..<16 {
            guard let start = end(of: words, from: from) else { return nil }
            if start < bytes.endIndex, bytes[start] == UInt8(ascii: "-") {
                let digits = bytes[(start + 1)...].prefix(6).prefix { 0x30...0x39 ~= $0 }
                let number = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
                if (3...5).contains(digits.count), range.contains(-number) { return -number }
            }
            from = start
        }
        return nil
    }

    /// What is between some words and the next delimiter; nil if there is nothing.
    func value(
        after words: StaticString, until delimiters: [UInt8] = [0x20, 0x22, 0x2C, 0x3B, 0x7D, 0x27]
    ) -> ArraySlice<UInt8>? {
        guard let start = end(of: words) else { return nil }
        let rest = bytes[start...]
        let end = rest.firstIndex { $0 < 0x20 || delimiters.contains($0) } ?? rest.endIndex
        guard end > start else { return nil }
        return bytes[start..<end]
    }

    /// The index after some words, which are looked for from an index on.
    private func end(of words: StaticString, from: Int? = nil) -> Int? {
        let skipped = from.map { $0 - bytes.startIndex } ?? 0
        // Safe: the words live as long as the program.
        return unsafe bytes.withUnsafeBytes { buffer in
            let words = unsafe UnsafeRawBufferPointer(start: words.utf8Start, count: words.utf8CodeUnitCount)
            return unsafe buffer.offset(of: words, from: skipped).map { bytes.startIndex + $0 + words.count }
        }
    }
}

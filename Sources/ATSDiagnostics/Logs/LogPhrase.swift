// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// Words that a program writes about a failed load, and what they say. One more form is one row of its family, in `Words`.
struct LogPhrase: Sendable {
    /// Who wrote them, by name: what loads without the system's stack is not judged by ATS.
    enum Speaker: String, Sendable {
        case system = "The system"
        case dart = "Dart (Flutter)"
        case dotNet = ".NET's managed handler"
        case unity = "Unity"
        case chromium = "Chromium (Electron)"
        case node = "Node (Electron)"
        case curl = "curl"
        case schannel = "Schannel (Windows)"
        case nss = "NSS (Firefox, and curl of some systems)"
        case qt = "Qt"
        case mbedTLS = "Mbed TLS (Godot and others)"
        case openSSL = "OpenSSL or BoringSSL (curl, Python, Ruby and others)"
        case grpc = "gRPC or SwiftNIO"
        case ktor = "Ktor's CIO engine"
        case android = "Android"
        case rust = "rustls (reqwest, Tauri)"
        case go = "Go"

        /// Whose lines are about one load: .NET wraps the exceptions of Android.
        var family: Speaker { self == .android ? .dotNet : self }
    }

    /// Matched whatever the case of ASCII letters; at least four bytes.
    let words: String
    let speaker: Speaker
    /// Why, decisive first; empty for words that only say who judged.
    let codes: [Code]
    /// A sentence with `<host>` for the host; nil where the meaning of the first code says it.
    let sentence: String?
    /// What to do, if it is not what the first code asks for.
    let fix: String?
    /// The number that the words stand for, in NSURLErrorDomain.
    let urlError: Int?
    /// Whether the name in the line is another than the host of the load: that of the certificate, or the origin of the page.
    let namesOther: Bool

    init(
        _ words: String, _ speaker: Speaker, _ codes: [Code], _ sentence: String? = nil, fix: String? = nil,
        urlError: Int? = nil, namesOther: Bool = false
    ) {
        self.words = words
        self.speaker = speaker
        self.codes = codes
        self.sentence = sentence
        self.fix = fix
        self.urlError = urlError
        self.namesOther = namesOther
    }

    /// Whether they say why a load failed.
    var saysWhy: Bool { !codes.isEmpty && codes != [.causeNotSaid] }

    /// Whether they say that the system judged, and not what.
    var saysSystemJudged: Bool { codes.isEmpty && speaker == .system && urlError == nil }

    /// The most telling first: of several in one load the first decides.
    static let all =
        LibraryWords.marks + SystemWords.all + AppCheckWords.all + WebWords.rules + InterceptionWords.all
        + LibraryWords.all
        + WebWords.unsaid

    /// Where phrases stand in a line, in one pass over its bytes.
    ///
    /// - Returns: places in ``all`` with the index of the first byte, at most 16.
    static func found(in line: ArraySlice<UInt8>) -> [(phrase: Int, start: Int)] {
        var found: [(phrase: Int, start: Int)] = []
        var window: UInt32 = 0
        var index = line.startIndex - 1
        // An array is gone through several times as fast as a part of one.
        for byte in Array(line) {
            index += 1
            window = window << 8 | UInt32(byte.asciiLowercased)
            guard filter[Int(hash(window))], let candidates = starts[window] else { continue }
            let rest = line[index...].dropFirst()
            for candidate in candidates where rest.count >= candidate.rest.count {
                guard zip(candidate.rest, rest).allSatisfy({ $0 == $1.asciiLowercased }) else { continue }
                if !found.contains(where: { $0.phrase == candidate.phrase }) {
                    found.append((candidate.phrase, index - 3))
                }
            }
            if found.count >= 16 { break }
        }
        return found.sorted { $0.phrase < $1.phrase }
    }

    private static func hash(_ window: UInt32) -> UInt32 { (window &* 2_654_435_761) >> 20 }

    /// By the first four bytes: what follows them.
    private static let starts: [UInt32: [(phrase: Int, rest: [UInt8])]] = {
        var starts: [UInt32: [(phrase: Int, rest: [UInt8])]] = [:]
        for (index, phrase) in all.enumerated() {
            let bytes = phrase.words.utf8.asciiLowercased
            let first = bytes.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            starts[first, default: []].append((index, Array(bytes.dropFirst(4))))
        }
        return starts
    }()

    /// Which hashes of four bytes begin a phrase: most bytes of a log need no look into the table.
    private static let filter: [Bool] = {
        var filter = [Bool](repeating: false, count: 4096)
        for start in starts.keys { filter[Int(hash(start))] = true }
        return filter
    }()
}

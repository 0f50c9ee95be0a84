// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TLSProbe

/// The answer of whoever stands behind a caIssuers address, in pieces of any size.
@Suite struct HTTPAnswerTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let text: String
        /// Nil where there is none to take.
        let body: String?
        /// Whether the end is known without the end of the connection.
        var isComplete = true
        var testDescription: String { String(text.prefix(60)).debugDescription }
    }

    static let cases = [
        Case(text: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", body: "abc"),
        Case(text: "HTTP/1.0 200\r\nCONTENT-LENGTH:\t3 \r\n\r\nabcd", body: "abc"),
        Case(text: "HTTP/1.1 200 OK\r\n\r\nabc", body: "abc", isComplete: false),
        Case(text: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", body: nil, isComplete: false),
        Case(text: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", body: ""),
        Case(text: "HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\nabc", body: nil),
        Case(text: "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc", body: nil),
        Case(text: "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\nabc", body: nil),
        Case(text: "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999999\r\n\r\nabc", body: nil),
        Case(text: "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nabc", body: nil),
        Case(text: "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc", body: nil),
        Case(text: "HTTP/1.1 2000\r\n\r\nabc", body: nil),
        Case(text: "HTTP/2 200\r\n\r\nabc", body: nil),
        Case(text: "garbage\r\n\r\nabc", body: nil),
        Case(
            text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n",
            body: "abcde"),
        Case(
            text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\nabc\r\n0\r\n\r\n", body: nil
        ),
        Case(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n", body: nil),
        Case(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabc", body: nil, isComplete: false),
        // What a certificate may contain is not the last chunk.
        Case(
            text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\na\r\n0\r\n\r\nb\r\n0\r\nx: y\r\n\r\n",
            body: "a\r\n0\r\n\r\nb"),
        Case(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", body: nil),
        Case(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\rabcd\r\n0\r\n\r\n", body: nil),
        Case(text: "HTTP/1.1 200 OK\r\nContent-Length\u{301}: 1\r\n\r\nabc", body: "abc", isComplete: false),
    ]

    static func answer(_ bytes: [UInt8], pieces: Int) -> HTTPAnswer {
        var answer = HTTPAnswer()
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            answer.append(bytes[start..<min(start + pieces, bytes.count)])
        }
        return answer
    }

    @Test(arguments: cases, [1, 3, 1 << 20])
    func pieces(_ item: Case, size: Int) {
        let answer = Self.answer(Array(item.text.utf8), pieces: size)
        #expect(answer.body.map { String(decoding: $0, as: UTF8.self) } == item.body)
        #expect(answer.isComplete == item.isComplete)
    }

    @Test("A head or a body without end is given up, byte by byte too")
    func bounds() {
        let head = Array("HTTP/1.1 200 OK\r\nx: ".utf8)
        let endless = Self.answer(head + [UInt8](repeating: 0x79, count: 100_000), pieces: 1)
        #expect(endless.isComplete && endless.body == nil)
        let body = Self.answer(
            Array("HTTP/1.1 200 OK\r\n\r\n".utf8) + [UInt8](repeating: 0x79, count: 100_000), pieces: 1)
        #expect(body.isComplete && body.body == nil)
    }

    @Test("An answer that is cut short is none", arguments: cases.filter { $0.body != nil && $0.isComplete })
    func truncations(_ item: Case) {
        let bytes = Array(item.text.utf8)
        let end = (0...bytes.count).first { Self.answer(Array(bytes.prefix($0)), pieces: 1).isComplete } ?? 0
        for cut in 0..<end {
            #expect(Self.answer(Array(bytes.prefix(cut)), pieces: 1).body == nil, "\(cut) bytes")
        }
        #expect(Self.answer(Array(bytes.prefix(end)), pieces: 1).body == item.body.map { Array($0.utf8) })
    }
}

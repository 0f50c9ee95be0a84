// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore

/// Reads requests byte for byte as RFC 9112 says and keeps what it saw: one line for each request, and one for whatever is none.
final class CountingUpstream: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    typealias Log = NIOLockedValueBox<[String]>

    private let log: Log
    private let heard: @Sendable (String) -> Void
    private var bytes: [UInt8] = []

    /// - Parameter heard: is given every piece that comes.
    init(_ log: Log, heard: @escaping @Sendable (String) -> Void = { _ in }) {
        self.log = log
        self.heard = heard
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let piece = unwrapInboundIn(data).readableBytesView
        heard(String(decoding: piece, as: UTF8.self))
        bytes += piece
        while let (line, answer) = nextRequest() {
            log.withLockedValue { $0.append(line) }
            context.channel.writeAndFlush(ByteBuffer(string: answer), promise: nil)
        }
    }

    /// The next request that is complete, with its answer.
    private func nextRequest() -> (line: String, answer: String)? {
        guard let end = range(of: "\r\n\r\n", from: 0) else {
            if let first = bytes.first, !(0x41...0x5A).contains(first) { return violation("bytes that are no request") }
            return nil
        }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).components("\r\n")
        let words = lines[0].components(" ")
        guard words.count == 3, words[2] == "HTTP/1.1" else { return violation("a line that is none: \(lines[0])") }
        var lengths: [Int] = []
        var codings: [String] = []
        for field in lines.dropFirst() {
            let parts = field.lowercased().components(": ")
            if parts[0] == "content-length" { lengths.append(Int(parts[1]) ?? -1) }
            if parts[0] == "transfer-encoding" { codings.append(parts[1]) }
        }
        let bodyStart = end + 4
        switch (lengths.count, codings) {
        case (0, []): return finish(words, body: 0, end: bodyStart)
        case (1, []):
            guard bytes.count >= bodyStart + lengths[0] else { return nil }
            return finish(words, body: lengths[0], end: bodyStart + lengths[0])
        case (0, ["chunked"]):
            guard let (count, end) = chunks(from: bodyStart) else { return nil }
            return finish(words, body: count, end: end)
        default: return violation("an unclear length: \(lengths) \(codings)")
        }
    }

    private func finish(_ words: [String], body: Int, end: Int) -> (String, String) {
        bytes.removeFirst(end)
        let text = "answer to \(words[0]) \(words[1])"
        return (
            "\(words[0]) \(words[1]) \(body)",
            "HTTP/1.1 200 OK\r\ncontent-length: \(text.utf8.count)\r\n\r\n" + (words[0] == "HEAD" ? "" : text)
        )
    }

    private func violation(_ what: String) -> (String, String) {
        bytes = []
        return ("violation: \(what)", "")
    }

    private func chunks(from start: Int) -> (count: Int, end: Int)? {
        var at = start
        var count = 0
        while let end = range(of: "\r\n", from: at) {
            guard let size = Int(String(decoding: bytes[at..<end], as: UTF8.self), radix: 16) else { return nil }
            at = end + 2
            guard bytes.count >= at + size + 2 else { return nil }
            if size == 0 { return (count, at + 2) }
            count += size
            at += size + 2
        }
        return nil
    }

    private func range(of text: String, from start: Int) -> Int? {
        let pattern = Array(text.utf8)
        guard bytes.count >= start + pattern.count else { return nil }
        return (start...(bytes.count - pattern.count)).first { bytes[$0..<($0 + pattern.count)].elementsEqual(pattern) }
    }
}

extension String {
    fileprivate func components(_ separator: String) -> [String] {
        split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }
}

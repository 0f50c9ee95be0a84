// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Counts what an HTTP/2 server sends besides answers, before the HTTP/2 library reads it.
///
/// The library limits SETTINGS, PING, RST_STREAM and empty DATA frames; WINDOW_UPDATE, GOAWAY, frames of types that nobody knows and DATA of a byte each
/// it reads without end. What a server may rightly send grows with what it was sent: at most two window updates of 13 bytes for each byte of a request,
/// an answer to each ping. Small pieces of an answer, as an event stream has them, are a matter of their number in a second.
struct FrameBudget {
    /// The server sent more or smaller frames than there is a reason for (RFC 9113 section 10.5).
    struct Exceeded: Error, CustomStringConvertible {
        var description: String { "more HTTP/2 frames than the load needs" }
    }

    /// Bytes that are still allowed for frames that are neither DATA nor header fields.
    private var beside = FrameBudget.allowanceBeside
    /// The same for what DATA frames have less than ``wholePiece``.
    private var pieces = FrameBudget.allowanceOfPieces
    /// When the allowance of pieces last grew.
    private var grewAt: NIODeadline
    /// The first bytes of a frame that is not read as far as its type.
    private var head: [UInt8] = []
    /// Bytes of the current frame that are still to come.
    private var rest = 0

    private static let allowanceBeside = 256 << 10
    private static let allowanceOfPieces = 1 << 20
    private static let perByteSent = 32
    /// A thousand pieces of a byte each.
    private static let perSecond = 64 << 10
    private static let wholePiece = 64
    /// Length, type, flags and stream (RFC 9113 section 4.1).
    private static let headLength = 9

    init(at now: NIODeadline) { grewAt = now }

    /// The client sent so many bytes.
    mutating func sent(_ bytes: Int) {
        let (sum, overflow) = beside.addingReportingOverflow(bytes * FrameBudget.perByteSent)
        beside = overflow ? .max : sum
    }

    /// Reads on.
    ///
    /// - Returns: whether the server has stayed within the budget.
    mutating func receive(_ bytes: ByteBufferView, at now: NIODeadline) -> Bool {
        grow(until: now)
        var bytes = bytes
        while !bytes.isEmpty {
            let skipped = min(rest, bytes.count)
            rest -= skipped
            bytes = bytes.dropFirst(skipped)
            let missing = bytes.prefix(FrameBudget.headLength - head.count)
            head += missing
            bytes = bytes.dropFirst(missing.count)
            guard head.count == FrameBudget.headLength else { break }
            rest = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            charge(type: head[3])
            head.removeAll(keepingCapacity: true)
        }
        return beside >= 0 && pieces >= 0
    }

    /// For the frame that is about to be read, by its type (RFC 9113 section 6).
    private mutating func charge(type: UInt8) {
        switch type {
        case 0: pieces -= max(0, FrameBudget.wholePiece - rest)
        // HEADERS and CONTINUATION.
        case 1, 9: break
        default: beside -= FrameBudget.headLength + rest
        }
    }

    private mutating func grow(until now: NIODeadline) {
        let passed = min((now - grewAt).nanoseconds / 1_000_000, 3_600_000)
        guard passed > 0 else { return }
        grewAt = now
        pieces = min(FrameBudget.allowanceOfPieces, pieces + Int(passed) * FrameBudget.perSecond / 1000)
    }
}

/// Sits between TLS and HTTP/2 and ends the connection of a server that floods.
final class FrameBudgetHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var budget = FrameBudget(at: .now())
    private var isOver = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        guard budget.receive(unwrapInboundIn(data).readableBytesView, at: .now()) else {
            isOver = true
            return context.fireErrorCaught(FrameBudget.Exceeded())
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        budget.sent(unwrapOutboundIn(data).readableBytes)
        context.write(data, promise: promise)
    }
}

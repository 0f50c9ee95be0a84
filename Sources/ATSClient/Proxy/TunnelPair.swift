// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import ConnectionAdmission
import NIOCore
import TLSModel
import Vocabulary

/// Both ends of a tunnel, on one event loop: bytes go across as fast as the slower side takes them.
///
/// With a watch, nothing of the client goes to the server before its hello is whole and asks for the host that was judged, and the server's
/// first flight is held until it is judged: the client learns nothing from a server that breaks the policy, and sends it nothing but its
/// hello.
final class TunnelPair {
    private enum Watching {
        case none
        case flight(TunnelWatch, ServerFlight, held: [ByteBuffer])
        case judging(held: [ByteBuffer])
    }

    fileprivate let front: any Channel
    fileprivate let back: any Channel
    private var watching: Watching
    private var clientHasSpoken = false
    /// The client's hello until it is whole; nil without a watch, and behind it.
    private var hello: (flight: ClientFlight, held: [ByteBuffer])?
    /// The newest version that the client offered.
    private var offeredVersion: UInt16 = 0
    /// Whether the tunnel ends for a violation, so that nothing more goes across.
    private var isCut = false
    private let idleTimeout: TimeAmount
    private let handshakeTimeout: TimeAmount
    private var isClosed = false
    private var idleDeadline: MovingDeadline?
    /// Runs from the client's first byte until the server's flight is judged.
    private var handshakeDeadline: MovingDeadline?
    private var closesAfterJudgement = false

    init(
        front: any Channel, back: any Channel, watch: TunnelWatch?, idleTimeout: TimeAmount,
        handshakeTimeout: TimeAmount
    ) {
        self.front = front
        self.back = back
        self.idleTimeout = idleTimeout
        self.handshakeTimeout = handshakeTimeout
        watching = watch.map { .flight($0, ServerFlight(), held: []) } ?? .none
        hello = watch == nil ? nil : (ClientFlight(), [])
        idleDeadline = MovingDeadline(on: front.eventLoop) { [weak self] in self?.close() }
        idleDeadline?.move(in: idleTimeout)
    }

    fileprivate func read(_ bytes: ByteBuffer, isFront: Bool) {
        idleDeadline?.move(in: idleTimeout)
        if isFront { fromClient(bytes) } else { fromServer(bytes) }
    }

    private func fromClient(_ bytes: ByteBuffer) {
        guard !isCut else { return }
        if !clientHasSpoken, bytes.readableBytes > 0 {
            clientHasSpoken = true
            if case .flight(let watch, _, _) = watching, bytes.readableBytesView.first != 22 {
                watch.onViolation([
                    Cause(.netNotTLS, "The client sends something that is not TLS into the tunnel.")
                ])
                return close()
            }
            if case .flight = watching {
                handshakeDeadline = MovingDeadline(on: front.eventLoop) { [weak self] in self?.close() }
                handshakeDeadline?.move(in: handshakeTimeout)
            }
        }
        if case .flight(let watch, _, _) = watching, var (flight, held) = hello {
            flight.read(Array(bytes.readableBytesView))
            held.append(bytes)
            hello = (flight, held)
            guard flight.isOver else { return }
            hello = nil
            offeredVersion = flight.newestVersion
            let causes = watch.violation(flight)
            guard causes.isEmpty else {
                watch.onViolation(causes)
                return cut()
            }
            for bytes in held { back.write(bytes, promise: nil) }
            return
        }
        back.write(bytes, promise: nil)
    }

    private func fromServer(_ bytes: ByteBuffer) {
        switch watching {
        case .none: front.write(bytes, promise: nil)
        case .judging(let held): watching = .judging(held: held + [bytes])
        case .flight(let watch, var flight, var held):
            flight.read(Array(bytes.readableBytesView))
            held.append(bytes)
            guard flight.isOver else {
                // A HelloRetryRequest says nothing of the server yet, and the client must answer it.
                if flight.awaitsSecondHello {
                    for bytes in held { front.write(bytes, promise: nil) }
                    held = []
                }
                watching = .flight(watch, flight, held: held)
                return
            }
            watching = .judging(held: held)
            judge(watch, flight)
        }
    }

    private func judge(_ watch: TunnelWatch, _ flight: ServerFlight) {
        let pair = NIOLoopBound(self, eventLoop: front.eventLoop)
        let loop = front.eventLoop
        let offered = offeredVersion
        Task {
            let causes = await withTaskExecutorPreference(JudgementThreads.shared) {
                await watch.violation(flight, offered: offered)
            }
            loop.execute {
                if causes.isEmpty {
                    pair.value.release()
                } else {
                    watch.onViolation(causes)
                    pair.value.cut()
                }
            }
        }
    }

    private func release() {
        guard !isClosed, case .judging(let held) = watching else { return }
        handshakeDeadline = nil
        watching = .none
        for bytes in held { front.write(bytes, promise: nil) }
        front.flush()
        if closesAfterJudgement { return close() }
        back.read()
    }

    /// Ends the client's handshake with alert 71, insufficient_security, in place of a flight that breaks the policy.
    private func cut() {
        isCut = true
        let alert = ByteBuffer(bytes: [21, 3, 3, 0, 2, 2, 71])
        let pair = NIOLoopBound(self, eventLoop: front.eventLoop)
        front.writeAndFlush(alert).whenComplete { _ in pair.value.close() }
    }

    /// Whether a side may read: the other one takes more, and no flight is being judged.
    fileprivate func mayRead(isFront: Bool) -> Bool {
        if !isFront, case .judging = watching { return false }
        return isFront ? back.isWritable : front.isWritable
    }

    fileprivate func close() {
        guard !isClosed else { return }
        isClosed = true
        (idleDeadline, handshakeDeadline) = (nil, nil)
        // What was taken from one side still reaches the other: an empty write is done when everything before it is.
        for channel in [front, back] {
            channel.writeAndFlush(ByteBuffer()).whenComplete { _ in channel.close(promise: nil) }
            MovingDeadline.close(channel, after: idleTimeout)
        }
    }

    /// A side is closed; a flight that is being judged is still delivered.
    fileprivate func sideClosed() {
        if case .judging = watching {
            closesAfterJudgement = true
        } else {
            close()
        }
    }
}

final class TunnelHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let pair: TunnelPair
    private let isFront: Bool

    init(_ pair: TunnelPair, isFront: Bool) {
        self.pair = pair
        self.isFront = isFront
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        pair.read(unwrapInboundIn(data), isFront: isFront)
    }

    private var other: any Channel { isFront ? pair.back : pair.front }

    func channelReadComplete(context: ChannelHandlerContext) { other.flush() }

    /// Where this side takes bytes again, the other one goes on reading.
    func channelWritabilityChanged(context: ChannelHandlerContext) { other.read() }

    func read(context: ChannelHandlerContext) { if pair.mayRead(isFront: isFront) { context.read() } }

    func channelInactive(context: ChannelHandlerContext) { pair.sideClosed() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { pair.sideClosed() }
}

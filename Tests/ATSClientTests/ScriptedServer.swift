// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore

/// Answers every request with the same steps, whatever HTTP has to say about them.
final class ScriptedServer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// What a server does after a request.
    enum Step: Sendable {
        case text(String)
        /// So many bytes of one letter.
        case bytes(Int)
        /// Again and again until the other side is gone, as fast as it takes them.
        case endless(String)
        /// A piece every 20 ms until the other side is gone.
        case drip(String)
        case close
        /// Ends with a reset.
        case reset
    }

    struct Script: Sendable {
        let steps: [Step]
        init(_ steps: [Step]) { self.steps = steps }
    }

    private let script: Script
    private var tail: [UInt8] = []
    private var flood: ByteBuffer?

    init(_ script: Script) { self.script = script }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        for byte in unwrapInboundIn(data).readableBytesView {
            tail.append(byte)
            if tail.suffix(4).elementsEqual([13, 10, 13, 10]) {
                tail = []
                for step in script.steps { run(step, context) }
            }
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) { context.pour(flood, 32) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func run(_ step: Step, _ context: ChannelHandlerContext) {
        switch step {
        case .text(let text): context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
        case .bytes(let count):
            context.writeAndFlush(NIOAny(ByteBuffer(repeating: 120, count: count)), promise: nil)
        case .endless(let text):
            var block = ByteBuffer()
            while block.readableBytes < 16_384 { block.writeString(text) }
            flood = block
            context.pour(flood, 32)
        case .drip(let text):
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            context.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(20)) { task in
                guard bound.value.channel.isActive else { return task.cancel() }
                bound.value.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
            }
        case .close:
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            context.writeAndFlush(NIOAny(ByteBuffer())).whenComplete { _ in bound.value.close(promise: nil) }
        case .reset:
            guard let provider = context.channel as? any SocketOptionProvider else { return }
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            provider.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in bound.value.close(promise: nil) }
        }
    }
}

extension ChannelHandlerContext {
    /// Writes the same bytes until the other side takes no more, so many at a time; does nothing without bytes.
    func pour(_ bytes: ByteBuffer?, _ count: Int) {
        guard let bytes else { return }
        var left = count
        while channel.isWritable, left > 0 {
            writeAndFlush(NIOAny(bytes), promise: nil)
            left -= 1
        }
        guard channel.isActive, channel.isWritable else { return }
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        eventLoop.scheduleTask(in: .milliseconds(10)) { bound.value.pour(bytes, count) }
    }
}

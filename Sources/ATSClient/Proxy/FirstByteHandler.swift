// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Sits before the HTTP decoder and reports bytes to the handler behind it: the time for a request's header fields begins with the first one.
final class FirstByteHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let front: ProxyFrontHandler

    init(_ front: ProxyFrontHandler) { self.front = front }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        front.bytesArrived()
        context.fireChannelRead(data)
    }
}

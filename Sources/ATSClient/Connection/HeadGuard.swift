// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHPACK
import NIOHTTP2

/// Sits in an HTTP/2 stream in front of the codec: a status that is not three digits from 100 to 999, and more header fields than the limit, end the stream.
///
/// The codec makes a number of whatever `Int` reads, and a negative one or one above 999 would end the process.
final class HeadGuard: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload

    /// The server sent an invalid status code (RFC 9110 section 15).
    struct InvalidStatus: Error {}

    /// A head, or the trailers, have more fields than the client takes.
    struct TooManyFields: Error {}

    private let fieldLimit: Int

    /// - Parameter fieldLimit: the most header fields of one head, without `:status`.
    init(fieldLimit: Int) { self.fieldLimit = fieldLimit }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .headers(let block) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        let status = block.headers.first(name: ":status")
        if let status, !HeadGuard.isStatus(status) {
            context.fireErrorCaught(InvalidStatus())
            return context.close(promise: nil)
        }
        guard block.headers.count - (status == nil ? 0 : 1) <= fieldLimit else {
            context.fireErrorCaught(TooManyFields())
            return context.close(promise: nil)
        }
        context.fireChannelRead(data)
    }

    static func isStatus(_ text: String) -> Bool {
        text.utf8.count == 3 && text.utf8.allSatisfy { (0x30...0x39).contains($0) } && text.utf8.first != 0x30
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import TLSModel

/// Sits in the channel of a listener: closes accepted connections that an ``Admission`` has no room for.
final class AcceptGate: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private let admission: Admission

    init(_ admission: Admission) { self.admission = admission }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let child = unwrapInboundIn(data)
        let address = child.remoteAddress?.ipAddress.flatMap { IPAddress(scoped: $0) }
        let (verdict, replaced) = admission.admit(address, child)
        if let replaced {
            replaced.close(promise: nil)
            admission.note(\.replaced, on: context.eventLoop)
        }
        guard verdict == .admitted else {
            child.close(promise: nil)
            return admission.refuse(verdict, on: context.eventLoop)
        }
        let (admission, identifier) = (admission, ObjectIdentifier(child))
        child.closeFuture.whenComplete { _ in admission.release(address, identifier) }
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError, AcceptGate.exhaustion.contains(error.errnoCode) else {
            return context.fireErrorCaught(error)
        }
        admission.note(\.exhausted, on: context.eventLoop)
    }

    /// Stops accepting for a moment when the system has no descriptor left.
    ///
    /// Without it NIO would try again at once, for ever, with one core at 100 %: the listening socket stays readable.
    static func backoff() -> AcceptBackoffHandler {
        AcceptBackoffHandler { exhaustion.contains($0.errnoCode) ? .milliseconds(100) : nil }
    }

    /// What accept(2) says if the connection could be accepted later.
    private static let exhaustion: Set<CInt> = [EMFILE, ENFILE, ENOBUFS, ENOMEM]
}

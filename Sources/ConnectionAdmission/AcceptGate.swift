// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
import TLSModel

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Sits in the channel of a listener: closes accepted connections that an ``Admission`` has no room for, and stops accepting for a moment
/// when the system has no descriptor left.
///
/// Without it NIO would try again at once, for ever, with one core at 100 %: the listening socket stays readable.
package final class AcceptGate: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = any Channel
    package typealias InboundOut = any Channel
    package typealias OutboundIn = Never

    /// How long nothing is accepted after the system had no descriptor.
    package static let pause: TimeAmount = .milliseconds(100)

    private let admission: Admission
    private var isPaused = false
    private var holdsRead = false

    init(_ admission: Admission) { self.admission = admission }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
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

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError, AcceptGate.exhaustion.contains(error.errnoCode) else {
            return context.fireErrorCaught(error)
        }
        admission.note(\.exhausted, on: context.eventLoop)
        if isPaused { return }
        isPaused = true
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: AcceptGate.pause) {
            let (gate, context) = loopBound.value
            gate.isPaused = false
            if gate.holdsRead {
                gate.holdsRead = false
                context.read()
            }
        }
    }

    package func read(context: ChannelHandlerContext) {
        if isPaused { holdsRead = true } else { context.read() }
    }

    /// What accept(2) says if the connection could be accepted later.
    private static let exhaustion: Set<CInt> = [EMFILE, ENFILE, ENOBUFS, ENOMEM]
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import NIOCore
import NIOSSL
import NIOTLS
import TLSModel
import TLSProbe

/// What one connection attempt knows, shared by its handlers and the verification callback. Confined to the event loop of the channel.
final class HandshakeState {
    var flight = ServerFlight()
    var judgement: HandshakeJudge.Judgement?
}

/// Reads the server's flight as it passes, in front of the TLS handler, and takes itself out when there is no more to see.
final class FlightWatchHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let state: HandshakeState

    init(_ state: HandshakeState) { self.state = state }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        state.flight.read(Array(unwrapInboundIn(data).readableBytesView))
        context.fireChannelRead(data)
        if state.flight.isOver { context.pipeline.syncOperations.removeHandler(context: context, promise: nil) }
    }
}

/// Waits for the end of the handshake, has the pipeline built for what was negotiated, and leaves.
final class HandshakeEndHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any
    typealias InboundOut = Any

    /// What comes after the handshake, made on the event loop.
    typealias Build = (_ negotiatedProtocol: String?, any Channel) throws -> HTTPConnection

    private let state: HandshakeState
    private let build: Build
    private var promise: EventLoopPromise<HTTPConnection>?
    private var timeout: MovingDeadline?
    private let timeLimit: TimeAmount

    init(
        _ state: HandshakeState, timeLimit: TimeAmount, promise: EventLoopPromise<HTTPConnection>,
        build: @escaping Build
    ) {
        self.state = state
        self.timeLimit = timeLimit
        self.promise = promise
        self.build = build
    }

    func handlerAdded(context: ChannelHandlerContext) {
        timeout = MovingDeadline(on: context.eventLoop) { [weak self] in
            guard let self, self.promise != nil else { return }
            self.end(.failure(ConnectFailure(.timeout)))
            context.close(promise: nil)
        }
        timeout?.move(in: timeLimit)
    }

    func handlerRemoved(context: ChannelHandlerContext) { end(.failure(ConnectFailure(.closed))) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let event = event as? TLSUserEvent, case .handshakeCompleted(let negotiated) = event else {
            return context.fireUserInboundEventTriggered(event)
        }
        do {
            let wire = try build(negotiated, context.channel)
            end(.success(wire))
        } catch {
            end(.failure(error))
            context.close(promise: nil)
        }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(.failure(failure(error)))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(.failure(failure(ChannelError.eof)))
        context.fireChannelInactive()
    }

    private func end(_ result: Result<HTTPConnection, any Error>) {
        timeout = nil
        promise?.completeWith(result)
        promise = nil
    }

    /// Puts what the flight showed before what the TLS library says: a judgement, an alert, bytes that are no TLS, a broken protocol, an end.
    private func failure(_ error: any Error) -> any Error {
        if let judgement = state.judgement, !judgement.passes { return RefusedHandshake(judgement: judgement) }
        let asked = state.flight.requestsClientCertificate
        if let alert = state.flight.alert, !state.flight.hasHello || alert.level == 2 {
            return ConnectFailure(
                outcome: .alert(level: alert.level, description: alert.description), askedForClientCertificate: asked)
        }
        if let alert = BoringSSLReason.alert(in: error) {
            return ConnectFailure(outcome: .alert(level: 2, description: alert), askedForClientCertificate: asked)
        }
        if let prefix = state.flight.notTLS { return ConnectFailure(.notTLS(prefix: prefix)) }
        if let violation = state.flight.violation { return ConnectFailure(outcome: .protocolError(violation)) }
        switch error {
        case is IOError, is ChannelError:
            return ConnectFailure(ConnectionFailure(reading: error) ?? .closed)
        default:
            if BoringSSLReason.isEndOfFile(error) {
                return ConnectFailure(outcome: .connection(.closed), askedForClientCertificate: asked)
            }
            return ConnectFailure(outcome: .protocolError(BoringSSLReason.text(of: error) ?? "the handshake failed"))
        }
    }
}

/// The judge said no; nothing of a request was sent.
struct RefusedHandshake: Error {
    let judgement: HandshakeJudge.Judgement
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import NIOCore
import NIOPosix
import NIOSSL
import TestSupport

/// An HTTP/2 server without any HTTP/2 of a library: TLS with `h2` chosen, and frames as they are written here.
///
/// Once the client's first request has come, the steps are played.
final class FrameServer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    enum Step: Sendable {
        case frames([UInt8])
        /// Again and again until the other side is gone, as fast as it takes them.
        case endless([UInt8])
        case close
    }

    private let steps: [Step]
    private var received: [UInt8] = []
    private var isPlayed = false
    private var flood: ByteBuffer?

    private init(_ steps: [Step]) { self.steps = steps }

    static let host = "h2." + HostileIdentity.domain

    /// One thread for all of them: floods do not take the processors from what is tested.
    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    static func with(_ steps: [Step], _ body: @Sendable (Int) async throws -> Void) async throws {
        let identity = HostileIdentity.shared
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try NIOSSLCertificate(bytes: identity.leaf, format: .der))],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.key.derRepresentation), format: .der)))
        configuration.applicationProtocols = ["h2"]
        let context = try NIOSSLContext(configuration: configuration)
        let server = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 64)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        NIOSSLServerHandler(context: context), FrameServer(steps),
                    ])
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            try await body(server.localAddress?.port ?? 0)
            try await server.close()
        } catch {
            try? await server.close()
            throw error
        }
    }

    // MARK: Frames

    enum Kind: UInt8 {
        case data, headers, priority, reset, settings, push, ping, goAway, windowUpdate, continuation
        case alternativeService = 10
        case origin = 12
        case unknown = 0xFA
    }

    static let endStream: UInt8 = 1
    static let acknowledgement: UInt8 = 1
    static let endHeaders: UInt8 = 4
    static let padded: UInt8 = 8

    static func frame(_ kind: Kind, _ flags: UInt8 = 0, stream: UInt32 = 1, _ payload: [UInt8] = []) -> [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), kind.rawValue, flags]
            + (0..<4).map { UInt8(truncatingIfNeeded: stream >> (24 - 8 * $0)) } + payload
    }

    /// A frame without flags.
    static func frame(_ kind: Kind, stream: UInt32 = 1, _ payload: [UInt8]) -> [UInt8] {
        frame(kind, 0, stream: stream, payload)
    }

    /// A header field that goes into no table (RFC 7541 section 6.2.2). Names of less than 127 bytes.
    static func field(_ name: String, _ value: String) -> [UInt8] { [0] + text(name) + text(value) }

    /// The same, and into the table of both sides (section 6.2.1).
    static func remembered(_ name: String, _ value: String) -> [UInt8] { [0x40] + text(name) + text(value) }

    static func text(_ value: String) -> [UInt8] {
        let bytes = Array(value.utf8)
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var (rest, length) = (bytes.count - 127, [UInt8(127)])
        while rest >= 128 {
            length.append(UInt8(rest & 127 | 128))
            rest >>= 7
        }
        return length + [UInt8(rest)] + bytes
    }

    /// `:status: 200`.
    static let ok: [UInt8] = [0x88]

    // MARK: Channel

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isPlayed else { return }
        received += unwrapInboundIn(data).readableBytesView
        guard hasRequest else { return }
        isPlayed = true
        received = []
        write(FrameServer.frame(.settings, stream: 0), context)
        for step in steps {
            switch step {
            case .frames(let bytes): write(bytes, context)
            case .endless(let bytes):
                var block = ByteBuffer()
                while block.readableBytes < 65_536 { block.writeBytes(bytes) }
                flood = block
                context.pour(flood, 16)
            case .close:
                let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
                context.writeAndFlush(NIOAny(ByteBuffer())).whenComplete { _ in bound.value.close(promise: nil) }
            }
        }
    }

    /// Whether a HEADERS frame stands behind the preface (RFC 9113 section 3.4).
    private var hasRequest: Bool {
        var at = 24
        while at + 9 <= received.count {
            if received[at + 3] == Kind.headers.rawValue { return true }
            at += 9 + (Int(received[at]) << 16 | Int(received[at + 1]) << 8 | Int(received[at + 2]))
        }
        return false
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) { context.pour(flood, 16) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func write(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(NIOAny(ByteBuffer(bytes: bytes)), promise: nil)
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import TLSModel
import TLSProbe
import TestSupport

/// Keys and certificates that all handshake tests share; made once.
enum ProbeFixtures {
    struct Identities: Sendable {
        let certification: TestCertification
        let root: TestCertification.Identity
        let rsa: TestCertification.Identity
        let weak: TestCertification.Identity
        let p256: TestCertification.Identity
        let p384: TestCertification.Identity
        let ed25519: TestCertification.Identity
    }

    static let identities: Identities? = try? {
        let certification = try TestCertification()
        let root = try certification.root()
        func server(_ name: String, _ key: TestCertification.Key) throws -> TestCertification.Identity {
            try certification.issue(
                name, subject: "/CN=\(name)", key: key, issuer: root, extensions: TestCertification.server)
        }
        return Identities(
            certification: certification, root: root, rsa: try server("rsa", .rsa(2048)),
            weak: try server("weak", .rsa(1024)), p256: try server("p256", .curve("prime256v1")),
            p384: try server("p384", .curve("secp384r1")), ed25519: try server("ed25519", .ed25519))
    }()

    static func required() throws -> Identities {
        guard let identities else { throw OpenSSLProgram.Failure(description: "no identities") }
        return identities
    }

    /// A server with the certificate for an RSA key, or another one.
    static func server(
        _ identity: KeyPath<Identities, TestCertification.Identity> = \.rsa, _ options: [String] = []
    ) throws -> OpenSSLServer {
        try OpenSSLServer(Self.options(required()[keyPath: identity]) + options)
    }

    static func options(_ identity: TestCertification.Identity) -> [String] {
        ["-cert", identity.certificatePath, "-key", identity.keyPath]
    }

    static let everything = "ALL:@SECLEVEL=0"

    static let forwardSecret: [CipherSuite] = [
        .aes128GCMSHA256, .aes256GCMSHA384, .chacha20Poly1305SHA256, .ecdheECDSAWithAES256GCMSHA384,
        .ecdheECDSAWithAES128GCMSHA256, .ecdheECDSAWithChaCha20Poly1305, .ecdheRSAWithAES256GCMSHA384,
        .ecdheRSAWithAES128GCMSHA256, .ecdheRSAWithChaCha20Poly1305, .ecdheECDSAWithAES256CBCSHA384,
        .ecdheECDSAWithAES128CBCSHA256, .ecdheRSAWithAES256CBCSHA384, .ecdheRSAWithAES128CBCSHA256,
        .ecdheECDSAWithAES256CBCSHA, .ecdheECDSAWithAES128CBCSHA, .ecdheRSAWithAES256CBCSHA, .ecdheRSAWithAES128CBCSHA,
    ]
    static let plainRSA: [CipherSuite] = [
        .rsaWithAES256GCMSHA384, .rsaWithAES128GCMSHA256, .rsaWithAES256CBCSHA256, .rsaWithAES128CBCSHA256,
        .rsaWithAES256CBCSHA, .rsaWithAES128CBCSHA,
    ]
    static let ephemeral: [CipherSuite] = [
        .dheRSAWithAES256GCMSHA384, .dheRSAWithAES128GCMSHA256, .dheRSAWithAES256CBCSHA, .dheRSAWithAES128CBCSHA,
    ]

    static let prober = Prober(group: MultiThreadedEventLoopGroup.singleton)

    static func probe(_ offer: HelloOffer, port: Int, name: String? = "localhost") async throws -> HandshakeOutcome {
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: port)
        return await prober.attempt(name.map(offer.named) ?? offer, addresses: [address], timeout: .seconds(20)).outcome
    }
}

extension HandshakeOutcome {
    var observation: HandshakeObservation? {
        if case .negotiated(let observation) = self { observation } else { nil }
    }
}

/// A server that is not TLS, or broken, on a free loopback port.
final class OddServer: Sendable {
    enum Behaviour: Sendable {
        case silent
        case closes
        case resets
        case says([UInt8])
        /// Says it after the first bytes of the client, and closes.
        case answers([UInt8])
    }

    private let channel: any Channel
    private let accepted: NIOLockedValueBox<Int>
    var port: Int { channel.localAddress?.port ?? 0 }
    /// Connections so far.
    var connections: Int { accepted.withLockedValue { $0 } }

    init(_ behaviour: Behaviour, host: String = "127.0.0.1", port: Int = 0) async throws {
        let accepted = NIOLockedValueBox(0)
        self.accepted = accepted
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                accepted.withLockedValue { $0 += 1 }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(behaviour))
                }
            }
            .bind(host: host, port: port).get()
    }

    func stop() async throws { try await channel.close() }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let behaviour: Behaviour

        init(_ behaviour: Behaviour) { self.behaviour = behaviour }

        func channelActive(context: ChannelHandlerContext) {
            if case .says(let bytes) = behaviour {
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch behaviour {
            case .silent, .says: break
            case .closes: context.close(promise: nil)
            case .resets:
                let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
                (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
                    .whenComplete { _ in bound.value.close(promise: nil) }
            case .answers(let bytes):
                let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)))
                    .whenComplete { _ in bound.value.close(promise: nil) }
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A server on loopback that sees and sends bytes, without any HTTP of a library between.
struct RawServer: Sendable {
    let port: Int

    /// One thread for all of them: floods do not take the processors from what is tested.
    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    static func with(
        host: String = "127.0.0.1", _ handler: @escaping @Sendable () -> any ChannelHandler,
        _ body: @Sendable (RawServer) async throws -> Void
    ) async throws {
        let server = try await ServerBootstrap(group: RawServer.group)
            .serverChannelOption(.backlog, value: 256)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(handler()) }
            }
            .bind(host: host, port: 0).get()
        do {
            try await body(RawServer(port: server.localAddress?.port ?? 0))
            try await server.close()
        } catch {
            try? await server.close()
            throw error
        }
    }
}

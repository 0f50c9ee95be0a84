// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import TLSProbe

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

/// A proxy for plain HTTP to loopback, which needs neither roots nor exceptions.
struct PlainProxy: Sendable {
    let proxy: ATSProxy
    let port: Int

    static func with(
        fetcher: (any IntermediateFetcher)? = nil, trust: TrustAnchors = TrustAnchors(),
        _ change: (inout ATSProxy.Configuration) -> Void = { _ in }, body: @Sendable (PlainProxy) async throws -> Void
    ) async throws {
        var configuration = ATSProxy.Configuration()
        configuration.port = 0
        configuration.connectTimeout = .seconds(3)
        change(&configuration)
        let (ports, announce) = AsyncStream.makeStream(of: Int.self)
        let proxy = try ATSProxy(
            policy: try Fixture.policy("{}"), trust: trust, fetcher: fetcher, configuration: configuration,
            onListening: { _, port in announce.yield(port) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await proxy.run() }
            var iterator = ports.makeAsyncIterator()
            guard let port = await iterator.next() else { return }
            try await body(PlainProxy(proxy: proxy, port: port))
            group.cancelAll()
        }
    }

    /// Waits until the proxy counts no connection; whether it does before the limit.
    func becomesEmpty(within limit: Duration) async -> Bool {
        let deadline = ContinuousClock.now + limit
        while proxy.openConnections > 0, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(5))
        }
        return proxy.openConnections == 0
    }
}

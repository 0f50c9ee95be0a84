// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import NIOCore
import NIOHTTP1
import NIOPosix
import TLSModel

/// Fetches caIssuers addresses over plain HTTP, tightly bounded: a server under test chooses the address, so the fetch must not
/// become a way into the tester's network.
///
/// One GET, no redirects (one hop), 64 KiB, five seconds or what is left of the target's time, and only addresses within the
/// scope: the address that was judged is the one that is connected to. If one gives no answer, the next one is asked, up to eight.
public struct HTTPIntermediateFetcher: IntermediateFetcher {
    private let group: any EventLoopGroup
    private let resolver: NameResolver
    private let timeout: Duration

    /// A fetcher that gives up on an address after `timeout`.
    public init(group: any EventLoopGroup, resolver: NameResolver = NameResolver(), timeout: Duration = .seconds(5)) {
        self.group = group
        self.resolver = resolver
        self.timeout = timeout
    }

    /// What the product calls itself in requests.
    package static let userAgent = "sealward"

    public func certificates(at address: String, within scope: FetchScope) async -> [[UInt8]] {
        guard address.utf8.count <= 2048, address.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            let url = URLComponents(string: address), url.scheme?.lowercased() == "http", let host = url.host,
            // The host comes decoded: in a request it must not be more than a name or an address.
            HostName.ascii(AddressOverride.withoutBrackets(host)) != nil, url.user == nil
        else { return [] }
        return await TargetDeadline.within(timeout) {
            await fetch(url, host, scope)
        }
    }

    private func fetch(_ url: URLComponents, _ host: String, _ scope: FetchScope) async -> [[UInt8]] {
        let port = url.port ?? 80
        guard (1...65535).contains(port), TargetDeadline.remaining(atMost: timeout) > .zero,
            case .addresses(let addresses) = await resolver.resolve(
                host: host, port: port, timeout: TargetDeadline.remaining(atMost: timeout))
        else { return [] }
        var path = url.percentEncodedPath.isEmpty ? "/" : url.percentEncodedPath
        if let query = url.percentEncodedQuery { path += "?" + query }
        let authority = url.port == nil ? host : "\(host):\(port)"
        let request = HTTPRequestHead(
            version: .http1_1, method: .GET, uri: path,
            headers: ["host": authority, "user-agent": Self.userAgent, "accept": "*/*", "connection": "close"])
        var rest = addresses.filter(scope.allows).prefix(Self.mostAddresses)
        while let address = rest.popFirst() {
            if let body = await exchange(request, with: address, others: rest.count) {
                return CertificateBundle.certificates(in: body)
            }
        }
        return []
    }

    /// A server may have more, but it chooses who gets these requests.
    private static let mostAddresses = 8
    /// Bytes of the body of an answer.
    fileprivate static let mostBytes = 64 * 1024
    /// Bytes of all fields of its head.
    private static let mostFieldBytes = 16 * 1024

    /// - Parameter others: addresses that are asked after this one. It leaves half of the time to them, and may connect for its share of all.
    private func exchange(_ request: HTTPRequestHead, with address: SocketAddress, others: Int) async -> [UInt8]? {
        let all = TargetDeadline.remaining(atMost: timeout)
        let left = others == 0 ? all : all / 2
        guard left > .zero else { return nil }
        let loop = group.any()
        let promise = loop.makePromise(of: [UInt8]?.self)
        let deadline = TimeAmount(left)
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = Self.mostFieldBytes
        limits.maxHeaderListSize = Self.mostFieldBytes
        let bounds = limits
        ClientBootstrap(group: loop)
            .connectTimeout(TimeAmount(all / (others + 1)))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers(decoderLimitConfiguration: bounds)
                    try channel.pipeline.syncOperations.addHandler(FetchHandler(request, promise, deadline))
                }
            }
            .connect(to: address)
            .whenFailure { promise.fail($0) }
        return (try? await promise.futureResult.get()) ?? nil
    }
}

/// Sends a request and collects the body of its answer; nil for any status but 200, and for what is no answer, cut short or too large.
private final class FetchHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let request: HTTPRequestHead
    private let promise: EventLoopPromise<[UInt8]?>
    private let deadline: TimeAmount
    /// Nil once the answer is refused.
    private var body: [UInt8]? = []
    private var isComplete = false
    private var timer: Scheduled<Void>?

    init(_ request: HTTPRequestHead, _ promise: EventLoopPromise<[UInt8]?>, _ deadline: TimeAmount) {
        self.request = request
        self.promise = promise
        self.deadline = deadline
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: deadline) { channel.close(promise: nil) }
    }

    func channelActive(context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(request)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head) where head.status.code == 200: return
        case .body(let part) where part.readableBytes <= HTTPIntermediateFetcher.mostBytes - (body?.count ?? 0):
            body?.append(contentsOf: part.readableBytesView)
            return
        case .end: isComplete = true
        case .head, .body: body = nil
        }
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        promise.succeed(isComplete ? body : nil)
    }
}

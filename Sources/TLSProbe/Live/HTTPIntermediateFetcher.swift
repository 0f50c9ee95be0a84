// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
public import NIOCore
import NIOPosix

/// Fetches caIssuers addresses over plain HTTP, tightly bounded: a server under test chooses the address, so the fetch must not
/// become a way into the tester's network.
///
/// One GET, no redirects (one hop), 64 KiB, five seconds, and no private, loopback or link-local address unless the target
/// itself has one.
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

    public func certificates(at address: String, allowingPrivateAddresses: Bool) async -> [[UInt8]] {
        guard address.utf8.count <= 2048, address.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            let url = URLComponents(string: address), url.scheme?.lowercased() == "http", let host = url.host,
            !host.isEmpty, url.user == nil
        else { return [] }
        let port = url.port ?? 80
        guard (1...65535).contains(port),
            case .addresses(let addresses) = await resolver.resolve(host: host, port: port, timeout: timeout),
            let target = addresses.first(where: { allowingPrivateAddresses || AddressScope($0) == .global })
        else { return [] }
        var path = url.percentEncodedPath.isEmpty ? "/" : url.percentEncodedPath
        if let query = url.percentEncodedQuery { path += "?" + query }
        let authority = url.port == nil ? host : "\(host):\(port)"
        let request = "GET \(path) HTTP/1.1\r\nHost: \(authority)\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        guard let answer = await exchange(request, with: target), let body = HTTPAnswer.body(of: answer) else {
            return []
        }
        return CertificateBundle.certificates(in: body)
    }

    private func exchange(_ request: String, with address: SocketAddress) async -> [UInt8]? {
        let loop = group.any()
        let promise = loop.makePromise(of: [UInt8].self)
        let deadline = TimeAmount(timeout)
        ClientBootstrap(group: loop)
            .connectTimeout(deadline)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(FetchHandler(request, promise, deadline))
                }
            }
            .connect(to: address)
            .whenFailure { promise.fail($0) }
        return try? await promise.futureResult.get()
    }
}

/// Sends a request and collects the answer until the server closes.
private final class FetchHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let request: String
    private let promise: EventLoopPromise<[UInt8]>
    private let deadline: TimeAmount
    private var bytes: [UInt8] = []
    private var timer: Scheduled<Void>?

    init(_ request: String, _ promise: EventLoopPromise<[UInt8]>, _ deadline: TimeAmount) {
        self.request = request
        self.promise = promise
        self.deadline = deadline
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: deadline) { channel.close(promise: nil) }
    }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(string: request)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytes.append(contentsOf: unwrapInboundIn(data).readableBytesView)
        if bytes.count > HTTPAnswer.maximumSize || HTTPAnswer.isComplete(bytes) { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        promise.succeed(bytes)
    }
}

/// A minimal reading of an HTTP/1.1 answer: status 200, a body by length, by chunks, or up to the end.
enum HTTPAnswer {
    /// The body; nil for any status but 200, and for what is no answer or too large.
    static func body(of bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count <= maximumSize, let (lines, rest) = split(bytes), let status = lines.first,
            status.hasPrefix("HTTP/1."), status.split(separator: " ").dropFirst().first == "200"
        else { return nil }
        if header("transfer-encoding", lines)?.lowercased() == "chunked" { return dechunked(rest) }
        guard let text = header("content-length", lines) else { return Array(rest) }
        guard let length = Int(text), length >= 0, rest.count >= length else { return nil }
        return Array(rest.prefix(length))
    }

    /// Whether a body by length has arrived.
    static func isComplete(_ bytes: [UInt8]) -> Bool {
        guard let (lines, rest) = split(bytes), let length = header("content-length", lines).flatMap(Int.init) else {
            return false
        }
        return rest.count >= length
    }

    private static func split(_ bytes: [UInt8]) -> (lines: [String], rest: ArraySlice<UInt8>)? {
        let end: [UInt8] = [13, 10, 13, 10]
        guard bytes.count >= 4,
            let index = (0...min(bytes.count - 4, 16 * 1024)).first(where: { bytes[$0..<$0 + 4].elementsEqual(end) })
        else { return nil }
        let head = String(decoding: bytes[..<index], as: UTF8.self)
        return (head.components(separatedBy: "\r\n"), bytes[(index + 4)...])
    }

    private static func header(_ name: String, _ lines: [String]) -> String? {
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2, parts[0].lowercased() == name { return parts[1].trimmingCharacters(in: .whitespaces) }
        }
        return nil
    }

    private static func dechunked(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        var rest = bytes
        var body: [UInt8] = []
        while let end = rest.firstIndex(of: 13) {
            let size = String(decoding: rest[..<end].prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)
            guard let length = Int(size.trimmingCharacters(in: .whitespaces), radix: 16), length >= 0 else {
                return nil
            }
            rest = rest[end...].dropFirst(2)
            if length == 0 { return body }
            guard rest.count >= length else { return nil }
            body += rest.prefix(length)
            rest = rest.dropFirst(length).dropFirst(2)
        }
        return nil
    }

    static let maximumSize = 64 * 1024
}

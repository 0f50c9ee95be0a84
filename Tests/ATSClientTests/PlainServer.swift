// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import TestSupport

/// A small HTTP server on loopback that behaves, or misbehaves, as the path says.
struct PlainServer: Sendable {
    let port: Int
    /// Requests that were read to their end.
    let requests: NIOLockedValueBox<Int>

    var url: String { "http://127.0.0.1:\(port)" }

    static func with(_ body: @Sendable (PlainServer) async throws -> Void) async throws {
        let requests = NIOLockedValueBox(0)
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(PlainHandler(requests))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            try await body(PlainServer(port: server.localAddress?.port ?? 0, requests: requests))
            try await server.close()
        } catch {
            try? await server.close()
            throw error
        }
    }
}

private final class PlainHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private var head: HTTPRequestHead?
    private var received = 0
    private let requests: NIOLockedValueBox<Int>

    init(_ requests: NIOLockedValueBox<Int>) { self.requests = requests }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            received = 0
            if head.uri == "/hasty" { send(context, ByteBuffer(string: "hasty"), status: 413) }
        case .body(let part): received += part.readableBytes
        case .end:
            guard let head, head.uri != "/hasty" else { return }
            requests.withLockedValue { $0 += 1 }
            respond(context, head)
        }
    }

    private func respond(_ context: ChannelHandlerContext, _ head: HTTPRequestHead) {
        let parts = head.uri.split(separator: "/").map(String.init)
        let number = parts.dropFirst().first.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
        switch parts.first {
        case "bytes": send(context, ByteBuffer(repeating: 120, count: number))
        case "count": send(context, ByteBuffer(string: String(received)))
        case "fields":
            send(
                context,
                ByteBuffer(string: head.headers.map { "\($0.name.lowercased()): \($0.value)" }.joined(separator: "\n")))
        case "redirect":
            send(context, ByteBuffer(), status: number, location: head.uri.components(separatedBy: "to=").last)
        case "stall": raw(context, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        case "short": raw(context, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", close: true)
        case "silent": break
        case "slow":
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            context.eventLoop.scheduleTask(in: .milliseconds(300)) {
                bound.value.0.send(bound.value.1, ByteBuffer(string: "slow"))
            }
        case "garbage": raw(context, "220 smtp.example.com ESMTP\r\n\r\n", close: true)
        case "headers":
            endless(
                context, "HTTP/1.1 200 OK\r\n",
                String(repeating: "X-Field: " + String(repeating: "a", count: 1000) + "\r\n", count: 20))
        case "endless": endless(context, "HTTP/1.1 200 OK\r\n\r\n", String(repeating: "b", count: 10_000))
        case "early":
            raw(
                context,
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            )
        default: send(context, ByteBuffer(string: "ok"))
        }
    }

    private func send(_ context: ChannelHandlerContext, _ body: ByteBuffer, status: Int = 200, location: String? = nil)
    {
        var head = HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: status))
        head.headers.add(name: "content-length", value: String(body.readableBytes))
        if let location { head.headers.add(name: "location", value: location) }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Writes bytes below the HTTP encoder.
    private func raw(_ context: ChannelHandlerContext, _ text: String, close: Bool = false) {
        guard let encoder = try? context.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self) else {
            return context.close(promise: nil)
        }
        encoder.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
        if close { encoder.close(promise: nil) }
    }

    private func endless(_ context: ChannelHandlerContext, _ start: String, _ rest: String) {
        raw(context, start)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let channel = context.channel
        channel.eventLoop.scheduleRepeatedTask(initialDelay: .milliseconds(5), delay: .milliseconds(1)) { task in
            guard channel.isActive else { return task.cancel() }
            if channel.isWritable { bound.value.0.raw(bound.value.1, rest) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// One connection of plain bytes.
enum RawConnection {
    /// Sends the text and returns everything that comes until the other side closes or `limit` passes.
    ///
    /// - Parameters:
    ///   - after: what is sent once the answer ends with the first text.
    ///   - size: bytes of a long answer that are kept, its beginning and its end.
    static func exchange(
        port: Int, send text: String, after: (String, String)? = nil, limit: TimeAmount = .seconds(10),
        keeps size: Int = .max
    ) async throws -> String {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: String.self)
        let channel = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Collector(promise, after, size))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
        let timer = loop.scheduleTask(in: limit) { channel.close(promise: nil) }
        defer { timer.cancel() }
        return try await promise.futureResult.get()
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private var text = ""
        private let promise: EventLoopPromise<String>
        private var after: (String, String)?
        private let size: Int

        init(_ promise: EventLoopPromise<String>, _ after: (String, String)?, _ size: Int) {
            self.size = size
            self.promise = promise
            self.after = after
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += String(buffer: unwrapInboundIn(data))
            // The end is what tells whether an answer was whole.
            if text.utf8.count > size { text = String(text.prefix(size / 2)) + String(text.suffix(100)) }
            if let (end, reply) = after, text.hasSuffix(end) {
                after = nil
                context.channel.writeAndFlush(ByteBuffer(string: reply), promise: nil)
            }
        }

        func channelInactive(context: ChannelHandlerContext) { promise.succeed(text) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

/// Programs of the system that tests use.
enum Programs {
    static func has(_ name: String) -> Bool {
        ProcessInfo.processInfo.environment["PATH", default: ""].split(separator: ":")
            .contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }

    /// Runs a program to its end without holding a thread of the tests.
    static func run(_ name: String, _ arguments: [String]) async throws -> ProgramRun {
        try await onThread { try ProgramRun(URL(fileURLWithPath: "/usr/bin/env"), [name] + arguments) }
    }
}
